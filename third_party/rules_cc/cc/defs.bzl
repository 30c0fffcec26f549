"""The C++ rules under the names that Bazel's own tools load them by.

Bazel would download rules_cc for this. The native rules serve, and nothing in laminax is C++.
"""

cc_binary = native.cc_binary
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
