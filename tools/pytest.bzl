"""pytest as the runner of Bazel's Python tests."""

load("@rules_python//python:defs.bzl", "py_library", "py_test")

def pytest_tests(name, srcs, deps, data = [], suffix = "", timeout = "long", processes = 0, alone = [], **kwargs):
    """Test targets of test files: `tests/test_scan.py` becomes `:test_scan<suffix>`.

    Whatever else lies in `tests/` goes with each of them: conftest.py, helper modules (imported by
    their bare names) and data files.

    To start a test takes more than most files of tests do: a sandbox, an interpreter, the imports, and bytecode that is
    thrown away with the sandbox. With `processes` the files are therefore run together, as shards of the one target
    `:test_files<suffix>`, which is what `//...` means; a file's own target is still there to be asked for by name.

    Args:
      name: names the library of those files.
      srcs: the test files.
      deps: what the tests import, pytest and hypothesis excepted.
      data: further files that the tests read.
      suffix: keeps the names apart when the same files are tested twice.
      timeout: Bazel's; `long` is fifteen minutes. The tests take seconds, on a busy machine minutes, since they compile.
      processes: how many share the files; 0 gives each file its own.
      alone: files that no other may share a process with, because they set up what a process has once.
      **kwargs: passed to each py_test.
    """
    for src in alone:
        if src not in srcs:
            fail("%s is to run alone, and is none of the test files" % src)
    support = native.glob(
        ["tests/**"],
        exclude = [
            "tests/**/test_*.py",
            "**/*.pyc",
        ],
    )
    py_library(
        name = name,
        testonly = True,
        srcs = [file for file in support if file.endswith(".py")],
        data = [file for file in support if not file.endswith(".py")] + data + ["//:pytest_settings"],
        imports = ["tests"],
        deps = deps + [
            "//third_party:hypothesis",
            "//third_party:pytest",
        ],
    )
    tags = kwargs.pop("tags", [])
    together = [src for src in srcs if processes and src not in alone]
    if together:
        _py_test("test_files" + suffix, together, name, timeout, tags = tags, shard_count = processes, **kwargs)
    for src in srcs:
        by_name_only = ["manual"] if src in together else []
        _py_test(src[:-len(".py")].split("/")[-1] + suffix, [src], name, timeout, tags = tags + by_name_only, **kwargs)

def _py_test(name, srcs, library, timeout, **kwargs):
    py_test(
        name = name,
        size = "medium",
        timeout = timeout,
        srcs = srcs + ["//tools:run_pytest.py"],
        args = ["$(rootpath %s)" % src for src in srcs],
        main = "//tools:run_pytest.py",
        deps = [library],
        **kwargs
    )
