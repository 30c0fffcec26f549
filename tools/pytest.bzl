"""pytest as the runner of Bazel's Python tests."""

load("@rules_python//python:defs.bzl", "py_library", "py_test")

def pytest_tests(name, srcs, deps, data = [], suffix = "", timeout = "long", **kwargs):
    """One test target per test file: `tests/test_scan.py` becomes `:test_scan<suffix>`.

    Whatever else lies in `tests/` goes with each of them: conftest.py, helper modules (imported by
    their bare names) and data files.

    Args:
      name: names the library of those files.
      srcs: the test files.
      deps: what the tests import, pytest and hypothesis excepted.
      data: further files that the tests read.
      suffix: keeps the names apart when the same files are tested twice.
      timeout: Bazel's; `long` is fifteen minutes. The tests take seconds, on a busy machine minutes, since they compile.
      **kwargs: passed to each py_test.
    """
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
    for src in srcs:
        py_test(
            name = src[:-len(".py")].split("/")[-1] + suffix,
            size = "medium",
            timeout = timeout,
            srcs = [
                src,
                "//tools:run_pytest.py",
            ],
            args = ["$(rootpath %s)" % src],
            main = "//tools:run_pytest.py",
            deps = [name],
            **kwargs
        )
