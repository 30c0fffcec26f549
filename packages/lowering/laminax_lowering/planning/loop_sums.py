"""Moves sums of products out of loops: what a loop adds up round by round becomes one product after it.

The derivative of a recurrent network by its weights is a sum of products over time, dW += a_t b_t'. Each round reads and writes the whole
of dW for a few multiplications. After the loop, with the a_t and b_t of all rounds side by side, it is one product that
contracts time too. Of the a_t and b_t, most are the loop's inputs anyway; the others become results of the loop.

Milliseconds of one core, f32, jaxlib 0.12, in the loop -> after it: the gradient of an LSTM, 50 steps, batch 8, of 256 units 46 -> 20, of
64 units 1.8 -> 1.8; of a GRU, 100 steps of one sequence, of 256 units 7.5 -> 4.5, of 64 units 0.44 -> 0.32. Compiling takes as long.
What counts is units to each example of the batch: of GRUs and LSTMs of 64 to 512 units, batches of 4 to 64 and 50 or 64 steps, those with
2 units take 1.07 to 1.10 of the time, with 4 0.91 to 1.03, with 8 0.75 to 1.14, with 16 or 32 0.62 to 0.95. What is kept is memory, up to
a fifth more than the derivative needs otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.contraction import dot_general_p
from laminax_ir.ops.elementwise import add_p
from laminax_ir.programs.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from laminax_lowering.planning.operation_costs import num_bytes

# A sum of fewer numbers, or of fewer than so many to each number that is kept for it, is as fast inside the loop.
MIN_SIZE, MIN_RATIO = 1024, 8
# More products to one sum are as fast together, in one pass over it: four of a Runge-Kutta step, 128 by 128, 3.7 ms there and 4.3 after.
MAX_TERMS = 2

_FLOATS = frozenset(map(np.dtype, (np.float32, np.float64)))


def with_sums_after_loop(eqn: JaxprEqn) -> ClosedJaxpr | None:
    """The program of a scan, a function of its operands, with the sums that gain by it after the loop; None if there are none.

    What is kept for the sums has at most the size of the loop's inputs, which for a derivative are the values kept by its forward loop.
    """
    params = eqn.params
    closed, length, n_consts, n_carry = params["jaxpr"], params["length"], params["num_consts"], params["num_carry"]
    if type(length) is not int or length < 2 or closed.effects:
        return None
    body = _Body(closed, n_consts, n_carry)
    sums = {i: terms for i in range(n_carry) if (terms := body.terms_of(i)) is not None}
    kept = list(dict.fromkeys(v for terms in sums.values() for term in terms for v in term.invars if v not in body.xs))
    if not sums or length * sum([num_bytes(v.aval) for v in kept]) > sum([num_bytes(v.aval) for v in eqn.invars[n_consts + n_carry:]]):
        return None
    return _rewritten(eqn, body, sums, kept)


class _Body:
    """The body of a scan, and where its variables come from and go."""

    def __init__(self, closed: ClosedJaxpr, n_consts: int, n_carry: int) -> None:
        self.closed = closed
        jaxpr = closed.jaxpr
        self.n_consts, self.n_carry = n_consts, n_carry
        self.carry, self.xs = jaxpr.invars[n_consts:n_consts + n_carry], jaxpr.invars[n_consts + n_carry:]
        self.made_by = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
        self.uses = Counter(v for vs in (*(eqn.invars for eqn in jaxpr.eqns), jaxpr.outvars) for v in vs if type(v) is not Literal)
        self.fixed = {*jaxpr.constvars, *jaxpr.invars[:n_consts]}

    def terms_of(self, i: int) -> list[JaxprEqn] | None:
        """The products whose sum is added to a part of the carry in each round; None if it is no such sum, or not worth it."""
        start, end = self.carry[i], self.closed.jaxpr.outvars[i]
        if start.aval.dtype not in _FLOATS or math.prod(start.aval.shape) < MIN_SIZE or self.uses[start] != 1:
            return None
        terms, todo = [], [end]
        while todo:
            v = todo.pop()
            if v is start:
                continue
            made = self.made_by.get(v) if type(v) is not Literal and self.uses[v] == 1 else None
            if made is None:
                return None
            if made.primitive is add_p and all(x.aval.shape == v.aval.shape for x in made.invars):
                todo += made.invars
            elif made.primitive is dot_general_p and not any(type(x) is Literal or x in self.fixed for x in made.invars):
                terms.append(made)
            else:
                return None
        new = sum([math.prod(x.aval.shape) for term in terms for x in term.invars if x not in self.xs])
        is_sum = start is not end and 1 <= len(terms) <= MAX_TERMS and all(term.outvars[0].aval.dtype == start.aval.dtype for term in terms)
        return terms if is_sum and math.prod(start.aval.shape) >= MIN_RATIO * new else None


def _rewritten(eqn: JaxprEqn, body: _Body, sums: dict[int, list[JaxprEqn]], kept: Sequence[Atom]) -> ClosedJaxpr:
    """The program of the smaller loop, and of the sums after it."""
    jaxpr, length, n_consts, n_carry = body.closed.jaxpr, eqn.params["length"], body.n_consts, body.n_carry
    invars = [Var(v.aval) for v in eqn.invars]
    results = [Var(v.aval) for v in eqn.outvars]
    stacks: dict[Any, Var] = {v: Var(v.aval.update(shape=(length, *v.aval.shape))) for v in kept}
    stacks.update(zip(body.xs, invars[n_consts + n_carry:]))
    carried = [i for i in range(n_carry) if i not in sums]
    outvars = [*[jaxpr.outvars[i] for i in carried], *jaxpr.outvars[n_carry:], *kept]
    without = jaxpr.replace(
        invars=[*jaxpr.invars[:n_consts], *[body.carry[i] for i in carried], *body.xs], outvars=outvars, eqns=_needed(jaxpr, outvars))
    operands = [*invars[:n_consts], *[invars[n_consts + i] for i in carried], *invars[n_consts + n_carry:]]
    loop = eqn.replace(
        invars=operands, outvars=[*[results[i] for i in carried], *results[n_carry:], *[stacks[v] for v in kept]],
        params={**eqn.params, "jaxpr": ClosedJaxpr(without, body.closed.consts), "num_carry": len(carried)})
    eqns = [loop]
    for i, terms in sums.items():
        total = invars[n_consts + i]
        for number, term in enumerate(terms):
            product = Var(term.outvars[0].aval)
            eqns.append(term.replace(invars=[stacks[v] for v in term.invars], outvars=[product], params=_over_time(term.params)))
            after = results[i] if number == len(terms) - 1 else Var(results[i].aval)
            eqns.append(JaxprEqn([total, product], [after], add_p, {}, source_info=term.source_info))
            total = after
    return ClosedJaxpr(Jaxpr([], invars, results, eqns))


def _needed(jaxpr: Jaxpr, outvars: Sequence[Any]) -> list[JaxprEqn]:
    """The equations that some results need, in order."""
    used, found = set(outvars), []
    for eqn in reversed(jaxpr.eqns):
        if not used.isdisjoint(eqn.outvars):
            found.append(eqn)
            used.update(v for v in eqn.invars if type(v) is not Literal)
    return found[::-1]


def _over_time(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a product of stacks, whose first axes are contracted as well."""
    (contracting, batch) = params["dimension_numbers"]
    contracting = tuple([(0, *[axis + 1 for axis in axes]) for axes in contracting])
    return {**params, "dimension_numbers": (contracting, tuple([tuple([axis + 1 for axis in axes]) for axes in batch]))}
