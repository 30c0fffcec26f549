"""Programs are compiled once for all processes, and nothing that happens to the folder stops a program."""

import contextlib
import logging
import os
import re
import warnings
from pathlib import Path

import numpy as np
import platformdirs
import pytest
from stablehlo_modules import aval, binary, compile_text, unary

from laminax_ir.options.config import explain_cache_misses, log_compiles
from laminax_runtime import XlaRuntimeError, device_put
from laminax_runtime.base import monitoring, options
from laminax_runtime.compiling import compilation_cache

A = aval((4,))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The cache in a folder of the test's own, for compilations of any length; nothing reported or counted yet."""
    monkeypatch.setattr(compilation_cache, "_reported", set())
    monkeypatch.setattr(compilation_cache, "statistics", compilation_cache.Statistics())
    with (
        options.enable_compilation_cache(True),
        options.compilation_cache_dir(tmp_path / "cache"),
        options.persistent_cache_min_compile_time_secs(0.0),
    ):
        yield tmp_path / "cache"


def compiled(text=None, **given):
    return compile_text(text or unary("negate", A), in_avals=[A], out_avals=[A], **given)


def counted():
    found = compilation_cache.statistics
    return found.hits, found.misses, found.stores


def test_the_second_time_comes_from_the_disk(folder):
    first, second = compiled(), compiled()
    assert counted() == (1, 1, 1) and len(list(folder.iterdir())) == 1
    x = np.arange(4, dtype=np.float32)
    for program in (first, second):
        assert program.execute([x])[0].tolist() == [0, -1, -2, -3]
    assert second.fingerprint == first.fingerprint and second.in_shardings == first.in_shardings
    assert second.cost_analysis()["flops"] == 4 and "negate" in second.as_text()
    assert second.memory_analysis().output_size_in_bytes == 16


def test_what_makes_a_program_another(folder):
    """Each of these is compiled: none may be taken for another."""
    fast = {"xla_cpu_enable_fast_math": True}
    compiled()
    compiled(unary("abs", A))
    compiled(compiler_options=fast)
    compiled(compiler_options={**fast, "xla_backend_optimization_level": 1})
    compiled(compiler_options={**fast, "xla_backend_optimization_level": 0})
    compiled(compiler_options={**fast, "optimization_level": 19})  # an option of the build, beside one that overrides XLA's flags
    assert counted() == (0, 6, 6)
    compiled(compiler_options={"xla_backend_optimization_level": 0, **fast})  # in whatever order
    assert counted() == (1, 6, 6)


def located(file, line):
    text = unary("negate", A).replace("-> tensor<4xf32>\n", "-> tensor<4xf32> loc(#loc1)\n", 1)
    assert "loc(#loc1)" in text
    return f'{text}\n#loc0 = loc("{file}":{line}:7)\n#loc1 = loc("jit_f/neg"(#loc0))\n'


def test_source_locations_do_not_count(folder):
    compiled(located("/home/a/train.py", 4))
    compiled(located("/home/b/train.py", 17))
    assert counted() == (1, 1, 1)
    with options.compilation_cache_include_metadata_in_key(True):
        compiled(located("/home/a/train.py", 4))
        compiled(located("/home/b/train.py", 17))
    assert counted() == (1, 3, 3)


def test_donation_survives(folder):
    for _ in range(2):
        program = compile_text(binary("add", A, {0: "{tf.aliasing_output = 0 : i32}"}), in_avals=[A, A], out_avals=[A])
        x, y = device_put(np.ones(4, np.float32)), device_put(np.ones(4, np.float32))
        assert program.execute([x, y])[0].tolist() == [2, 2, 2, 2]
        assert x.is_deleted() and not y.is_deleted()
    assert counted() == (1, 1, 1)


def test_quick_compilations_are_not_kept(folder):
    with options.persistent_cache_min_compile_time_secs(3600.0):
        compiled()
    assert counted() == (0, 1, 0) and not folder.exists()


EAGER = """
    import numpy as np
    from stablehlo_modules import aval, compile_text, unary
    from laminax_runtime.compiling import compilation_cache as cache
    from laminax_runtime.compiling.compile_options import options_for
    a = aval((4,))
    program = compile_text(unary("negate", a), in_avals=[a], out_avals=[a])
    for name, seconds in ("single operation", 0.02), ("less than that", 0.005):
        before = cache.statistics.stores
        key = cache.make_key(name, program.devices, options_for(program.devices, 1, 1, None, (), ()))
        cache.store(key, program.loaded, seconds, name, program.devices)
        print(cache.statistics.stores - before)
"""


def test_single_operations_are_kept(run_python, tmp_path):
    """Libraries run dozens before their first step, which took more than half of it when each process compiled them again."""
    where = {"LAMINAX_ENABLE_COMPILATION_CACHE": "1", "LAMINAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    assert run_python(EAGER, **where).split() == ["1", "0"]


@pytest.mark.parametrize("option, value", [("enable_compilation_cache", False), ("compilation_cache_max_size", 0)])
def test_switched_off(folder, option, value):
    with getattr(options, option)(value):
        compiled()
    assert counted() == (0, 0, 0) and not folder.exists()


def test_programs_that_hold_addresses_are_not_kept(folder):
    compiled(keepalives=[object()])
    assert not folder.exists()


def test_errors_of_the_compiler_come_through(folder):
    with pytest.raises(XlaRuntimeError, match="custom op 'nonsense' is unknown"):
        compiled("nonsense")
    assert counted() == (0, 1, 0)


def one_warning(match):
    return pytest.warns(RuntimeWarning, match=match)


def test_a_damaged_entry_is_a_miss_with_one_warning(folder):
    compiled()
    compiled(unary("abs", A))
    for entry in folder.iterdir():
        entry.write_bytes(entry.read_bytes()[:-3])
    with one_warning("an entry is damaged, and was removed: .*digest.*compiled again") as caught:
        assert compiled().execute([np.ones(4, np.float32)])[0].tolist() == [-1] * 4
        compiled(unary("abs", A))
    assert len(caught) == 1
    assert counted() == (0, 4, 4)
    compiled()
    assert counted() == (1, 4, 4)


def test_an_entry_that_xla_refuses(folder):
    """Whole on the disk, and still no program: as if jaxlib had changed its format without its version."""
    compiled()
    (entry,) = folder.iterdir()
    compilation_cache.DiskCache(folder).write(entry.stem, b"no program")
    with one_warning("XLA cannot load an entry, which was removed"):
        assert compiled().execute([np.ones(4, np.float32)])[0].tolist() == [-1] * 4
    assert counted() == (0, 2, 2)


def test_a_folder_that_cannot_be_used(folder):
    folder.write_text("a file is in the way")
    with pytest.warns(RuntimeWarning) as caught:
        for _ in range(3):
            assert compiled().execute([np.ones(4, np.float32)])[0].tolist() == [-1] * 4
    assert ["cannot be read" in str(w.message) for w in caught] == [True, False]
    assert "cannot be written" in str(caught[1].message) and "LAMINAX_ENABLE_COMPILATION_CACHE=0" in str(caught[1].message)
    with options.raise_persistent_cache_errors(True), pytest.raises(RuntimeError, match="cannot be read"):
        compiled()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission(folder):
    folder.mkdir(mode=0)
    with pytest.warns(RuntimeWarning):
        compiled()


def test_a_log_of_hits_and_misses(folder, caplog):
    with caplog.at_level(logging.WARNING, "laminax"), log_compiles(True):
        compiled(name="step")
        compiled(name="step")
    assert not any(re.search("[0-9a-f]{20}", m) for m in caplog.messages)  # names and times, no digests
    assert [m.split(",")[0] for m in caplog.messages] == [
        "Persistent compilation cache: miss for step.",
        "Persistent compilation cache: stored step",
        "Persistent compilation cache: hit for step.",
    ]


def test_why_a_program_is_not_kept_is_explained_to_who_chose_the_folder(folder, caplog):
    def explanation(keepalives=(), **settings):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "laminax"), explain_cache_misses(True), contextlib.ExitStack() as stack:
            for name, value in settings.items():
                stack.enter_context(getattr(options, name)(value))
            compiled(name="step", keepalives=keepalives)
        return caplog.messages

    not_kept = "Persistent compilation cache: Not writing persistent cache entry for step because"
    (message,) = explanation(persistent_cache_min_compile_time_secs=100.0)
    assert message.startswith(f"{not_kept} it took < 100.00 seconds to compile (")
    (message,) = explanation(persistent_cache_min_entry_size_bytes=10**9)
    assert message.startswith(f"{not_kept} its size, ") and message.endswith(" bytes, is less than threshold, 1000000000 bytes.")
    (message,) = explanation(keepalives=[object()])
    assert message == f"{not_kept} it holds addresses of this process."
    assert explanation(compilation_cache_dir=None, persistent_cache_min_compile_time_secs=100.0) == []
    (message,) = explanation()
    assert message.startswith("Persistent compilation cache: stored step") and "to persistent compilation cache with key" in message


def test_monitors_hear_what_a_hit_costs_and_saves(folder):
    heard = {}

    def listener(event, seconds):
        heard[event.rpartition("/")[2]] = seconds

    compiled()
    monitoring.register_event_duration_secs_listener(listener)
    try:
        compiled()
    finally:
        monitoring.unregister_event_duration_listener(listener)
    assert heard.keys() == {"cache_retrieval_time_sec", "compile_time_saved_sec"} and heard["cache_retrieval_time_sec"] > 0


@pytest.mark.parametrize("value", ["gs://bucket/cache", 3])
def test_remote_folders_are_refused(value):
    with pytest.raises(ValueError, match="the path of a local folder"):
        options.compilation_cache_dir(value)


PROGRAM = """
    import numpy as np
    from stablehlo_modules import aval, compile_text, unary
    from laminax_runtime.compiling import compilation_cache
    a = aval((4,))
    program = compile_text(unary("negate", a), in_avals=[a], out_avals=[a], compiler_options={
        "xla_llvm_disable_expensive_passes": True, "xla_backend_optimization_level": 1})
    print(program.execute([np.ones(4, np.float32)])[0].tolist(), compilation_cache.statistics.hits)
"""
ON = {"LAMINAX_ENABLE_COMPILATION_CACHE": "1", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}


def test_two_processes(run_python, tmp_path):
    where = {**ON, "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    assert run_python(PROGRAM, **where) == "[-1.0, -1.0, -1.0, -1.0] 0"
    assert run_python(PROGRAM, **where) == "[-1.0, -1.0, -1.0, -1.0] 1"
    other_flags = "--xla_cpu_enable_fast_math=true"
    assert run_python(PROGRAM, XLA_FLAGS=other_flags, **where) == "[-1.0, -1.0, -1.0, -1.0] 0"
    assert len(list((tmp_path / "cache").iterdir())) == 2


CALLING = """
    import numpy as np
    from stablehlo_modules import aval, compile_text
    from laminax_runtime.compiling import compilation_cache
    a = aval((4,))
    text = '''module {
      func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %y = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {
          api_version = 4 : i32, backend_config = {index = 0 : ui64}, has_side_effect = false} : (tensor<4xf32>) -> tensor<4xf32>
        return %y : tensor<4xf32>
      }
    }'''
    functions = [lambda x: (np.asarray(x) * FACTOR,), lambda x: (np.asarray(x) + 1,)]
    programs = [compile_text(text, in_avals=[a], out_avals=[a], host_callbacks=[f]) for f in functions]
    print([program.execute([np.ones(4, np.float32)])[0].tolist()[0] for program in programs], compilation_cache.statistics.hits)
"""


def test_a_program_that_calls_python_is_kept_and_calls_the_functions_of_who_loads_it(run_python, tmp_path):
    """The text has their numbers only. Such programs were compiled by every process before: each solver of diffrax is one."""
    where = {**ON, "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    assert run_python(CALLING.replace("FACTOR", "3"), **where) == "[3.0, 2.0] 1"
    assert run_python(CALLING.replace("FACTOR", "5"), **where) == "[5.0, 2.0] 2"
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_dumps_are_made_by_compiling(run_python, tmp_path):
    where = {**ON, "LAMINAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        assert run_python(PROGRAM, XLA_FLAGS=f"--xla_dump_to={tmp_path}/dump", **where).endswith(" 0")
    assert not (tmp_path / "cache").exists() and list((tmp_path / "dump").iterdir())


def test_the_default_folder_is_in_the_users_cache_folder(run_python, tmp_path):
    run_python(PROGRAM, XDG_CACHE_HOME=str(tmp_path), HOME=str(tmp_path), LAMINAX_COMPILATION_CACHE_DIR="", **ON)
    (compiled_folder,) = tmp_path.rglob("compiled")
    assert "laminax" in compiled_folder.parts and len(list(compiled_folder.iterdir())) == 1
    assert compiled_folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("variable", ["/somewhere/else", "", "relative/folder", None])
def test_the_users_cache_folder_is_that_of_platformdirs(monkeypatch, variable):
    if variable is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", variable)
    # A relative folder is to be ignored, says the XDG Base Directory Specification; older versions of platformdirs do not.
    expected = Path.home() / ".cache" if variable == "relative/folder" else platformdirs.user_cache_path()
    assert compilation_cache._user_cache_folder() == expected


def test_a_folder_that_a_group_may_write_is_used_with_a_secret_only(folder, tmp_path):
    """Whoever is in the group could supply machine code."""
    folder.mkdir()
    folder.chmod(0o770)
    with pytest.warns(RuntimeWarning, match="can be written by other users; make it yours.*compilation_cache_secret_file"):
        compiled()
    assert counted()[0] == 0 and list(folder.iterdir()) == []
    (tmp_path / "secret").write_bytes(b"known to the users of the folder")
    (tmp_path / "secret").chmod(0o640)
    with options.compilation_cache_secret_file(str(tmp_path / "secret")):
        compiled()
        before = counted()[0]
        compiled()
        assert counted()[0] == before + 1


def test_a_secret_that_everybody_reads_is_refused(folder, tmp_path):
    (tmp_path / "secret").write_bytes(b"known to the users of the folder")
    (tmp_path / "secret").chmod(0o644)
    with (options.compilation_cache_secret_file(str(tmp_path / "secret")),
          pytest.warns(RuntimeWarning, match="is no secret; make it `chmod o=`")):
        compiled()
    assert not folder.exists()


def test_no_trouble_no_warning(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled()
        compiled()


def test_listeners_hear_of_hits_and_misses(folder):
    heard = []
    monitoring.register_event_listener(heard.append)
    try:
        compiled()
        compiled()
    finally:
        monitoring.unregister_event_listener(heard.append)
    assert [event.rpartition("/")[2] for event in heard] == [
        "compile_requests_use_cache", "cache_misses", "compile_requests_use_cache", "cache_hits"]


def test_small_programs_can_be_left_out(folder):
    with options.persistent_cache_min_entry_size_bytes(1 << 30):
        compiled()
    assert counted() == (0, 1, 0)
    compiled()
    assert counted() == (0, 2, 1)
