"""Convolutions on one CPU device: sums of shifted products, and matrix products, where the compiler's own loops are slow.

The compiler hands ordinary convolutions to Eigen, and writes plain loops for the rest: one multiplication at a time, in the order of
the definition. Where either the window has few places, or the result, one operation on whole arrays for each place is faster:

  out[n, o, p] = sum over i, t of x[n, i, p * stride + t * dilation] * w[o, i, t]     x with its padding and its holes

  `_shifted_products`   few t, one channel to each group: out is the sum over t of x, shifted by t, times the weights at t
  `_pointwise`          one t: a matrix product
  `_products_by_place`  few p, as in derivatives by the kernel: for each p, a product of w with what it meets of x

Times in the docstrings are milliseconds of one core, f32, jaxlib 0.12: without the kernel -> with it.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass, replace
from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_general_dilated_p
from laminax_ir.ops.elementwise import add, convert_element_type, div, mul, rem
from laminax_ir.ops.loops import fori_loop
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import broadcast_in_dim, concatenate, full, pad, reshape, transpose
from laminax_ir.ops.slicing import dynamic_slice, slice_in_dim
from laminax_ir.ops.slicing import slice as slice_of
from laminax_ir.options.config import enable_x64
from laminax_ir.types import dtypes
from laminax_lowering.rules.linalg_kernels import run_program
from laminax_lowering.rules.sums_of_terms import sum_from_zero
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value

# More places than this are left to the compiler's loops: a program of as many operations compiles longer than it saves.
MAX_PLACES = 64

# Nor is it worth anything where the compiler's loops take less than a quarter of a millisecond.
MIN_PRODUCTS = 100_000

# The dtype that sums are made in.
_COMPUTED_IN = {np.dtype(np.float32): np.float32, np.dtype(np.float64): np.float64, np.dtype(np.float16): np.float32,
                dtypes.bfloat16: np.float32}


@dataclass(frozen=True)
class _Convolution:
    """One convolution: its parameters, and the sizes of its axes by what they mean.

    batch, channels: of x.
    features: of the weights, and of the result.
    window: the sizes of the weights along the spatial axes.
    places: those of the result.
    """
    numbers: ConvDimensionNumbers
    window_strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    feature_groups: int
    batch_groups: int
    precision: Any
    batch: int
    channels: int
    features: int
    window: tuple[int, ...]
    places: tuple[int, ...]

    def padded(self, x: Any) -> Any:
        """x with its padding, which may be negative, and the holes between its elements."""
        config = [(0, 0, 0)] * len(self.numbers.lhs_spec)
        for axis, (low, high), step in zip(self.numbers.lhs_spec[2:], self.padding, self.lhs_dilation):
            config[axis] = (low, high, step - 1)
        return x if not any(map(any, config)) else pad(x, np.zeros((), x.dtype), config)

    def part(self, x: Any, start: Sequence[int], counts: Sequence[int], steps: Sequence[int]) -> Any:
        """A part of a padded x: along each spatial axis `counts` elements from `start` on."""
        first, last, step = [0] * x.ndim, list(x.shape), [1] * x.ndim
        for axis, i, n, by in zip(self.numbers.lhs_spec[2:], start, counts, steps):
            first[axis], last[axis], step[axis] = i, i + (n - 1) * by + 1, by
        return slice_of(x, first, last, step)

    def under_tap(self, x: Any, tap: Sequence[int]) -> Any:
        """What one weight meets at all places."""
        return self.part(x, [i * by for i, by in zip(tap, self.rhs_dilation)], self.places, self.window_strides)

    def under_window(self, x: Any, place: Sequence[int]) -> Any:
        """What all weights meet at one place."""
        return self.part(x, [i * by for i, by in zip(place, self.window_strides)], self.window, self.rhs_dilation)


@cpu_kernel(conv_general_dilated_p)
def _convolution(ctx: FunctionWriter, lhs: Value, rhs: Value, *, window_strides: Sequence[int], padding: Sequence[tuple[int, int]],
                 lhs_dilation: Sequence[int], rhs_dilation: Sequence[int], dimension_numbers: ConvDimensionNumbers,
                 feature_group_count: int, batch_group_count: int, precision: Any, **_params: Any) -> Value | None:
    (out,) = ctx.avals_out
    if not lhs.aval.dtype == rhs.aval.dtype == out.dtype or out.dtype not in _COMPUTED_IN or 0 in (*lhs.aval.shape, *rhs.aval.shape):
        return None
    x_spec, w_spec, out_spec = dimension_numbers
    convolution = _Convolution(
        dimension_numbers, tuple(window_strides), tuple(padding), tuple(lhs_dilation), tuple(rhs_dilation), feature_group_count,
        batch_group_count, precision, lhs.aval.shape[x_spec[0]], lhs.aval.shape[x_spec[1]], rhs.aval.shape[w_spec[0]],
        tuple([rhs.aval.shape[axis] for axis in w_spec[2:]]), tuple([out.shape[axis] for axis in out_spec[2:]]))
    products = out.size * math.prod(convolution.window) * rhs.aval.shape[w_spec[1]]
    way = _way(convolution) if products >= MIN_PRODUCTS else None
    if way is None:
        return None
    dtype = _COMPUTED_IN[out.dtype]

    def program(x: Any, w: Any) -> list[Any]:
        return [convert_element_type(way(convolution, convert_element_type(x, dtype), convert_element_type(w, dtype)), out.dtype)]

    with enable_x64(True):  # the program may have been traced in that mode, and have float64
        return run_program(ctx, program, [lhs, rhs])[0]


def _way(c: _Convolution) -> Callable[[_Convolution, Any, Any], Any] | None:
    """How a convolution is computed; None leaves it to the compiler."""
    taps, places = math.prod(c.window), math.prod(c.places)
    if c.batch_groups == 1 and c.feature_groups == c.channels and taps <= MAX_PLACES and taps < places:
        return _shifted_products
    if taps == c.feature_groups == c.batch_groups == 1 and not any(map(any, c.padding)) and max(c.lhs_dilation) == 1:
        return _pointwise
    if c.feature_groups > 1 or not 0 < places <= MAX_PLACES or taps <= places:
        return None
    if c.batch_groups == c.batch == c.features > 1:
        return _sums_by_place
    # Eigen does derivatives by other kernels well: 2.6 for 3 by 3, 64 channels each, where products by place take 6.4.
    return _products_by_place if c.batch_groups > 1 or places == 1 or max(c.lhs_dilation) > 1 else None


def _shifted_products(c: _Convolution, x: Any, w: Any) -> Any:
    """Depthwise convolutions, and those of one channel.

    3 by 3, 8 times 56 by 56, 64 channels: 38.8 -> 2.0, in the layout NCHW 43.2 -> 1.6; of stride 2 11.1 -> 0.9, and its derivative by x
    130 -> 2.0. 7 by 7, 2 times 28 by 28, 96 channels: 11.5 -> 0.6. Causal, 4 long, 4 times 512, 256 channels: 24.5 -> 0.5. One channel
    5 by 5, 512 by 512: 11.2 -> 0.5.
    """
    numbers = c.numbers
    multiplier = c.features // c.channels
    axis = numbers.out_spec[1]
    x = _with_axes(c.padded(x), numbers.lhs_spec, numbers.out_spec)
    c = replace(c, numbers=numbers._replace(lhs_spec=numbers.out_spec))
    kept = [i + (i > axis) for i in range(x.ndim)]  # the axes of x in a result whose features are split in two axes

    def product_at(tap: tuple[int, ...]) -> Any:
        part = c.under_tap(x, tap)
        shape = (*part.shape[:axis], c.channels, multiplier, *part.shape[axis + 1:])
        weights = reshape(transpose(_weights_at(w, numbers.rhs_spec[2:], tap), numbers.rhs_spec), (c.channels, multiplier))
        return mul(broadcast_in_dim(part, shape, kept), broadcast_in_dim(weights, shape, (axis, axis + 1)))

    total = sum_from_zero(map(product_at, itertools.product(*map(range, c.window))))
    return reshape(total, (*total.shape[:axis], c.features, *total.shape[axis + 2:]))


def _with_axes(x: Any, spec: Sequence[int], wanted: Sequence[int]) -> Any:
    """x with its axes put in another order: those that `spec` lists where `wanted` lists them."""
    order = [0] * len(spec)
    for old, new in zip(spec, wanted):
        order[new] = old
    return transpose(x, order)


def _weights_at(w: Any, axes: Sequence[int], position: Sequence[int]) -> Any:
    """The weights at one position, with axes of one element there."""
    first, last = [0] * w.ndim, list(w.shape)
    for axis, i in zip(axes, position):
        first[axis], last[axis] = i, i + 1
    return slice_of(w, first, last)


def _pointwise(c: _Convolution, x: Any, w: Any) -> Any:
    """Kernels of one weight.

    128 channels to 256, 8 times 28 by 28: 3.7 -> 3.5, and of stride 2 1.22 -> 0.83.
    """
    numbers = c.numbers
    x = c.under_tap(x, [0] * len(c.window))
    w = reshape(transpose(w, numbers.rhs_spec), (c.features, c.channels))
    result = dot_general(x, w, (((numbers.lhs_spec[1],), (1,)), ((), ())), precision=c.precision)
    channel = numbers.lhs_spec[1]  # its axis goes, the others move up, and the features come last
    spec = [x.ndim - 1 if axis == channel else axis - (axis > channel) for axis in numbers.lhs_spec]
    return _with_axes(result, spec, numbers.out_spec)


def _sums_by_place(c: _Convolution, x: Any, w: Any) -> Any:
    """Derivatives of depthwise convolutions by their kernels.

    3 by 3, 8 times 56 by 56, 64 channels: 60.7 -> 3.7, in the layout NCHW, which is transposed, 60.4 -> 9.3; of stride 2 10.6 -> 1.2.
    7 by 7, 2 times 28 by 28, 96 channels: 18.1 -> 1.0. Causal, 4 long, 4 times 512, 256 channels: 8.7 -> 1.0.
    """
    numbers, groups = c.numbers, c.batch_groups
    order = [1, *range(2, x.ndim), 0]  # [examples, *places, groups]
    x = transpose(c.padded(x), [numbers.lhs_spec[i] for i in order])
    w = transpose(w, [numbers.rhs_spec[i] for i in order])
    spec = (x.ndim - 1, *range(x.ndim - 1))
    c = replace(c, numbers=ConvDimensionNumbers(spec, spec, numbers.out_spec))
    if x.ndim == 4:
        sums = _sums_over_rows(c, x, w)
    else:
        sums = [reduce_sum(mul(c.under_window(x, place), w), range(x.ndim - 1)) for place in itertools.product(*map(range, c.places))]
    result = reshape(concatenate([reshape(total, (1, groups, 1)) for total in sums], 2), (1, groups, *c.places))
    return _with_axes(result, range(result.ndim), numbers.out_spec)


def _sums_over_rows(c: _Convolution, x: Any, w: Any) -> list[Any]:
    """For each place of the result the sum of products of w with x: [groups].

    A row of w at a time, and the sums of columns kept apart until the end, since the compiler does what is elementwise with vectors: a
    reduction for each place takes 31 instead of 3.7.
    """
    rows, columns = c.window
    height = c.window_strides[0] * (c.places[0] - 1) + 1  # of what one row of w meets

    def add_row(i: Any, sums: list[Any]) -> list[Any]:
        example, row = div(i, rows), rem(i, rows)
        factor = dynamic_slice(w, (example, row, 0, 0), (1, 1, *w.shape[2:]))
        reach = dynamic_slice(x, (example, mul(row, c.rhs_dilation[0]), 0, 0), (1, height, *x.shape[2:]))
        new = []
        for j, total in enumerate(sums):
            start = j * c.window_strides[1]
            part = slice_of(reach, (0, 0, start, 0), (1, height, start + (columns - 1) * c.rhs_dilation[1] + 1, x.shape[3]),
                            (1, c.window_strides[0], c.rhs_dilation[1], 1))
            new.append(add(total, mul(part, broadcast_in_dim(factor, part.shape, (0, 1, 2, 3)))))
        return new

    zero = full((1, c.places[0], columns, x.shape[3]), 0, x.dtype)
    sums = fori_loop(0, x.shape[0] * rows, add_row, [zero] * c.places[1])
    totals = [reduce_sum(total, (0, 2)) for total in sums]
    return [reshape(slice_in_dim(total, i, i + 1), (x.shape[3],)) for i in range(c.places[0]) for total in totals]


def _products_by_place(c: _Convolution, x: Any, w: Any) -> Any:
    """Derivatives of other convolutions by their kernels.

    One weight, 128 channels to 256, 8 times 28 by 28: 37.7 -> 5.9, and of stride 2 4.8 -> 1.3. Eight groups, 3 by 3, 64 channels to 64,
    4 times 28 by 28: 194 -> 4.6. Of a transposed convolution of stride 2, 4 by 4, 64 channels to 32, 4 times 16 by 16: 31.8 -> 1.9, and
    along one axis, stride 8, 16 long, 4 times 128: 15.4 -> 1.1.
    """
    numbers, groups = c.numbers, c.batch_groups
    dims = ((_behind_groups(numbers.lhs_spec), _behind_groups(numbers.rhs_spec)), ((numbers.lhs_spec[0],), (numbers.rhs_spec[0],)))
    has_holes = max(c.lhs_dilation) > 1 and max(c.rhs_dilation) == 1
    meet = _meeting_densely if has_holes and all(map(operator.ge, c.window, c.lhs_dilation)) else _meeting
    parts = []
    for place in itertools.product(*map(range, c.places)):
        a, b = meet(c, x, w, place)
        a, b = _split(a, numbers.lhs_spec[0], groups), _split(b, numbers.rhs_spec[0], groups)
        product = dot_general(a, b, dims, precision=c.precision)
        parts.append(reshape(transpose(product, (1, 0, 2)), (c.batch // groups, c.features, 1)))
    result = reshape(concatenate(parts, 2), (c.batch // groups, c.features, *c.places))
    return _with_axes(result, range(result.ndim), numbers.out_spec)


def _meeting(c: _Convolution, x: Any, w: Any, place: Sequence[int]) -> tuple[Any, Any]:
    """The elements of x that all weights meet at one place, and the weights."""
    return c.under_window(c.padded(x), place), w


def _meeting_densely(c: _Convolution, x: Any, w: Any, place: Sequence[int]) -> tuple[Any, Any]:
    """As `_meeting`, without the holes between the elements of x, and the weights that meet them: one in `lhs_dilation`."""
    x_spec, w_spec = c.numbers.lhs_spec[2:], c.numbers.rhs_spec[2:]
    config, first, last = [(0, 0, 0)] * x.ndim, [0] * w.ndim, list(w.shape)
    steps, count = [1] * w.ndim, list(x.shape)
    for x_axis, w_axis, i, stride, (low, _), holes in zip(x_spec, w_spec, place, c.window_strides, c.padding, c.lhs_dilation):
        first[w_axis], steps[w_axis] = (low - i * stride) % holes, holes
        begin = (i * stride + first[w_axis] - low) // holes
        count[x_axis] = -(-(last[w_axis] - first[w_axis]) // holes)
        config[x_axis] = (-begin, begin + count[x_axis] - x.shape[x_axis], 0)  # negative where x begins before, or ends behind
    return pad(x, np.zeros((), x.dtype), config), slice_of(w, first, last, steps)


def _behind_groups(spec: Sequence[int]) -> tuple[int, ...]:
    """The axes but the first of a specification, where that has been split in two."""
    return tuple([axis + (axis > spec[0]) for axis in spec[1:]])


def _split(x: Any, axis: int, groups: int) -> Any:
    return reshape(x, (*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1:]))
