"""The programs that are measured. Each is written once, against `lib`: the module `laminax` or the module `jax`.

A program is a module of this package with

    arguments()   its arguments: NumPy arrays in pytrees
    fresh(lib)    a new function of these arguments to a scalar; new, so that no cache of the library knows it
    BATCH_AXES    the `in_axes` with which it is batched: 0 for the arguments that are given a batch axis, else None
"""

NAMES = ("mlp100", "transformer24", "transformer24_plain")
