"""The categories of checks, and the record of the first check that failed: what a function wrapped in `checkify` returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from laminax_ir.ops.checks import (
    DivisionByZeroError,
    ErrorCategory,
    FailedCheckError,
    JaxRuntimeError,
    NaNError,
    OOBError,
    Site,
    check_p,
)
from laminax_ir.ops.reduction import argmax
from laminax_ir.ops.shape import reshape
from laminax_ir.pytrees.pytree import register_pytree_node_class
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.avals import get_aval
from laminax_transforms.checking.windows import element

user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


@register_pytree_node_class
@dataclass(frozen=True)
class Error:
    """Which check failed first, if one did. A pytree, which functions may return and take.

    Args:
      failed: bool, whether one failed.
      code: i32, which of the sites.
      payloads: for each site what its message shows.
      sites: the checks of the function.
    """

    failed: Any
    code: Any
    payloads: tuple[tuple[Any, ...], ...]
    sites: tuple[Site, ...]

    def tree_flatten(self) -> Any:
        return (self.failed, self.code, self.payloads), self.sites

    @classmethod
    def tree_unflatten(cls, metadata: Any, data: Any) -> Error:
        failed, code, payloads = data
        return cls(failed, code, payloads, metadata)

    def get(self) -> str | None:
        """The message of the check that failed, or None; with mapped axes, one line for each example that has one."""
        if np.shape(self.failed) == ():
            found = self._exception(())
            return None if found is None else str(found)
        lines = [f"at mapped index {', '.join(map(str, i))}: {self._exception(tuple(i))}" for i in np.argwhere(np.asarray(self.failed))]
        return "\n".join(lines) or None

    def _exception(self, index: tuple[int, ...]) -> JaxRuntimeError | None:
        if not self.sites or not np.asarray(self.failed)[index]:
            return None
        code = int(np.asarray(self.code)[index])
        return self.sites[code].category(self.sites[code].text([x[index] for x in self.payloads[code]]))

    def get_exception(self) -> JaxRuntimeError | None:
        """The exception that `throw` raises, or None."""
        message = self.get()
        return None if message is None else self._exception(()) if np.shape(self.failed) == () else JaxRuntimeError(message)

    def throw(self) -> None:
        """Raises if a check failed; within a function that is traced, states it as a check of that function."""
        check_error(self)

    def __str__(self) -> str:
        return f"Error({'' if isinstance(self.failed, Tracer) else self.get()})"

    __repr__ = __str__


init_error = Error(np.zeros((), bool), np.zeros((), np.int32), (), ())


def check_error(error: Error) -> None:
    """Raises if a check failed that an `Error` tells of; within a traced function, states it as a check of that function.

    Args:
      error: what a function wrapped in `checkify` returned.

    Raises:
      JaxRuntimeError: if one failed.
      TypeError: if it is no Error.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error: an Error is expected, got {error!r}")
    if not isinstance(error.failed, Tracer):
        exception = error.get_exception()
        if exception is not None:
            raise exception
        return
    error = _first_of(error)
    for i, (site, payload) in enumerate(zip(error.sites, error.payloads)):
        check_p.bind(~(error.failed & (error.code == i)), *payload, site=site, debug=False)


def _first_of(error: Error) -> Error:
    """The error of the first example that has one, where a function was mapped or scanned."""
    shape = get_aval(error.failed).shape
    if not shape:
        return error
    if 0 in shape:
        return init_error
    failed = reshape(error.failed, (math.prod(shape),))
    first = argmax(failed, 0, np.int32)

    def of_first(x: Any) -> Any:
        return element(reshape(x, (math.prod(shape), *get_aval(x).shape[len(shape):])), first)
    payloads = tuple(tuple(map(of_first, payload)) for payload in error.payloads)
    return Error(element(failed, first), of_first(error.code), payloads, error.sites)
