"""Contractions: products summed over shared axes, from the matrix product to the general dot.

`dot_general` is the one primitive behind all dense products; `dot`, `batch_matmul` and the matrix functions above
name its axes. `ragged_dot_general` multiplies groups of rows by a matrix each.
Source: StableHLO specification, `dot_general`; XLA operation semantics, `RaggedDot`.
"""

from __future__ import annotations

import enum
import functools
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

import numpy as np

from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.shape_arguments import checked_out_sharding
from laminax_ir.options import config
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.programs.printer_params import format_param, hide_params
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.dot_algorithms import DotAlgorithm, DotAlgorithmPreset, concrete_algorithm
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

dot_general_p = Primitive("dot_general", family="contraction", traits=(Trait.PRODUCT, Trait.CONTRACTION))
hide_params(dot_general_p, precision=None, preferred_element_type=None, out_sharding=None)
format_param(dot_general_p, "dimension_numbers")(
    lambda numbers: "(" + ", ".join("(" + ", ".join(str(list(axes)) for axes in pair) + ")" for pair in numbers) + ")")
ragged_dot_general_p = Primitive("ragged_dot_general", family="contraction")

# ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), each a tuple of axes.
DotDimensionNumbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


# Precision


class Precision(enum.Enum):
    """How exactly a product of 32-bit floats is computed where the hardware multiplies narrower numbers.

    DEFAULT is the platform's fastest way, HIGH a slower and more accurate one, HIGHEST full precision. The names
    that `Precision(name)` takes: "default", "fastest", "bfloat16"; "high", "bfloat16_3x", "tensorfloat32";
    "highest", "float32"; None is DEFAULT.

    Example:
      >>> dot(np.float32([1, 2]), np.float32([3, 4]), precision=Precision.HIGHEST)
      array(11., dtype=float32)
      >>> Precision("tensorfloat32")
      Precision.HIGH
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: Any) -> Any:
        name = _precision_names.get(value) if value is None or isinstance(value, str) else None
        return None if name is None else cls[name]

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


_precision_names = {None: "DEFAULT", "default": "DEFAULT", "fastest": "DEFAULT", "bfloat16": "DEFAULT",
                    "high": "HIGH", "bfloat16_3x": "HIGH", "tensorfloat32": "HIGH",
                    "highest": "HIGHEST", "float32": "HIGHEST"}

PrecisionLike = None | str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset
CanonicalPrecision = None | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset


def canonicalize_precision(name: str, precision: PrecisionLike, *, algorithms: bool = True) -> CanonicalPrecision:
    """The precision of both operands or the dot algorithm; None where neither the call nor the configuration states one.

    Args:
      name: the operation, for messages.
      precision: None, a `Precision` or its name, a pair of these, one per operand, or a dot algorithm or its name.
      algorithms: whether the operation takes dot algorithms. If not, one that the configuration states is not meant for
        it, and counts for nothing.

    Returns:
      A pair of `Precision`, a `DotAlgorithm`, a `DotAlgorithmPreset`, or None.

    Raises:
      ValueError: if it is none of these.
    """
    is_stated = precision is not None
    if not is_stated:
        precision = config.default_matmul_precision.value
        if precision is None:
            return None
    algorithm = _as_algorithm(precision)
    if algorithm is not None:
        if is_stated and not algorithms:
            raise ValueError(f"{name}: dot algorithms are for products of matrices, got precision {precision!r}; expected one of "
                             f"{', '.join(filter(None, _precision_names))}")
        return algorithm if algorithms else None
    pair = tuple(precision) if isinstance(precision, (tuple, list)) else (precision, precision)
    try:
        lhs, rhs = map(Precision, pair)
    except ValueError:
        raise ValueError(
            f"{name}: the precision must be None, a Precision (DEFAULT, HIGH, HIGHEST), one of the names "
            f"{', '.join(filter(None, _precision_names))}, a pair of these, one per operand, or a DotAlgorithm or the name of a "
            f"DotAlgorithmPreset; got {precision!r}") from None
    return lhs, rhs


def _as_algorithm(precision: PrecisionLike) -> DotAlgorithm | DotAlgorithmPreset | None:
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    return DotAlgorithmPreset.__members__.get(precision) if isinstance(precision, str) else None


# dot_general


@shape_rule(dot_general_p)
def _dot_general_shape(lhs: ShapedArray, rhs: ShapedArray, *, dimension_numbers: DotDimensionNumbers,
                       precision: CanonicalPrecision, preferred_element_type: np.dtype | None, out_sharding: Any) -> ShapedArray:
    if out_sharding is not None:
        refuse_out_sharding("dot_general", out_sharding)
    aval = _dot_general_aval(lhs, rhs, dimension_numbers, preferred_element_type)
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        concrete_algorithm(precision, lhs.dtype, rhs.dtype, aval.dtype)  # refuses operands that it does not multiply
    return aval


# Pure in its arguments, and a program's layers repeat them: worth remembering on the staging path.
@functools.lru_cache(maxsize=4096)
def _dot_general_aval(lhs: ShapedArray, rhs: ShapedArray, dimension_numbers: DotDimensionNumbers,
                      preferred: np.dtype | None) -> ShapedArray:
    shape = dot_general_shape("dot_general", lhs.shape, rhs.shape, dimension_numbers)
    dtype = contraction_dtype("dot_general", lhs.dtype, rhs.dtype, preferred)
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type, named_shape=joined_named_shape((lhs, rhs)))


def refuse_out_sharding(name: str, out_sharding: Any) -> None:
    """Raises unless `out_sharding` is None."""
    if out_sharding is not None:
        raise NotImplementedError(f"{name}: out_sharding is not supported, got {out_sharding!r}. Leave it None, and lay the "
                                  "result out with reshard.")


def dot_general_shape(name: str, lhs_shape: tuple[int, ...], rhs_shape: tuple[int, ...],
                      dimension_numbers: DotDimensionNumbers) -> tuple[int, ...]:
    """The shape of a product: batch axes, free axes of lhs, free axes of rhs.

    Args:
      name: the operation, for messages.
      lhs_shape, rhs_shape: the operands' shapes.
      dimension_numbers: in normal form.

    Raises:
      ShapeError: if an axis is out of range or repeated, or paired axes have different sizes.
    """
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    _check_axes(name, "lhs", lhs_shape, lhs_contracting, lhs_batch)
    _check_axes(name, "rhs", rhs_shape, rhs_contracting, rhs_batch)
    _check_partners(name, "contracting", lhs_shape, rhs_shape, lhs_contracting, rhs_contracting)
    _check_partners(name, "batch", lhs_shape, rhs_shape, lhs_batch, rhs_batch)
    return (*(lhs_shape[i] for i in lhs_batch), *(lhs_shape[i] for i in free_axes(len(lhs_shape), lhs_contracting, lhs_batch)),
            *(rhs_shape[i] for i in free_axes(len(rhs_shape), rhs_contracting, rhs_batch)))


def free_axes(ndim: int, *taken: Sequence[int]) -> tuple[int, ...]:
    """The axes of an operand of rank ndim that are in none of the lists, in order.

    Args:
      ndim: the rank.
      *taken: lists of axes, not negative.

    Returns:
      A tuple of ints, increasing.
    """
    used = {axis for axes in taken for axis in axes}
    return tuple(axis for axis in range(ndim) if axis not in used)


def _check_axes(name: str, side: str, shape: Sequence[int], contracting: tuple[int, ...], batch: tuple[int, ...]) -> None:
    for kind, axes in (("contracting", contracting), ("batch", batch)):
        for axis in axes:
            if not 0 <= axis < len(shape):
                raise ShapeError(f"{name}: the {side} {kind} dimensions {axes} must be at least 0 and less than {len(shape)}, "
                                 f"the number of axes of {side}, whose shape is {shape}")
        if len(set(axes)) != len(axes):
            raise ShapeError(f"{name} requires {side} {kind} dimensions to be distinct, got {axes} for the shape {shape}")
    if not set(contracting).isdisjoint(batch):
        raise ShapeError(f"{name} requires {side} batch dimensions to be disjoint from contracting dimensions, "
                         f"got batch {batch} and contracting {contracting} for the shape {shape}")


def _check_partners(name: str, kind: str, lhs_shape: tuple[int, ...], rhs_shape: tuple[int, ...], lhs_axes: tuple[int, ...],
                    rhs_axes: tuple[int, ...]) -> None:
    lhs_sizes = tuple(lhs_shape[i] for i in lhs_axes)
    rhs_sizes = tuple(rhs_shape[i] for i in rhs_axes)
    if lhs_sizes != rhs_sizes:
        raise ShapeError(f"{name} requires {kind} dimensions to have the same shape, got {lhs_sizes} and {rhs_sizes}: "
                         f"axes {lhs_axes} of lhs {lhs_shape} and axes {rhs_axes} of rhs {rhs_shape}")


def contraction_dtype(name: str, lhs: Any, rhs: Any, preferred: Any) -> Any:
    """The result dtype of a product: `preferred`, or the operand dtype of the higher precision.

    Args:
      name: the operation, for messages.
      lhs, rhs: the operands' dtypes.
      preferred: a dtype or None.

    Returns:
      A dtype.

    Raises:
      DTypeError: if an operand is neither number nor bool, or `preferred` is too narrow for integers.
    """
    dtype = _higher_precision(name, lhs, rhs)
    if preferred is None or preferred == dtype:
        return dtype
    if dtypes.issubdtype(dtype, dtypes.integer) and preferred.itemsize < dtype.itemsize:
        raise DTypeError(f"{name}: preferred_element_type must not be narrower than the original type, got "
                         f"{dtypes.dtype_name(preferred)} for a result of type {dtypes.dtype_name(dtype)}")
    _precision_rank(name, preferred)
    return preferred


def _higher_precision(name: str, a: np.dtype, b: np.dtype) -> np.dtype:
    return a if _precision_rank(name, a) >= _precision_rank(name, b) else b


_precision_ranks: dict[Any, tuple] = {}


def _precision_rank(name: str, dtype: np.dtype) -> tuple:
    """XLA's order of operand types (`HigherPrecisionType`): complex, range, mantissa, width, signed."""
    rank = _precision_ranks.get(dtype)
    if rank is None:
        if dtypes.issubdtype(dtype, dtypes.inexact):
            info = dtypes.finfo(dtype)
            rank = (dtypes.issubdtype(dtype, dtypes.complexfloating), info.maxexp, info.nmant, info.bits, False)
        elif dtypes.issubdtype(dtype, dtypes.integer):
            rank = (False, -1, -1, dtypes.iinfo(dtype).bits, dtypes.issubdtype(dtype, dtypes.signedinteger))
        elif dtype == np.bool_:
            rank = (False, -1, -1, 0, False)
        else:
            raise DTypeError(f"{name} does not accept dtype {dtypes.dtype_name(dtype)}. "
                             "Accepted dtypes are subtypes of number, bool.")
        _precision_ranks[dtype] = rank
    return rank


def canonicalize_dot_dimension_numbers(name: str, dimension_numbers: Any) -> DotDimensionNumbers:
    """Dimension numbers as nested tuples of ints.

    Args:
      name: the operation, for the message.
      dimension_numbers: a pair of pairs of sequences of axes.

    Returns:
      A pair of pairs of tuples of ints.

    Raises:
      ValueError: if they are not of the form ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)).
    """
    try:
        return _canonical_numbers[dimension_numbers]
    except (KeyError, TypeError):  # TypeError: lists
        pass
    try:
        (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
        canonical = ((tuple(map(index, lhs_contracting)), tuple(map(index, rhs_contracting))),
                     (tuple(map(index, lhs_batch)), tuple(map(index, rhs_batch))))
    except (TypeError, ValueError):
        raise ValueError(f"{name}: dimension_numbers must be ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), "
                         f"each a sequence of axes; got {dimension_numbers!r}") from None
    return _canonical_numbers.setdefault(canonical, canonical)


_canonical_numbers: dict[DotDimensionNumbers, DotDimensionNumbers] = {}


def dot_general(lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: Any, precision: PrecisionLike = None,
                preferred_element_type: DTypeLike | None = None, *,
                out_sharding: Any = None) -> Array:
    """General product: multiplies, sums over the contracting axes, keeps the batch axes paired.

    Args:
      lhs: an array of numbers or bools (and, or in place of times and plus).
      rhs: an array; of another dtype too, the result then has the one of higher precision.
      dimension_numbers: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`, each a sequence of axes;
        paired axes have equal sizes.
      precision: None, a `Precision` or its name, a pair of these, one per operand, or a `DotAlgorithm`, a
        `DotAlgorithmPreset` or its name.
      preferred_element_type: the dtype of the result, in which the compiler should accumulate.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of the dtype preferred_element_type, by default that of the operand with the higher precision, of
      shape batch + free axes of lhs + free axes of rhs.

    Raises:
      TypeError: if axes are out of range or repeated, sizes differ, or a dtype does not fit.
      ValueError: if dimension_numbers or precision is malformed.

    Example:
      >>> dot_general(np.ones((2, 3)), np.ones((3, 4)), (((1,), (0,)), ((), ()))).shape
      (2, 4)
    """
    return dot_general_p.bind(
        lhs, rhs, dimension_numbers=canonicalize_dot_dimension_numbers("dot_general", dimension_numbers),
        precision=canonicalize_precision("dot_general", precision),
        preferred_element_type=canonical_preferred("dot_general", preferred_element_type),
        out_sharding=None if out_sharding is None else _checked_out_sharding(lhs, rhs, dimension_numbers, out_sharding))


def _checked_out_sharding(lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: tuple[tuple[Any, ...], ...], out_sharding: str) -> Any:
    (lhs_contracting, _), (lhs_batch, _) = dimension_numbers
    ndim = get_aval(lhs).ndim + get_aval(rhs).ndim - 2 * len(lhs_contracting) - len(lhs_batch)
    return checked_out_sharding("dot_general", out_sharding, ndim)


def canonical_preferred(name: str, dtype: Any) -> Any:
    return None if dtype is None else dtypes.check_user_dtype_supported(dtype, name)


def dot(lhs: ArrayLike, rhs: ArrayLike, *, dimension_numbers: Any = None, precision: PrecisionLike = None,
        preferred_element_type: DTypeLike | None = None,
        out_sharding: Any = None) -> Array:
    """Product of matrices and vectors: vector-vector, matrix-vector, vector-matrix or matrix-matrix.

    Args:
      lhs: an array of shape [k] or [m, k]; any shape if dimension_numbers is given.
      rhs: an array of shape [k] or [k, n].
      dimension_numbers, precision, preferred_element_type, out_sharding: as for `dot_general`.

    Returns:
      An array of the dtype preferred_element_type, by default that of the operand with the higher precision, of
      shape lhs.shape[:-1] + rhs.shape[1:], that is [], [m], [n] or [m, n]; with dimension_numbers as for
      `dot_general`.

    Raises:
      ValueError: if the shapes are not these and dimension_numbers is not given.
      TypeError: if a dtype is neither a number's nor bool.

    Example:
      >>> dot(np.float32([[1, 2], [3, 4]]), np.float32([1, 1]))
      array([3., 7.], dtype=float32)
    """
    if dimension_numbers is None:
        lhs_shape, rhs_shape = get_aval(lhs).shape, get_aval(rhs).shape
        if not (1 <= len(lhs_shape) <= 2 and 1 <= len(rhs_shape) <= 2 and lhs_shape[-1] == rhs_shape[0]):
            raise ValueError(
                "dot: dimension_numbers must be given for anything but matrix-matrix, matrix-vector and vector-vector "
                f"products, which contract the last axis of lhs with the first of rhs; got lhs {get_aval(lhs).str_short()} "
                f"and rhs {get_aval(rhs).str_short()}")
        dimension_numbers = _VECTOR_DOT if len(lhs_shape) == 1 else _MATRIX_DOT
        return dot_general_p.bind(
            lhs, rhs, dimension_numbers=dimension_numbers, precision=canonicalize_precision("dot", precision),
            preferred_element_type=canonical_preferred("dot", preferred_element_type),
            out_sharding=None if out_sharding is None else _checked_out_sharding(lhs, rhs, dimension_numbers, out_sharding))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding)


_VECTOR_DOT = (((0,), (0,)), ((), ()))
_MATRIX_DOT = (((1,), (0,)), ((), ()))


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Matrix products over leading batch axes.

    Args:
      lhs: numbers or bools of shape [b..., m, k].
      rhs: numbers or bools of shape [b..., k, n].
      precision: as for `dot_general`.

    Returns:
      An array of shape [b..., m, n] and the dtype of the operand with the higher precision.

    Raises:
      ValueError: if an operand has fewer than two axes, or their numbers of axes differ.
      TypeError: if batch or contracted sizes differ.

    Example:
      >>> batch_matmul(np.ones((2, 1, 3), np.float32), np.ones((2, 3, 1), np.float32)).shape
      (2, 1, 1)
    """
    lhs_aval, rhs_aval = get_aval(lhs), get_aval(rhs)
    if lhs_aval.ndim < 2 or rhs_aval.ndim < 2:
        raise ValueError("batch_matmul: arguments must have at least two axes, got "
                         f"{lhs_aval.str_short()} and {rhs_aval.str_short()}")
    if lhs_aval.ndim != rhs_aval.ndim:
        raise ValueError("batch_matmul: arguments must have the same number of axes, got "
                         f"{lhs_aval.str_short()} and {rhs_aval.str_short()}")
    batch = tuple(range(lhs_aval.ndim - 2))
    return dot_general(lhs, rhs, (((lhs_aval.ndim - 1,), (lhs_aval.ndim - 2,)), (batch, batch)), precision)


# Ragged products


class RaggedDotDimensionNumbers(NamedTuple):
    """Which axes a ragged product contracts, and where its groups are.

    Args:
      dot_dimension_numbers: as for `dot_general`, of lhs and of one group of rhs.
      lhs_ragged_dimensions: the axis of lhs that is divided into groups.
      rhs_group_dimensions: the axis of rhs that numbers the groups; empty if the ragged axis is contracting or batch.

    Example:
      >>> numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,), rhs_group_dimensions=(0,))
      >>> ragged_dot_general(np.float32([[1, 2], [3, 4]]), np.float32([[[1], [0]], [[0], [1]]]), np.int32([1, 1]), numbers)
      array([[1.],
             [4.]], dtype=float32)
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]


@shape_rule(ragged_dot_general_p)
def _ragged_dot_general_shape(lhs: ShapedArray, rhs: ShapedArray, group_sizes: ShapedArray, *,
                              ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, precision: CanonicalPrecision,
                              preferred_element_type: Any, group_offset: ArrayLike | None, out_sharding: Any) -> ShapedArray:
    name = "ragged_dot_general"
    refuse_out_sharding(name, out_sharding)
    if group_offset is not None:
        raise NotImplementedError(f"{name}: group_offset is not supported, got {group_offset!r}")
    ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), ragged, group = ragged_dot_dimension_numbers
    _check_axes(name, "lhs", lhs.shape, lhs_contracting, lhs_batch)
    _check_axes(name, "rhs", rhs.shape, rhs_contracting, rhs_batch)
    _check_partners(name, "contracting", lhs.shape, rhs.shape, lhs_contracting, rhs_contracting)
    _check_partners(name, "batch", lhs.shape, rhs.shape, lhs_batch, rhs_batch)
    groups = _check_groups(name, lhs, rhs, group_sizes, ragged_dot_dimension_numbers)
    batch = tuple(lhs.shape[i] for i in lhs_batch)
    lhs_free = tuple(lhs.shape[i] for i in free_axes(lhs.ndim, lhs_contracting, lhs_batch))
    rhs_free = tuple(rhs.shape[i] for i in free_axes(rhs.ndim, rhs_contracting, rhs_batch, group))
    leading = (groups,) if ragged[0] in lhs_contracting else ()
    return ShapedArray((*leading, *batch, *lhs_free, *rhs_free),
                       contraction_dtype(name, lhs.dtype, rhs.dtype, preferred_element_type),
                       lhs.weak_type and rhs.weak_type, named_shape=joined_named_shape((lhs, rhs, group_sizes)))


def _check_groups(name: str, lhs: ShapedArray, rhs: ShapedArray, group_sizes: ShapedArray, numbers: RaggedDotDimensionNumbers) -> int:
    """Checks the ragged axis, the group axis and the group sizes; returns the number of groups."""
    ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), ragged, group = numbers
    if len(ragged) != 1:
        raise ShapeError(f"{name} expects exactly one lhs ragged dimension, got {ragged} for {lhs.str_short()}")
    if not 0 <= ragged[0] < lhs.ndim:
        raise ShapeError(f"{name} requires lhs ragged dimension numbers to be nonnegative and less than the number of axes of the lhs, "
                         f"got {ragged} for {lhs.str_short()}")
    if not dtypes.issubdtype(group_sizes.dtype, dtypes.integer):
        raise DTypeError(f"{name}: group_sizes must have an integer dtype, got {group_sizes.str_short()}")
    outer = tuple(lhs.shape[i] for i in outer_ragged_axes(lhs.ndim, numbers))
    if group_sizes.ndim == 0 or group_sizes.ndim != 1 and group_sizes.shape[:-1] != outer:
        groups = group_sizes.shape[-1] if group_sizes.ndim else "groups"
        raise ShapeError(f"{name} expected group_sizes to have shape {(*outer, groups)}, got {group_sizes.shape}, for lhs "
                         f"{lhs.str_short()} (batch axes and axes outside the ragged one, or none of them, and the groups)")
    for axis in group:
        if not 0 <= axis < rhs.ndim or axis in rhs_contracting or axis in rhs_batch:
            raise ShapeError(f"{name} requires rhs group dimension numbers to be distinct from contracting and batch dimensions, and "
                             f"axes of rhs {rhs.str_short()}; got {group}, contracting {rhs_contracting}, batch {rhs_batch}")
        if rhs.shape[axis] != group_sizes.shape[-1]:
            raise ShapeError(f"{name} expected rhs group dimension size to be {group_sizes.shape[-1]}, got {rhs.shape[axis]}, for rhs "
                             f"{rhs.str_short()} and group_sizes {group_sizes.str_short()}")
    if ragged[0] in lhs_contracting or ragged[0] in lhs_batch:
        if group:
            raise ShapeError(f"{name} requires zero group dimensions in the rhs when lhs ragged dimension is contracting or batch, got "
                             f"rhs_group_dimensions {group} with ragged axis {ragged[0]} of {lhs.str_short()}")
    elif len(group) != 1:
        raise ShapeError(f"{name} requires exactly one rhs group dimension when lhs ragged dimension is noncontracting, got {group} "
                         f"with ragged axis {ragged[0]} of {lhs.str_short()}")
    return group_sizes.shape[-1]


def outer_ragged_axes(lhs_ndim: int, numbers: RaggedDotDimensionNumbers) -> tuple[int, ...]:
    """The axes of lhs along which group sizes may differ: batch axes, then those of its kind before the ragged one."""
    ((contracting, _), (batch, _)), (ragged,), _ = numbers
    if ragged in batch:
        return batch[:batch.index(ragged)]
    kind = contracting if ragged in contracting else free_axes(lhs_ndim, contracting, batch)
    return (*batch, *kind[:kind.index(ragged)])


def ragged_dot_general(lhs: ArrayLike, rhs: ArrayLike, group_sizes: ArrayLike, ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
                       precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
                       group_offset: ArrayLike | None = None,
                       out_sharding: Any = None) -> Array:
    """General product over groups: an axis of lhs is divided into consecutive groups of given sizes.

    With a free ragged axis, [b..., m..., k...] times [g, b..., k..., n...] gives [b..., m..., n...]: rows of group i
    meet matrix i, rows after the last group give zero. With a contracting one, [b..., m..., k...] times
    [b..., k..., n...] gives [g, b..., m..., n...]: one product per group. With a batch one the groups make no difference.

    Args:
      lhs: an array.
      rhs: an array.
      group_sizes: integers, [g], or [b..., x..., g] where x are lhs's axes of the same kind before the ragged one.
      ragged_dot_dimension_numbers: see `RaggedDotDimensionNumbers`.
      precision, preferred_element_type: as for `dot_general`.
      group_offset: must be None.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`. It must be given where an
        operand is split.

    Returns:
      An array of the dtype preferred_element_type, by default that of the operand with the higher precision, of the
      shape above.

    Raises:
      TypeError: if axes, sizes or dtypes do not fit.

    Example:
      >>> numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,), rhs_group_dimensions=(0,))
      >>> rows, matrices = np.float32([[1, 2], [3, 4], [5, 6]]), np.float32([[[1], [0]], [[0], [1]]])
      >>> ragged_dot_general(rows, matrices, np.int32([1, 2]), numbers)  # the first row by the first matrix, the others by the second
      array([[1.],
             [4.],
             [6.]], dtype=float32)
    """
    dot_numbers, ragged, group = ragged_dot_dimension_numbers
    numbers = RaggedDotDimensionNumbers(canonicalize_dot_dimension_numbers("ragged_dot_general", dot_numbers),
                                        tuple(map(index, ragged)), tuple(map(index, group)))
    params = {"ragged_dot_dimension_numbers": numbers, "precision": canonicalize_precision("ragged_dot_general", precision),
              "preferred_element_type": canonical_preferred("ragged_dot_general", preferred_element_type),
              "group_offset": group_offset, "out_sharding": None}
    _, (lhs_batch, _) = numbers.dot_dimension_numbers
    if set(numbers.lhs_ragged_dimensions) & set(lhs_batch):  # every group is multiplied alike
        _ragged_dot_general_shape(get_aval(lhs), get_aval(rhs), get_aval(group_sizes), **params)
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding)
    if out_sharding is not None:
        ndim = _ragged_dot_general_shape(*map(_plain, (lhs, rhs, group_sizes)), **params).ndim
        params["out_sharding"] = checked_out_sharding("ragged_dot_general", out_sharding, ndim)
    return ragged_dot_general_p.bind(lhs, rhs, group_sizes, **params)


def _plain(x: Any) -> ShapedArray:
    """The type, without what it says of explicit mesh axes."""
    aval = get_aval(x)
    return aval if aval._plain is None else aval._plain


def ragged_dot(lhs: ArrayLike, rhs: ArrayLike, group_sizes: ArrayLike, precision: PrecisionLike = None,
               preferred_element_type: DTypeLike | None = None,
               group_offset: ArrayLike | None = None, out_sharding: Any = None) -> Array:
    """Product of groups of rows with a matrix each: row r of group i gives lhs[r] @ rhs[i].

    Args:
      lhs: an array of shape [m, k].
      rhs: an array of shape [g, k, n].
      group_sizes: integers of shape [g]; the groups follow each other from row 0, rows after the last give zero.
      precision, preferred_element_type: as for `dot_general`.
      group_offset: must be None.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`. It must be given where an
        operand is split.

    Returns:
      An array of the dtype preferred_element_type, by default that of the operand with the higher precision, of
      shape [m, n].

    Raises:
      TypeError: if axes, sizes or dtypes do not fit.

    Example:
      >>> ragged_dot(np.float32([[1, 1], [2, 2], [3, 3]]), np.float32([[[1], [1]], [[10], [10]]]), np.int32([1, 2]))
      array([[ 2.],
             [40.],
             [60.]], dtype=float32)
    """
    return ragged_dot_general(lhs, rhs, group_sizes, _RAGGED_DOT, precision, preferred_element_type, group_offset, out_sharding)


_RAGGED_DOT = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
