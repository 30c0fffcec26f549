"""Options on the command line of programs that use absl: `--jax_enable_x64`, `--jax_default_matmul_precision=float32`."""

from __future__ import annotations

import sys
from typing import Any

from laminax_ir.options import config_options
from laminax_ir.options.fixed_options import FIXED

_defined: dict[str, Any] = {}  # absl's flags by name


def define_flags() -> None:
    """Defines a flag for each option; those given on the command line set their options when absl's `app.run` starts."""
    absl_app, flags = _absl()
    if not _defined:
        for spelling in (*config_options._names, *FIXED):
            option, name = config_options.find(spelling), f"jax_{spelling}"
            if isinstance(option.default, bool):
                flags.DEFINE_bool(name, option.default, option.doc)
            else:
                flags.DEFINE_string(name, None, f"{option.doc} {option.value_type.description}.")
            _defined[name] = flags.FLAGS[name]
        absl_app.call_after_init(set_given)


def parse_command_line() -> None:
    """Defines the flags, and sets the options that this process's command line gives now."""
    _, flags = _absl()
    define_flags()
    if not flags.FLAGS.is_parsed():
        flags.FLAGS([sys.argv[0], *(word for word in sys.argv[1:] if word.startswith(("--jax", "--nojax")))], known_only=True)
        set_given()


def set_given() -> None:
    """Sets the options whose flags were given."""
    for name, flag in _defined.items():
        if flag.present:
            option = config_options.find(name)
            option.set_global(flag.value if isinstance(flag.value, bool) else option.value_type.parse(flag.value))


def _absl() -> tuple[Any, Any]:
    try:
        from absl import app, flags
    except ImportError as error:
        raise ImportError("config.parse_flags_with_absl and config_with_absl need the package absl-py, which is not installed. "
                          "Install it, or set options with config.update or in the environment.") from error
    return app, flags
