"""Checks: a statement that something holds, with the name and the message of its failure.

A check is an operation without results. On values a failure raises at once; in a program checks stay until somebody interprets it with
a record of the first failure, as `checkify` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from laminax_ir.options.ambient import define_ambient
from laminax_ir.programs.effects import CheckEffect, Effect
from laminax_ir.programs.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.pytrees.pytree import tree_flatten, tree_unflatten
from laminax_ir.tracing import source
from laminax_ir.tracing.leaks import check_no_tracers
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like

check_effect = CheckEffect("Check")
check_p = Primitive("check", multiple_results=True, family="checks")

checks_indices = define_ambient(
    "check_indices", False,
    "Whether constant indices that are out of bounds are recorded as failed checks; set by checkify while it traces.")


class JaxRuntimeError(ValueError):
    """A check failed."""


class FailedCheckError(JaxRuntimeError):
    """A `check` failed."""


class NaNError(JaxRuntimeError):
    """An operation made a NaN."""


class DivisionByZeroError(JaxRuntimeError):
    """Something was divided by zero."""


class OOBError(JaxRuntimeError):
    """An index was out of bounds."""


ErrorCategory = type[JaxRuntimeError]


@dataclass(frozen=True)
class Site:
    """A place where something is checked: the error of its failure, and the message, with the structure of the values that it shows."""

    category: ErrorCategory
    message: str
    tree: Any = None

    def text(self, payload: list[Any]) -> str:
        if self.category is OOBError:
            index, axis, size = np.asarray(payload[0]).tolist()
            return self.message.format(index=index, axis=axis, size=size)
        if self.category is not FailedCheckError:
            return self.message
        args, kwargs = tree_unflatten(self.tree, payload)
        return f"{self.message.format(*args, **kwargs)} (`check` failed)"


@shape_rule(check_p)
def _check_shape(pred: ShapedArray, *payload: ShapedArray, site: Site, debug: bool) -> list[ShapedArray]:
    return []


@effects_rule(check_p)
def _check_effects(*_avals: ShapedArray, **_params: Any) -> set[Effect]:
    return {check_effect}


@check_p.def_impl
def check_now(pred: Any, *payload: Any, site: Site, debug: bool) -> list[Any]:
    """A check on values: raises if it fails, unless it is for `checkify` alone."""
    check_no_tracers((pred, *payload))
    if not debug and not bool(pred):
        raise site.category(site.text(list(payload)))
    return []


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """States that something must be true.

    Outside of compiled functions a failure raises at once. A function that is compiled must be wrapped in `checkify`, which
    returns the failure as a value.

    Args:
      pred: a bool scalar.
      msg: the message, with places for the arguments, as of `str.format`.
      *fmt_args, **fmt_kwargs: pytrees of arrays that the message shows.
      debug: whether the check has an effect only in `checkify`.

    Raises:
      JaxRuntimeError: if it is false.
      TypeError: if pred is no bool scalar, the message no text, or an argument no array.

    Example:
      >>> check(numpy.all(x > 0), "x must be positive, got {}", x)
    """
    if not is_array_like(pred) or get_aval(pred).shape or get_aval(pred).dtype != np.bool_:
        raise TypeError(f"{'debug_check' if debug else 'check'} takes a scalar pred as argument, got {pred!r}; a bool is expected")
    if not isinstance(msg, str):
        raise TypeError(f"check: the message must be a string, got {msg!r}")
    leaves, tree = tree_flatten((fmt_args, fmt_kwargs))
    for leaf in leaves:
        if not is_array_like(leaf):
            raise TypeError(f"Formatting arguments to checkify.check need to be PyTrees of arrays, but got {leaf!r} of type {type(leaf)}.")
    check_p.bind(pred, *leaves, site=Site(FailedCheckError, msg, tree), debug=bool(debug))


def note_index(shape: tuple[int, ...], axis: int, index: int) -> None:
    """States that a constant index is out of bounds: a failed check for `checkify`, without an effect otherwise."""
    payload = np.array([index, axis, shape[axis]], np.int32)
    check_p.bind(np.bool_(False), payload, site=Site(OOBError, index_message(shape, source.summarize(source.current()))), debug=True)


def index_message(shape: tuple[int, ...], where: str) -> str:
    """The message of an index out of bounds, with places for the index, its axis and the size of that."""
    return (f"out-of-bounds indexing for array of shape {shape}: index {{index}} is out of bounds for axis {{axis}} with size {{size}} at "
            f"{where}")


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """As `check`, with an effect only where the function is wrapped in `checkify`."""
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)
