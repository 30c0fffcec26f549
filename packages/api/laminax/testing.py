"""Checks for the tests of your functions. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "debugging.testing": "assert_max_traces check_batching check_grads check_jvp check_vjp"})
