"""The operations of drawn programs: what they may be applied to, and what they compute.

An operation keeps values where they are well conditioned: arguments of logarithms, roots and quotients are kept away from zero, and
what jumps (comparisons, rounding, sorting positions) is applied to exact values only, since rounding may turn its result over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import laminax
import laminax.numpy as jnp
from fuzzing.programs import Kind, Step
from laminax import lax

Draw = Callable[["Drawing"], "Step | None"]


@dataclass(frozen=True)
class Operation:
    """How a step is drawn, how it is computed, and whether its result is exact when its operands are."""

    draw: Callable[[Any], Step | None]
    apply: Callable[[Step, list[Any]], Any]
    is_exact: bool


OPERATIONS: dict[str, Operation] = {}


class Drawing:
    """The values that the next step of a program may take."""

    def __init__(self, rng: np.random.Generator, kinds: Sequence[Kind], body: Callable[..., Any] | None = None) -> None:
        self.rng = rng
        self.kinds = kinds
        self.body = body  # draws a program for inputs like these, of few steps; None where there is no room for one

    def one(self, wanted: Callable[[Kind], bool] = lambda kind: True) -> int | None:
        """A value that is wanted, the newest ones more often."""
        found = [i for i, kind in enumerate(self.kinds) if wanted(kind)]
        if not found:
            return None
        weights = np.arange(1, len(found) + 1, dtype=float)
        return int(self.rng.choice(found, p=weights / weights.sum()))

    def like(self, i: int, wanted: Callable[[Kind], bool] = lambda kind: True) -> int:
        """A value of the same shape and dtype as value i."""
        kind = self.kinds[i]
        found = self.one(lambda k: (k.shape, k.dtype) == (kind.shape, kind.dtype) and wanted(k))
        return i if found is None else found

    def axis(self, i: int) -> int:
        """An axis of value i."""
        return int(self.rng.integers(len(self.kinds[i].shape)))

    def flag(self) -> bool:
        return bool(self.rng.integers(2))

    def below(self, n: int) -> int:
        return int(self.rng.integers(n))


def is_float(kind: Kind) -> bool:
    return kind.is_float


def is_exact_number(kind: Kind) -> bool:
    return kind.is_exact and kind.dtype != "bool"


def is_integer(kind: Kind) -> bool:
    return kind.is_integer


def has_axes(kind: Kind) -> bool:
    return len(kind.shape) > 0


def is_filled(kind: Kind) -> bool:
    return len(kind.shape) > 0 and 0 not in kind.shape


def operation(name: str, draw: Callable[[Drawing], Step | None], apply: Callable[..., Any], is_exact: bool = False) -> None:
    """Adds an operation whose function takes the operands, and the parameters by name."""
    OPERATIONS[name] = Operation(draw, lambda step, values: apply(*values, **step.params), is_exact)


# --- elementwise ---


def unary(name: str, apply: Callable[..., Any], wanted: Callable[[Kind], bool] = is_float, is_exact: bool = False) -> None:
    def draw(drawing: Drawing) -> Step | None:
        i = drawing.one(wanted)
        return None if i is None else Step(name, (i,))

    operation(name, draw, apply, is_exact)


def binary(name: str, apply: Callable[..., Any], wanted: Callable[[Kind], bool] = is_float, is_exact: bool = False) -> None:
    def draw(drawing: Drawing) -> Step | None:
        i = drawing.one(wanted)
        return None if i is None else Step(name, (i, drawing.like(i, wanted)))

    operation(name, draw, apply, is_exact)


def is_number(kind: Kind) -> bool:
    return kind.is_float or kind.is_integer


def is_signed(kind: Kind) -> bool:
    return kind.is_float or kind.dtype.startswith("int")


def is_bits(kind: Kind) -> bool:
    return kind.is_integer or kind.dtype == "bool"


def is_exact_float(kind: Kind) -> bool:
    return kind.is_float and kind.is_exact


for _name in ("sin", "cos", "tanh", "arctan", "arcsinh", "square", "cbrt", "sinc"):
    unary(_name, getattr(jnp, _name) if _name != "cbrt" else lambda x: jnp.cbrt(1 + x * x))
for _name in ("erf", "logistic"):
    unary(_name, getattr(lax, _name))
unary("exp", lambda x: jnp.exp(-jnp.abs(x)))
unary("expm1", lambda x: jnp.expm1(jnp.tanh(x)))
unary("log", lambda x: jnp.log(1 + x * x))
unary("log1p", lambda x: jnp.log1p(x * x))
unary("sqrt", lambda x: jnp.sqrt(1 + x * x))
unary("rsqrt", lambda x: lax.rsqrt(1 + x * x))
unary("reciprocal", lambda x: 1 / (2 + jnp.sin(x)))
unary("lgamma", lambda x: lax.lgamma(2 + jnp.tanh(x)))
unary("digamma", lambda x: lax.digamma(3 + jnp.tanh(x)))
unary("bessel_i0e", lambda x: lax.bessel_i0e(x))
unary("erf_inv", lambda x: lax.erf_inv(0.9 * jnp.tanh(x)))
unary("integer_pow", lambda x: lax.integer_pow(jnp.tanh(x), 3))
unary("softplus", lambda x: laminax.nn.softplus(x))
unary("gelu", lambda x: laminax.nn.gelu(x))
unary("neg", lax.neg, is_signed, True)
unary("abs", jnp.abs, is_signed, True)
unary("stop_gradient", lax.stop_gradient, is_number, True)
unary("optimization_barrier", lax.optimization_barrier, is_number, True)
for _name in ("floor", "ceil", "round", "sign", "trunc"):
    unary(_name, getattr(jnp, _name), is_exact_float, True)
unary("bitwise_not", lax.bitwise_not, is_bits, True)
unary("population_count", lax.population_count, is_integer, True)
unary("clz", lax.clz, is_integer, True)
unary("to_float", lambda x: x.astype(jnp.float32), is_bits, False)
unary("to_int", lambda x: (x * 4).astype(jnp.int32), is_exact_float, True)
unary("to_bool", lambda x: x > 0, is_exact_number, True)
unary("to_int8", lambda x: x.astype(jnp.int8), is_integer, True)
unary("to_uint32", lambda x: x.astype(jnp.uint32), is_integer, True)
unary("complex_abs", lambda x: jnp.abs(lax.complex(x, jnp.cos(x))))
unary("complex_product", lambda x: jnp.real(lax.complex(x, x + 1) * jnp.conj(lax.complex(1 - x, x))))
unary("complex_exp", lambda x: jnp.imag(jnp.exp(1j * x)))

binary("add", lax.add, is_number)
binary("sub", lax.sub, is_number)
binary("mul", lambda x, y: x * y if jnp.issubdtype(x.dtype, np.integer) else jnp.tanh(x) * y, is_number)
binary("div", lambda x, y: x / (1 + y * y))
binary("max", lax.max, is_number, True)
binary("min", lax.min, is_number, True)
binary("atan2", lambda x, y: jnp.arctan2(x, 1 + y * y))
binary("pow", lambda x, y: (1 + x * x) ** jnp.tanh(y))
binary("hypot", lambda x, y: jnp.hypot(x, 1 + y * y))
binary("logaddexp", jnp.logaddexp)
binary("igamma", lambda x, y: lax.igamma(1 + lax.stop_gradient(x * x), 1 + y * y))
binary("integer_div", lambda x, y: lax.div(x, jnp.where(y == 0, 3, y).astype(x.dtype)), is_integer, True)
binary("integer_rem", lambda x, y: lax.rem(x, jnp.where(y == 0, 3, y).astype(x.dtype)), is_integer, True)
binary("floor_divide", lambda x, y: y // jnp.asarray(3, x.dtype) + x // jnp.where(y == 0, 3, y).astype(x.dtype), is_integer, True)
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    binary(_name, getattr(lax, _name), is_bits, True)
binary("shift_left", lambda x, y: lax.shift_left(x, (jnp.abs(y) % 7).astype(x.dtype)), is_integer, True)
binary("shift_right", lambda x, y: lax.shift_right_logical(x, (jnp.abs(y) % 7).astype(x.dtype)), is_integer, True)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    binary(_name, getattr(lax, _name), is_exact_number, True)
binary("remainder", lambda x, y: jnp.remainder(x, jnp.where(y == 0, 1, y)), is_exact_float)


def _draw_select(drawing: Drawing) -> Step | None:
    where = drawing.one(lambda kind: kind.dtype == "bool")
    if where is None:
        return None
    i = drawing.one(lambda kind: kind.shape == drawing.kinds[where].shape)
    return None if i is None else Step("select", (where, i, drawing.like(i)))


operation("select", _draw_select, jnp.where, True)
operation("clip", lambda d: None if (i := d.one(is_number)) is None else Step("clip", (i,)), lambda x: jnp.clip(x, 0, 3), True)


# --- shapes ---


def _draw_reshape(drawing: Drawing) -> Step | None:
    i = drawing.one()
    if i is None:
        return None
    size = int(np.prod(drawing.kinds[i].shape))
    shapes = [(size,), (1, size), (size, 1)] + [(a, size // a) for a in (2, 3, 4) if size and size % a == 0]
    return Step("reshape", (i,), {"shape": shapes[drawing.below(len(shapes))]})


def with_axis(name: str, apply: Callable[..., Any], wanted: Callable[[Kind], bool] = has_axes, is_exact: bool = True,
              more: Callable[[Drawing, int], dict[str, Any]] = lambda drawing, i: {}) -> None:
    """An operation along an axis."""
    def draw(drawing: Drawing) -> Step | None:
        i = drawing.one(lambda kind: wanted(kind) and has_axes(kind))
        return None if i is None else Step(name, (i,), {"axis": drawing.axis(i)} | more(drawing, i))

    operation(name, draw, apply, is_exact)


def _with_axes(wanted: Callable[[Kind], bool]) -> Callable[[Kind], bool]:
    return lambda kind: wanted(kind) and is_filled(kind)


operation("reshape", _draw_reshape, lambda x, shape: x.reshape(shape), True)
operation("transpose", lambda d: None if (i := d.one(has_axes)) is None else Step("transpose", (i,)), lambda x: x.T, True)
with_axis("flip", lambda x, axis: jnp.flip(x, axis))
with_axis("roll", lambda x, axis, shift: jnp.roll(x, shift, axis), more=lambda d, i: {"shift": d.below(5) - 2})
with_axis("expand_dims", jnp.expand_dims, lambda kind: 0 < len(kind.shape) < 3)
with_axis("strided_slice", lambda x, axis, step: lax.slice_in_dim(x, 0, x.shape[axis], step, axis),
          more=lambda d, i: {"step": 1 + d.below(3)})
with_axis("tail", lambda x, axis: lax.slice_in_dim(x, min(1, x.shape[axis]), x.shape[axis], axis=axis), _with_axes(lambda kind: True))
with_axis("repeat", lambda x, axis: jnp.repeat(x, 2, axis), lambda kind: 0 < np.prod(kind.shape) < 16)


def _pad(x: Any, axis: int, low: int, high: int, interior: int) -> Any:
    config = [(low, high, interior) if i == axis else (0, 0, 0) for i in range(x.ndim)]
    return lax.pad(x, jnp.zeros((), x.dtype), config)


with_axis("pad", _pad, _with_axes(lambda kind: np.prod(kind.shape) < 24),
          more=lambda d, i: {"low": d.below(4) - 1, "high": d.below(3), "interior": d.below(2)})


def _draw_joined(name: str, wanted: Callable[[Kind], bool]) -> Callable[[Drawing], Step | None]:
    def draw(drawing: Drawing) -> Step | None:
        i = drawing.one(lambda kind: wanted(kind) and np.prod(kind.shape) < 20)
        return None if i is None else Step(name, (i, drawing.like(i)), {"axis": drawing.axis(i)})
    return draw


operation("concatenate", _draw_joined("concatenate", has_axes), lambda x, y, axis: jnp.concatenate([x, y], axis), True)
operation("stack", _draw_joined("stack", is_filled), lambda x, y, axis: jnp.stack([x, y], axis)[0 if axis else 1], True)
operation("broadcast",
          lambda d: None if (i := d.one(lambda k: len(k.shape) < 2 and np.prod(k.shape) < 9)) is None else Step("broadcast", (i,)),
          lambda x: jnp.broadcast_to(x, (2, *x.shape)), True)


# --- reductions, orders and sums along axes ---

for _name in ("sum", "mean", "prod_of_tanh", "var", "logsumexp", "norm"):
    with_axis(_name, {"sum": jnp.sum, "mean": jnp.mean, "prod_of_tanh": lambda x, axis: jnp.prod(1 + 0.1 * jnp.tanh(x), axis),
                      "var": jnp.var, "logsumexp": lambda x, axis: laminax.nn.logsumexp(x, axis),
                      "norm": lambda x, axis: jnp.linalg.norm(jnp.sqrt(1 + x * x), axis=axis)}[_name], _with_axes(is_float), False)
with_axis("integer_sum", lambda x, axis: jnp.sum(x, axis), is_integer)
with_axis("integer_prod", lambda x, axis: jnp.prod(x, axis), is_integer)
for _name in ("amax", "amin", "sort"):
    with_axis(_name, {"amax": jnp.max, "amin": jnp.min, "sort": jnp.sort}[_name], _with_axes(is_number))
for _name in ("argmax", "argmin", "argsort"):
    with_axis(_name, getattr(jnp, _name), _with_axes(is_exact_number))
with_axis("any", lambda x, axis: jnp.any(x != 0, axis), lambda kind: kind.is_exact)
with_axis("all", lambda x, axis: jnp.all(x != 0, axis), lambda kind: kind.is_exact)
with_axis("cumsum", lambda x, axis, reverse: lax.cumsum(x, axis, reverse), _with_axes(is_float), False, lambda d, i: {"reverse": d.flag()})
with_axis("integer_cumsum", lambda x, axis, reverse: lax.cumsum(x, axis, reverse), is_integer, True, lambda d, i: {"reverse": d.flag()})
with_axis("cummax", lambda x, axis, reverse: lax.cummax(x, axis, reverse), _with_axes(is_number), True, lambda d, i: {"reverse": d.flag()})
with_axis("cumlogsumexp", lambda x, axis: lax.cumlogsumexp(x, axis), _with_axes(is_float), False)
with_axis("softmax", lambda x, axis: laminax.nn.softmax(x, axis), _with_axes(is_float), False)
with_axis("diff", lambda x, axis: jnp.diff(x, axis=axis), _with_axes(is_float), False)
with_axis("median_of_exact", lambda x, axis: jnp.median(x, axis), _with_axes(is_exact_float), False)
with_axis("associative_scan", lambda x, axis: lax.associative_scan(lambda a, b: jnp.tanh(a) * 0.5 + b * 0.25 + a * b * 0.1, x, axis=axis),
          lambda kind: kind.is_float and is_filled(kind) and kind.shape and max(kind.shape) == 1, False)
with_axis("associative_max", lambda x, axis, reverse: lax.associative_scan(jnp.maximum, x, reverse=reverse, axis=axis),
          _with_axes(is_number), True,
          lambda d, i: {"reverse": d.flag()})
with_axis("top_k", lambda x, axis, k: lax.top_k(x, k, axis=axis)[0], _with_axes(is_number), True, lambda d, i: {"k": 1})
with_axis("max_window", lambda x, axis: lax.reduce_window(x, -jnp.inf, lax.max, tuple(2 if i == axis else 1 for i in range(x.ndim)),
                                                          (1,) * x.ndim, "SAME"), _with_axes(is_float), True)
with_axis("sum_window", lambda x, axis: lax.reduce_window(x, 0.0, lax.add, tuple(2 if i == axis else 1 for i in range(x.ndim)),
                                                          tuple(2 if i == axis else 1 for i in range(x.ndim)), "SAME"),
                                                                _with_axes(is_float), False)


# --- indexing ---


def _indices(x: Any, axis: int, start: int, step: int, count: int) -> Any:
    """Indices some of which count from the end or lie outside."""
    return jnp.arange(count) * step + start


def _draw_index(drawing: Drawing, i: int) -> dict[str, Any]:
    modes = ("clip", "fill", "wrap", None)
    return {"start": drawing.below(7) - 3, "step": drawing.below(5) - 2, "count": 1 + drawing.below(3), "mode": modes[drawing.below(4)]}


def _take(x: Any, axis: int, mode: Any, **where: int) -> Any:
    return jnp.take(x, _indices(x, axis, **where), axis, mode=mode or "clip", fill_value=1)


def _updated(x: Any, axis: int, mode: Any, kind: str, **where: int) -> Any:
    place = (slice(None),) * axis + (_indices(x, axis, **where),)
    values = jnp.ones((), x.dtype)
    return getattr(x.at[place], kind)(values, mode="clip" if mode == "clip" else "drop")


with_axis("take", _take, _with_axes(is_number), True, _draw_index)
for _kind in ("add", "set", "max", "min"):
    with_axis(f"at_{_kind}", lambda x, axis, _kind=_kind, **how: _updated(x, axis, kind=_kind, **how), _with_axes(is_number), True,
              _draw_index)


def _draw_dynamic(name: str) -> Callable[[Drawing], Step | None]:
    def draw(drawing: Drawing) -> Step | None:
        i = drawing.one(is_filled)
        start = drawing.one(lambda kind: kind.is_integer and kind.shape == ())
        return None if i is None or start is None else Step(name, (i, start), {"axis": drawing.axis(i)})
    return draw


operation("dynamic_slice", _draw_dynamic("dynamic_slice"),
          lambda x, start, axis: lax.dynamic_slice_in_dim(x, start, max(x.shape[axis] - 1, 1), axis), True)
operation("dynamic_update", _draw_dynamic("dynamic_update"),
          lambda x, start, axis: lax.dynamic_update_slice_in_dim(x, lax.slice_in_dim(x, 0, 1, axis=axis), start, axis), True)
operation("dynamic_index", _draw_dynamic("dynamic_index"), lambda x, start, axis: lax.dynamic_index_in_dim(x, start, axis,
          keepdims=False), True)
unary("one_hot", lambda x: laminax.nn.one_hot(x, 3), lambda kind: kind.is_integer and len(kind.shape) < 2 and np.prod(kind.shape) < 9, True)
unary("tril", jnp.tril, lambda kind: len(kind.shape) == 2, True)
unary("triu", lambda x: jnp.triu(x, 1), lambda kind: len(kind.shape) == 2, True)
unary("segment_sum", lambda x: laminax.ops.segment_sum(x, jnp.arange(x.shape[0]) % 3, 3),
      lambda kind: kind.is_integer and len(kind.shape) > 0, True)


# --- products and linear algebra ---


def is_matrix(kind: Kind) -> bool:
    return kind.is_float and len(kind.shape) == 2 and 0 not in kind.shape


def is_square(kind: Kind) -> bool:
    return is_matrix(kind) and kind.shape[0] == kind.shape[1] <= 4


def _definite(x: Any) -> Any:
    """A well conditioned symmetric matrix made of x."""
    x = jnp.tanh(x)
    return x @ x.T + (1 + x.shape[0]) * jnp.eye(x.shape[0], dtype=x.dtype)


binary("matmul", lambda x, y: x @ y.T, is_matrix)
binary("einsum", lambda x, y: jnp.einsum("ij,ij->i", x, y), is_matrix)
binary("outer", lambda x, y: jnp.outer(x, y), lambda kind: kind.is_float and 0 < np.prod(kind.shape) <= 4)
binary("convolve", lambda x, y: jnp.convolve(x, y, mode="same"), lambda kind: kind.is_float and len(kind.shape) == 1 and kind.shape[0] > 0)
binary("integer_dot", lambda x, y: jnp.dot(x, y), lambda kind: kind.dtype == "int32" and len(kind.shape) == 1, True)
unary("convolution", lambda x: lax.conv_general_dilated(x[None, None], jnp.tanh(x)[None, None, :2, :2], (1, 1), "SAME")[0, 0], is_matrix)
unary("cholesky", lambda x: jnp.linalg.cholesky(_definite(x)), is_square)
unary("solve", lambda x: jnp.linalg.solve(_definite(x), x), is_square)
unary("triangular_solve", lambda x: lax.linalg.triangular_solve(jnp.tril(_definite(x)), x, left_side=True, lower=True), is_square)
unary("inverse", lambda x: jnp.linalg.inv(_definite(x)), is_square)
unary("slogdet", lambda x: jnp.linalg.slogdet(_definite(x))[1], is_square)
unary("eigenvalues", lambda x: jnp.linalg.eigvalsh(_definite(x) + jnp.diag(jnp.arange(x.shape[0], dtype=x.dtype) * 9)), is_square)
unary("fft", lambda x: jnp.abs(jnp.fft.fft(x)) ** 2, lambda kind: kind.is_float and is_filled(kind))
unary("rfft", lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2, x.shape[-1]), lambda kind: kind.is_float and is_filled(kind))
unary("noise", lambda x: x + laminax.random.uniform(laminax.random.key(3), x.shape, x.dtype), is_float)
unary("random_bits", lambda x: laminax.random.bits(laminax.random.key(5), x.shape, "uint32") ^ x.astype("uint32"), is_integer, True)


# --- control flow and transformations, with programs inside ---


def nested(name: str, apply: Callable[..., Any], is_exact: bool = False, needs: Callable[[Drawing], Sequence[int] | None] | None = None,
           bodies: int = 1, leading: bool = False, without: str | None = None) -> None:
    """An operation on one value with programs inside, each of which takes that value, or a row of it, and a value beside it, and gives
    back the type of the first. `without` is the operation that they must not contain, since it has no such derivative."""
    def draw(drawing: Drawing) -> Step | None:
        if drawing.body is None:
            return None
        first = [] if needs is None else needs(drawing)
        i = drawing.one(lambda kind: kind.is_float and (not leading or is_filled(kind)))
        if first is None or i is None:
            return None
        j = drawing.one(is_number)
        kind, beside = drawing.kinds[i], drawing.kinds[j if j is not None else i]
        kind = Kind(kind.shape[1:] if leading else kind.shape, kind.dtype, False)
        made = tuple(drawing.body((kind, Kind(beside.shape, beside.dtype, beside.is_exact)), kind) for _ in range(bodies))
        if without is not None and any(program.contains(without) for program in made):
            return None
        return Step(name, (*first, i, j if j is not None else i), {}, made)

    OPERATIONS[name] = Operation(draw, lambda step, values: apply(step.bodies, *values), is_exact)


def _scalar(wanted: Callable[[Kind], bool]) -> Callable[[Drawing], Sequence[int] | None]:
    def find(drawing: Drawing) -> Sequence[int] | None:
        i = drawing.one(lambda kind: kind.shape == () and kind.is_exact and wanted(kind))
        return None if i is None else [i]
    return find


def _scan(bodies: Any, x: Any, y: Any) -> Any:
    carry, ys = lax.scan(lambda carry, _: ((new := bodies[0](carry, y)[0]), jnp.sum(new)), x, None, length=3)
    return carry + 0.125 * jnp.sum(ys)


nested("cond", lambda bodies, pred, x, y: lax.cond(pred, lambda: bodies[0](x, y)[0], lambda: bodies[1](x, y)[0]), False,
       _scalar(lambda kind: kind.dtype == "bool"), 2)
nested("switch", lambda bodies, index, x, y: lax.switch(index, [lambda x, y, body=body: body(x, y)[0] for body in bodies], x, y), False,
       _scalar(is_integer), 3)
nested("scan", _scan)
nested("scan_over_rows", lambda bodies, x, y: lax.scan(lambda total, row: (total + 0.5 * jnp.sum(new := bodies[0](row, y)[0]), new),
       jnp.zeros((), x.dtype), x)[1],
       leading=True)
nested("fori_loop", lambda bodies, x, y: lax.fori_loop(0, 3, lambda i, carry: bodies[0](carry, y)[0] + i, x))
nested("while_loop", lambda bodies, x, y: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, bodies[0](c[1], y)[0]), (0, x))[1])
nested("jit", lambda bodies, x, y: laminax.jit(bodies[0])(x, y)[0])
nested("checkpoint", lambda bodies, x, y: laminax.checkpoint(bodies[0])(x, y)[0])
nested("vmap", lambda bodies, x, y: laminax.vmap(lambda row: bodies[0](row, y)[0])(x), leading=True)
nested("map", lambda bodies, x, y: lax.map(lambda row: bodies[0](row, y)[0], x), leading=True)
nested("grad", lambda bodies, x, y: jnp.tanh(laminax.grad(lambda x: jnp.sum(bodies[0](x, y)[0]))(x)), without="while_loop")
nested("jvp", lambda bodies, x, y: jnp.tanh(laminax.jvp(lambda x: bodies[0](x, y)[0], (x,), (jnp.ones_like(x),))[1]), without="custom_vjp")
nested("custom_vjp", lambda bodies, x, y: _with_own_derivative(bodies[0])(x, y))
nested("custom_jvp", lambda bodies, x, y: _with_own_tangent(bodies[0])(x, y))
nested("composite", lambda bodies, x, y: jnp.vectorize(lambda a: jnp.sin(a) * 2)(bodies[0](x, y)[0]))


def _with_own_tangent(body: Any) -> Callable[..., Any]:
    """A function with a forward rule of its own, which is the true one."""
    f = laminax.custom_jvp(lambda x, y: body(x, y)[0])

    @f.defjvp
    def rule(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
        if jnp.issubdtype(primals[1].dtype, np.floating):
            return laminax.jvp(lambda x, y: body(x, y)[0], primals, tangents)
        return laminax.jvp(lambda x: body(x, primals[1])[0], primals[:1], tangents[:1])

    return f


def _with_own_derivative(body: Any) -> Callable[..., Any]:
    """A function with a derivative rule of its own, which is the true one computed by forward mode's transpose."""
    f = laminax.custom_vjp(lambda x, y: body(x, y)[0])
    f.defvjp(lambda x, y: (body(x, y)[0], (x, y)), lambda res, ct: (laminax.vjp(lambda x: body(x, res[1])[0], res[0])[1](ct)[0], None))
    return f


def _gathered_into(x: Any, y: Any) -> Any:
    """x, with something of y, which may be of any other type: the result of a program inside of another."""
    return jnp.tanh(x) + (0.125 * jnp.tanh(jnp.sum(y.astype(x.dtype)))).astype(x.dtype)


OPERATIONS["gathered_into"] = Operation(lambda drawing: None, lambda step, values: _gathered_into(*values), False)
