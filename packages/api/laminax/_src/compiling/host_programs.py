"""Small eager programs on the host: the first calls of one are computed by NumPy, and only what is called often is compiled.

Compiling takes 25 ms of the processor however small a program is, NumPy some 50 us for what has one right answer
(`laminax_ir.reference.exact_programs`), and programs that initialise models, or look at their results, are full of operations that are
called a few times: a first run of numpyro's NUTS compiled 122 programs, and compiles 17. After `MOST_CALLS`, or when they have taken
`MOST_SECONDS`, the program is compiled, so that nobody loses more than that. Of draws of random numbers NumPy computes the hashes, which
take three quarters of the time to compile, and the compiler makes the rest of them.
"""

from __future__ import annotations

import time
from typing import Any, Sequence

import numpy as np

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray, stored_aval
from laminax_ir.options import config_options
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.reference.exact_programs import ExactPart, exact_part
from laminax_ir.types.array_layouts import in_use as layouts_in_use
from laminax_ir.types.avals import ShapedArray

from laminax._src.compiling.executables import Program, wrapped
from laminax._src.compiling.regions import compile_program
from laminax._src.placement.partitioning import names_shardings

MOST_CALLS, MOST_SECONDS = 32, 0.01
MOST_CALLS_OF_HASHES, MOST_SECONDS_OF_HASHES = 128, 0.05  # which take 50 to 160 ms to compile
_WAITS, _WAIT_SECONDS = 50, 0.0002
_SMALL_INTS = range(-(1 << 31), 1 << 31)

eager_on_host = config_options.define(
    "eager_on_host",
    True,
    config_options.boolean,
    "Compute small calls outside of jitted functions by NumPy on the CPU, where it gives the same bits, until they are called often.",
)


class HostProgram:
    """A program that NumPy runs until it is worth compiling.

    Where it draws random numbers NumPy hashes the keys, and compiled code does the rest.

    Args:
      name: of the function, for what is compiled.
      part: what NumPy computes, and what is left to the compiler.
      device: where the results are.
    """

    def __init__(self, name: str, part: ExactPart, device: runtime.Device) -> None:
        self._name = name
        self._exact = part.exact
        self._rest = part.rest
        self._compiled: Program | None = None
        self._device = device
        self._calls_left = MOST_CALLS_OF_HASHES if part.exact.hashes else MOST_CALLS
        self._seconds_left = MOST_SECONDS_OF_HASHES if part.exact.hashes else MOST_SECONDS

    def run(self, args: Sequence[Any]) -> list[Any] | None:
        """Computes one call; None if it is time to compile the program, or if these values are the compiler's."""
        if self._calls_left <= 0 or self._seconds_left <= 0 or runtime.no_execution.value or runtime.guards_transfers() or layouts_in_use:
            return None
        if not all(map(_is_at_hand, args, self._exact.in_avals)):
            return None
        start = time.thread_time()
        is_committed = any([array._committed for x in args if isinstance(array := _array_of(x), runtime.ArrayImpl)])
        values = self._exact.run(args)
        if values is None:
            return None
        outs = [self._placed(value, aval, is_committed) for value, aval in zip(values, self._exact.out_avals)]
        self._calls_left -= 1
        self._seconds_left -= time.thread_time() - start
        if self._rest is None:
            return outs
        if self._compiled is None:
            self._compiled = compile_program(self._rest, self._device, name=self._name)
        return self._compiled.run([*outs, *args])

    def _placed(self, value: np.ndarray, aval: ShapedArray, is_committed: bool) -> Any:
        return wrapped(runtime.put_result(value, stored_aval(aval), self._device, is_committed), aval)


def host_program(name: str, closed: ClosedJaxpr, where: Any) -> HostProgram | None:
    """The program for its first calls; None if it must be compiled."""
    if not eager_on_host.value or not isinstance(where, runtime.Device) or where.platform != "cpu" or runtime.is_compile_only(where):
        return None
    if closed.template is not None or names_shardings(closed):
        return None
    part = exact_part(closed)
    return None if part is None else HostProgram(name, part, where)


def _array_of(x: Any) -> Any:
    return x.base if isinstance(x, ExtendedArray) else x


def _is_at_hand(x: Any, aval: ShapedArray) -> bool:
    """Whether an argument can be read now, without waiting or an error, and is what its type says."""
    array = _array_of(x)
    if isinstance(array, runtime.ArrayImpl):
        return not array.is_deleted() and _is_soon_ready(array)
    if isinstance(array, (np.ndarray, np.generic)):
        return not isinstance(x, ExtendedArray) and array.dtype == aval.dtype
    return type(x) is bool or type(x) is float or type(x) is int and x in _SMALL_INTS


def _is_soon_ready(array: runtime.ArrayImpl) -> bool:
    """Whether an array has been computed, or is in the time that compiling would take at least."""
    for _ in range(_WAITS):
        if array.is_ready():
            return True
        time.sleep(_WAIT_SECONDS)
    return False
