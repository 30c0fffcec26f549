"""Malformed calls: for each operation one call that is right, and for each of its arguments values that are wrong.

A right call is `(function, arguments)`; a wrong one has one argument replaced. Which values are wrong follows from what kind the
argument is of, `AXIS` or `SHAPE` or any list of values. An array is wrong if it is none.
"""

from __future__ import annotations

import inspect
import itertools
import re

import numpy as np
import pytest

from laminax_ir.types import dtypes

AXIS = [99, -99, 1.5, "x"]  # negative ones count from the end
PLAIN_AXIS = [99, -1, 1.5, "x"]  # or are refused
AXES = [(0, 99), (0, 1.5), ("x",), (0, 0), 0.5]
SHAPE = [(2, -1), (2, 1.5), ("x",), 2.5]
SIZE = [-1, 1.5, "x"]
INTEGER = [1.5, "x"]
DTYPE = ["no dtype", object]
CALLABLE = [3, "x"]
ARRAY = ["no array", object]


def wrong_calls(right: dict[str, tuple]) -> list:
    """Of each right call `name: (function, arguments, wrong values by argument)` all that have one argument wrong."""
    calls = []
    for name, (function, arguments, *wrong) in right.items():
        values = {key: ARRAY for key, value in arguments.items() if isinstance(value, np.ndarray)} | (wrong[0] if wrong else {})
        for key, bad in itertools.chain.from_iterable(zip([key] * len(bad), bad) for key, bad in values.items()):
            calls.append(pytest.param(name, function, arguments, key, bad, id=f"{name}-{key}-{_shown(bad)}"))
    return calls


def _shown(bad) -> str:
    return re.sub(r"\s+", "", bad.__name__ if isinstance(bad, type) else repr(bad))[:40]


def is_refused(name: str, function, arguments: dict, key: str, bad) -> None:
    """Fails unless the call is refused by an error that names the operation and shows what was wrong with it: the argument, its
    value, or its type as in `f32[2,3]`. An operation may name the one that it is made of."""
    with pytest.raises((TypeError, ValueError, IndexError, NameError)) as info:
        _call(function, arguments | {key: bad})
    message = str(info.value)
    names = [name, name.replace("-", "_"), *MADE_OF.get(name, ())]
    if not isinstance(info.value, NameError):  # an axis name that nobody binds; JAX's message is about the name alone
        assert any(each in message for each in names), f"{message!r} does not name {name}"
    shown = [key.lstrip("*"), *_texts(bad)]
    assert any(text and text in message for text in shown), f"{message!r} shows neither {key} nor {bad!r}"


MADE_OF = {"broadcast": ["broadcast_in_dim"], "broadcast_to_shape": ["broadcast_in_dim"], "full": ["broadcast_in_dim"],
           "full_like": ["full", "broadcast_in_dim"], "iota": ["broadcasted_iota"], "broadcasted_iota": ["iota"],
           "slice_in_dim": ["slice"], "sort_key_val": ["sort"], "betainc": ["regularized_incomplete_beta"],
           **{f"bitwise_{n}": [f"{n} got ", f"{n} does not", f"lax.{n} "] for n in ("and", "or", "xor", "not")}, "select": ["select_n"],
           "batch_matmul": ["dot_general"], "reciprocal": ["integer_pow"], "empty": ["full", "broadcast_in_dim"],
           "broadcast_like": ["broadcast_in_dim"], "conv": ["conv_general_dilated", "convolution"],
           "conv_general_dilated": ["convolution"], "conv_dimension_numbers": ["convolution"],
           "conv_with_general_padding": ["conv_general_dilated", "convolution"], "conv_transpose": ["conv_general_dilated"],
           "pswapaxes": ["all_to_all"], "debug_print": ["debug.print"], "debug_log": ["debug.log"], "debug_callback": ["debug.callback"],
           "cond": ["Pred", "true_fun"], "switch": ["Index", "Branch index", "branch"],
           "conv_general_dilated_patches": ["conv_general_dilated"],
           "conv_general_dilated_local": ["conv_general_dilated", "conv_general_dilated_patches"]}


def _texts(bad) -> list[str]:
    """How a message may show a value."""
    if isinstance(bad, (np.ndarray, np.generic)):
        return [f"{dtypes.short_name(bad.dtype)}[{','.join(map(str, bad.shape))}]", str(bad.dtype), str(bad.shape),
                "a scalar" if bad.shape == () else "", f"of {bad.ndim} axes"]
    if isinstance(bad, (list, tuple)):
        return [repr(bad), f"got {len(bad)} ", "PyTreeDef(", *([text for item in bad for text in _texts(item)] or ["at least one"])]
    of_scalar = str(dtypes.scalar_dtype(type(bad))) if type(bad) in (bool, int, float, complex) else ""
    return [repr(bad), str(bad), getattr(bad, "__name__", ""), of_scalar]


def _call(function, arguments: dict):
    """By position where an argument has no name for callers: `*operands`, and what the signature has before its `/`."""
    parameters = inspect.signature(function).parameters
    unnamed = {key for key, parameter in parameters.items() if parameter.kind is inspect.Parameter.POSITIONAL_ONLY}
    positional = [value for key, value in arguments.items() if key.startswith("*") or key in unnamed]
    named = {key: value for key, value in arguments.items() if not key.startswith("*") and key not in unnamed}
    return function(*positional, **named)


def is_accepted(function, arguments: dict) -> None:
    """Fails unless the right call is right."""
    _call(function, arguments)


# The modules of `laminax_ir.ops` whose operations each file calls; that each has wrong calls is a test there.
MODULES = {
    "test_malformed_array_operations": ["cumulative", "indexing", "reduction", "shape", "slicing", "sorting", "stacking", "windows"],
    "test_malformed_numeric_operations": ["contraction", "convolution", "derived", "elementwise", "fft", "linalg", "orthogonal", "polar",
                                          "polynomial", "scaled_dot", "special"],
    "test_malformed_program_operations": ["callbacks", "collectives", "control_flow", "loops", "random_bits"],
}
# Their functions take programs, which the type checker's tests make malformed, or have tables in files of their own.
ELSEWHERE = {"backward_logs", "buffer_callbacks", "calls", "checks", "composite", "custom_partitioning", "exported", "extended_dtypes",
             "ffi", "hints", "linear_call", "linear_solve", "open_sums", "shard_map", "sharding", "state", "symbolic",
             "tokens", "user_operations"}


def has_all_operations(module, right: dict[str, tuple], helpers: set[str]) -> None:
    """Fails unless there is a right call, with wrong ones, of each function that the module defines for others but for helpers."""
    public = {name for name, value in vars(module).items() if inspect.isfunction(value) and not name.startswith("_")
              and value.__module__ == module.__name__}
    called = {function.__name__ for function, *_ in right.values()} & public
    assert called == public - helpers, f"{sorted(public - helpers - called)} need a right call, and wrong ones"
    assert helpers <= public, f"there are no helpers {helpers - public}"
