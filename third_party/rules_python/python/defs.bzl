"""The Python rules: Bazel's native ones, under the names that the real rules_python has them by."""

py_binary = native.py_binary
py_library = native.py_library
py_runtime = native.py_runtime
py_test = native.py_test
