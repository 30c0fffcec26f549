"""The Python rules: Bazel's native ones, and `py_wheel`."""

load(":wheel.bzl", _py_wheel = "py_wheel")

py_binary = native.py_binary
py_library = native.py_library
py_runtime = native.py_runtime
py_test = native.py_test
py_wheel = _py_wheel
