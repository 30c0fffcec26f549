"""The Java rules under the names that Bazel's own tools load them by.

Bazel would download rules_java for this. The native rules serve, and nothing in laminax is Java.
"""

java_binary = native.java_binary
java_import = native.java_import
java_library = native.java_library
java_proto_library = native.java_proto_library
java_runtime = native.java_runtime
java_toolchain = native.java_toolchain
