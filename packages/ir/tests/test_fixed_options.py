"""Options of JAX that have one value here, options from the environment, and absl's flags."""

import os
import subprocess
import sys

import pytest

from laminax_ir.options.config import config
from laminax_ir.options.fixed_options import FIXED


@pytest.mark.parametrize("name", FIXED)
def test_they_can_be_read_and_set_to_their_value_only(name):
    value, reason, others = FIXED[name]
    assert config.read(f"jax_{name}") == value
    config.update(f"jax_{name}", value)
    for same in others:
        config.update(f"jax_{name}", same)
        assert config.read(name) == same
    config.update(f"jax_{name}", value)
    if True in others:
        return
    other = (not value) if isinstance(value, bool) else "another" if value is None or isinstance(value, str) else value + 1
    with pytest.raises(ValueError, match=f"^{name} cannot be .*since ") as caught:
        config.update(f"jax_{name}", other)
    assert reason in str(caught.value) and config.read(name) == value


def run(program, *arguments, **environment):
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_jax_variables_set_options_behind_laminax_ones():
    program = "from laminax_ir.options.config import config; print(config.enable_x64, config.check_leaks, config.random_seed_offset)"
    assert run(program, JAX_ENABLE_X64="1", JAX_CHECK_TRACER_LEAKS="true", JAX_RANDOM_SEED_OFFSET="7")[0] == ["True", "True", "7"]
    assert run(program, JAX_ENABLE_X64="1", LAMINAX_ENABLE_X64="0")[0] == ["False", "False", "0"]


def test_variables_that_ask_for_what_is_missing_are_warned_of():
    program = "from laminax_ir.options import fixed_options as f; f.warn_of_environment()"
    assert "JAX_ENABLE_PGLE=true has no effect" in run(program, JAX_ENABLE_PGLE="true")[1]
    assert run(program, JAX_REMAT3="1", JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES="all")[1] == ""
    assert run(program, JAX_ENABLE_PGLE="0", JAX_USE_SHARDY_PARTITIONER="1", JAX_USE_MAGMA="auto")[1] == ""


def test_absl_flags():
    pytest.importorskip("absl")
    program = """if True:
        import sys
        from absl import app, flags
        from laminax_ir.options.config import config
        flags.DEFINE_integer("steps", 1, "")
        def show(argv):
            print(config.enable_x64, config.numpy_rank_promotion, config.random_seed_offset, flags.FLAGS.steps, *argv[1:])
        if "early" in sys.argv:
            config.parse_flags_with_absl()
            print(config.enable_x64)
        else:
            config.config_with_absl()
        app.run(show)"""
    given = ("--jax_enable_x64", "--jax_numpy_rank_promotion=raise", "--jax_random_seed_offset=3", "--steps=5")
    assert run(program, *given, "late")[0] == ["True", "raise", "3", "5", "late"]
    assert run(program, *given, "early")[0] == ["True", "True", "raise", "3", "5", "early"]
