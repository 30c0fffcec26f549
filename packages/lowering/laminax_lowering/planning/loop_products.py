"""Moves products out of loops: what a loop multiplies with a fixed matrix, input by input, is one product before it.

A recurrent network multiplies each input of its sequence with weights, w x_t, and reads all of w for it. Before the loop, with the x_t of
all rounds side by side, it is one product of two matrices, which reads w once for many inputs. The products of all rounds are memory.

Milliseconds of one core, f32, jaxlib 0.12, in the loop -> before it, of GRUs of 50 to 100 steps:

  units                    64             128            256            512
  one sequence        0.098 -> 0.078  0.35 -> 0.28   1.81 -> 1.06   14.1 -> 7.6
    its gradient      0.22 -> 0.21    0.82 -> 0.71   3.5 -> 2.8     23.6 -> 17.1
  batches of 4        0.39 -> 0.27                   2.7 -> 2.0     18.4 -> 10.8
  batches of 8        0.58 -> 0.47                   4.9 -> 3.8     26.1 -> 16.6
  batches of 16                                      8.3 -> 7.2

Of 32 units it takes as long, and compiling takes as long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from laminax_ir.ops.contraction import dot_general_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from laminax_lowering.planning.operation_costs import num_bytes

MIN_LENGTH = 8  # rounds
MIN_WEIGHTS = 4096  # numbers of the fixed matrix; of fewer it is as fast in the loop
MAX_ROWS = 16  # of an input; a product of more rows reads the matrix for many numbers anyway
MAX_GROWTH, MAX_BYTES = 4, 1 << 26  # what the products may take: times the memory of the inputs, and in all

_FLOATS = frozenset(map(np.dtype, (np.float32, np.float64)))


@dataclass(frozen=True)
class _Product:
    """A product of the loop's body: its equation, the number of its input among those that are scanned, the other's among the constants,
    and the contracted axis of each."""
    eqn: JaxprEqn
    x: int
    fixed: int
    x_axes: tuple[int, ...]
    fixed_axes: tuple[int, ...]


def with_products_before_loop(eqn: JaxprEqn) -> ClosedJaxpr | None:
    """The program of a scan, a function of its operands, with the products that gain by it before the loop; None if there are none."""
    params = eqn.params
    closed, length, n_consts, n_carry = params["jaxpr"], params["length"], params["num_consts"], params["num_carry"]
    if type(length) is not int or length < MIN_LENGTH or closed.effects:
        return None
    fixed = {v: i for i, v in enumerate(closed.jaxpr.invars[:n_consts])}
    xs = {v: i for i, v in enumerate(closed.jaxpr.invars[n_consts + n_carry:])}
    products = [p for e in closed.jaxpr.eqns if e.primitive is dot_general_p and (p := _product(e, fixed, xs)) is not None]
    read = sum([num_bytes(v.aval) for v in {closed.jaxpr.invars[n_consts + n_carry + p.x] for p in products}])
    if not products or length * sum([num_bytes(p.eqn.outvars[0].aval) for p in products]) > min(MAX_GROWTH * length * read, MAX_BYTES):
        return None
    return _rewritten(eqn, products)


def _product(eqn: JaxprEqn, fixed: dict[Any, int], xs: dict[Any, int]) -> _Product | None:
    """What an equation multiplies, if it is an input with a fixed matrix, of a size at which it is worth it."""
    (contracting, batch), operands = eqn.params["dimension_numbers"], eqn.invars
    place = next((i for i, v in enumerate(operands) if type(v) is not Literal and v in xs), None)
    if place is None or batch != ((), ()):
        return None
    x, other = operands[place], operands[1 - place]
    if type(other) is Literal or other not in fixed or {x.aval.dtype, other.aval.dtype, eqn.outvars[0].aval.dtype} - {x.aval.dtype}:
        return None
    axes = tuple(contracting[place]), tuple(contracting[1 - place])
    rows = math.prod([n for i, n in enumerate(x.aval.shape) if i not in axes[0]])
    if x.aval.dtype not in _FLOATS or rows > MAX_ROWS or other.aval.size < MIN_WEIGHTS:
        return None
    if place == 1 and x.aval.ndim > len(axes[0]) and other.aval.ndim > len(axes[1]):  # the axes of the matrix come first in the result
        return None
    return _Product(eqn, xs[x], fixed[other], *axes)


def _rewritten(eqn: JaxprEqn, products: list[_Product]) -> ClosedJaxpr:
    """The program of the products, and of the loop that reads them."""
    params, closed = eqn.params, eqn.params["jaxpr"]
    jaxpr, length, first_x = closed.jaxpr, params["length"], params["num_consts"] + params["num_carry"]
    invars, results = [Var(v.aval) for v in eqn.invars], [Var(v.aval) for v in eqn.outvars]
    before, stacks, made = [], [], {id(p.eqn) for p in products}
    for p in products:
        out = p.eqn.outvars[0].aval
        stacks.append(Var(out.update(shape=(length, *out.shape))))
        contracting = tuple([axis + 1 for axis in p.x_axes]), p.fixed_axes
        before.append(p.eqn.replace(invars=[invars[first_x + p.x], invars[p.fixed]], outvars=[stacks[-1]],
                                    params={**p.eqn.params, "dimension_numbers": (contracting, ((), ()))}))
    eqns = [e for e in jaxpr.eqns if id(e) not in made]
    used: set[Any] = {v for e in eqns for v in e.invars if type(v) is not Literal} | {v for v in jaxpr.outvars if type(v) is not Literal}
    kept = [i for i, v in enumerate(jaxpr.invars) if i < first_x or v in used]
    body = jaxpr.replace(invars=[*[jaxpr.invars[i] for i in kept], *[p.eqn.outvars[0] for p in products]], eqns=eqns)
    loop = eqn.replace(invars=[*[invars[i] for i in kept], *stacks], outvars=results,
                       params={**params, "jaxpr": ClosedJaxpr(body, closed.consts)})
    return ClosedJaxpr(Jaxpr([], invars, results, [*before, loop]))
