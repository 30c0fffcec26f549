"""Types of users' own for tests: quantised arrays, whose tangents are arrays; pairs, whose tangents are pairs; transposed matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import laminax.numpy as jnp
from laminax import typeof
from laminax.experimental.hijax import (
    HiPrim,
    HiType,
    MappingSpec,
    ShapedArray,
    instantiate_zeros,
    linearize_from_jvp,
    register_hitype,
    vjp_from_jvp,
)

_f32 = np.dtype("float32")


# Quantised arrays: int8 values, and one scale for each row


@dataclass(frozen=True)
class Quantized:
    values: Any
    scales: Any


@dataclass(frozen=True)
class Rows(MappingSpec):
    """Quantised arrays are mapped along their leading axis."""


@dataclass(frozen=True)
class QuantizedType(HiType):
    shape: tuple[int, ...]

    def lo_ty(self):
        return [ShapedArray(self.shape, np.dtype("int8")), ShapedArray(self.shape[:-1], _f32)]

    def lower_val(self, q):
        return [q.values, q.scales]

    def raise_val(self, values, scales):
        return Quantized(values, scales)

    def to_tangent_aval(self):
        return ShapedArray(self.shape, _f32)

    def inc_rank(self, size, spec):
        return QuantizedType((size, *self.shape))

    def dec_rank(self, size, spec):
        return QuantizedType(self.shape[1:])

    def leading_axis_spec(self):
        return Rows()

    def str_short(self, short_dtypes=False, mesh_axis_types=False):
        return f"q8[{','.join(map(str, self.shape))}]"

    __repr__ = str_short


register_hitype(Quantized, lambda q: QuantizedType(q.values.shape))


class Quantize(HiPrim):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), QuantizedType(aval.shape), {}
        super().__init__()

    def expand(self, x):
        scales = jnp.max(jnp.abs(x), axis=-1) / 127
        return Quantized(jnp.round(x / scales[..., None]).astype(np.int8), scales)

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd_retval(self, residuals, ct):
        return (ct,)

    def batch(self, axis_data, args, axes):
        return (quantize(args[0]), None) if axes[0] is None else (quantize(jnp.moveaxis(args[0], axes[0], 0)), Rows())


class Dequantize(HiPrim):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), ShapedArray(aval.shape, _f32), {}
        super().__init__()

    def expand(self, q):
        return q.values.astype(np.float32) * q.scales[..., None]

    def vjp_fwd(self, nzs_in, q):
        return self(q), None

    def vjp_bwd_retval(self, residuals, ct):
        return (ct,)

    def batch(self, axis_data, args, axes):
        return dequantize(args[0]), None if axes[0] is None else 0


def quantize(x):
    return Quantize(typeof(x))(x)


def dequantize(q):
    return Dequantize(typeof(q))(q)


def numpy_quantized(x):
    """Values and scales by NumPy, in float32 throughout."""
    scales = (np.abs(x).max(-1) / np.float32(127)).astype(np.float32)
    return np.round(x / scales[..., None]).astype(np.int8), scales


def numpy_rounded(x):
    """What is left of an array after quantisation."""
    values, scales = numpy_quantized(x)
    return values.astype(np.float32) * scales[..., None]


# Complex numbers as pairs of real ones; tangents are pairs too


@dataclass(frozen=True)
class Pair:
    re: Any
    im: Any


@dataclass(frozen=True)
class PairSpec(MappingSpec):
    axis: int


@dataclass(frozen=True)
class PairType(HiType):
    shape: tuple[int, ...]

    def lo_ty(self):
        return [ShapedArray(self.shape, _f32)] * 2

    def lower_val(self, pair):
        return [pair.re, pair.im]

    def raise_val(self, re, im):
        return Pair(re, im)

    def to_tangent_aval(self):
        return self

    def vspace_zero(self):
        return make_pair(jnp.zeros(self.shape, _f32), jnp.zeros(self.shape, _f32))

    def vspace_add(self, x, y):
        return make_pair(*[a + b for a, b in zip(parts(x), parts(y))])

    def inc_rank(self, size, spec):
        return PairType((*self.shape[:spec.axis], size, *self.shape[spec.axis:]))

    def dec_rank(self, size, spec):
        assert self.shape[spec.axis] == size
        return PairType((*self.shape[:spec.axis], *self.shape[spec.axis + 1:]))

    def leading_axis_spec(self):
        return PairSpec(0)

    def str_short(self, short_dtypes=False, mesh_axis_types=False):
        return f"pair[{','.join(map(str, self.shape))}]"


register_hitype(Pair, lambda pair: PairType(pair.re.shape))


class MakePair(HiPrim):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval, aval), PairType(aval.shape), {}
        super().__init__()

    def expand(self, re, im):
        return Pair(re, im)

    def jvp(self, primals, tangents):
        return make_pair(*primals), make_pair(*map(instantiate_zeros, tangents))

    lin, linearized = linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = vjp_from_jvp

    def transpose(self, ct, re, im):
        for accum, part in zip((re, im), parts(ct)):
            accum.accum(part)

    def batch(self, axis_data, args, axes):
        axis = next(a for a in axes if a is not None)
        re, im = [jnp.moveaxis(x, a, axis) if a is not None else jnp.repeat(jnp.expand_dims(x, axis), axis_data.size, axis)
                  for x, a in zip(args, axes)]
        return make_pair(re, im), PairSpec(axis)


class Parts(HiPrim):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), tuple(aval.lo_ty()), {}
        super().__init__()

    def expand(self, pair):
        return pair.re, pair.im

    def jvp(self, primals, tangents):
        return parts(*primals), parts(*map(instantiate_zeros, tangents))

    lin, linearized = linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = vjp_from_jvp

    def transpose(self, ct, pair):
        pair.accum(make_pair(*map(instantiate_zeros, ct)))

    def batch(self, axis_data, args, axes):
        return parts(args[0]), (axes[0].axis,) * 2


def make_pair(re, im):
    return MakePair(typeof(re))(re, im)


def parts(pair):
    return Parts(typeof(pair))(pair)


def multiply(x, y):
    """The product of two pairs as complex numbers."""
    (a, b), (c, d) = parts(x), parts(y)
    return make_pair(a * c - b * d, a * d + b * c)


# Matrices whose transposition is noted in the type and done by the product


@dataclass(frozen=True)
class Lazy:
    matrix: Any
    is_transposed: bool


@dataclass(frozen=True)
class LazyType(HiType):
    rows: int
    columns: int
    is_transposed: bool

    @property
    def stored(self):
        return ShapedArray((self.columns, self.rows) if self.is_transposed else (self.rows, self.columns), _f32)

    def lo_ty(self):
        return [self.stored]

    def lower_val(self, lazy):
        return [lazy.matrix]

    def raise_val(self, matrix):
        return Lazy(matrix, self.is_transposed)

    def to_tangent_aval(self):
        return ShapedArray((self.rows, self.columns), _f32)


register_hitype(Lazy, lambda x: LazyType(*(x.matrix.shape[::-1] if x.is_transposed else x.matrix.shape), x.is_transposed))


class Transpose(HiPrim):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), LazyType(aval.columns, aval.rows, not aval.is_transposed), {}
        super().__init__()

    def expand(self, x):
        return Lazy(x.matrix, not x.is_transposed)

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd_retval(self, residuals, ct):
        return (ct.T,)


class Product(HiPrim):
    def __init__(self, aval, vector):
        self.in_avals, self.out_aval, self.params = (aval, vector), ShapedArray((aval.rows,), _f32), {}
        super().__init__()

    def expand(self, x, v):
        return v @ x.matrix if x.is_transposed else x.matrix @ v

    def vjp_fwd(self, nzs_in, x, v):
        return self(x, v), (x, v)

    def vjp_bwd_retval(self, residuals, ct):
        x, v = residuals
        return jnp.outer(ct, v), product(transpose(x), ct)


def transpose(x):
    return Transpose(typeof(x))(x)


def product(x, v):
    return Product(typeof(x), typeof(v))(x, v)
