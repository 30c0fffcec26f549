"""Which random keys a program uses, and whether it uses one twice, for the option `debug_key_reuse`.

The keys of a program are numbered, and the numbers go through it as the keys do: operations that only arrange keys arrange
their numbers, `random_bits` and `random_split` use them up, and a number that is used up a second time is an error. Bodies of loops
are followed three times, after which what one iteration hands to the next has been seen. Keys that are chosen while the program
runs, by an index or a condition, count as new ones.
"""

from __future__ import annotations

from itertools import count
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from laminax_ir.key_arrays.keys import random_wrap_p
from laminax_ir.ops.collective_primitives import pvary_p
from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p
from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.ops.elementwise import copy_p, eq_p, ne_p, optimization_barrier_p, select_n_p
from laminax_ir.ops.indexing import gather_p, scatter_p
from laminax_ir.ops.random_bits import random_bits_p, random_clone_p, random_fold_in_p, random_seed_p, random_split_p, random_unwrap_p
from laminax_ir.ops.shape_primitives import broadcast_in_dim_p, concatenate_p, reshape_p, rev_p, split_p, squeeze_p, transpose_p
from laminax_ir.ops.sharding import device_put_p, reshard_p, sharding_constraint_p
from laminax_ir.ops.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, subjaxprs
from laminax_ir.programs.primitive import Primitive
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.tracing import source
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import KeyReuseError

_ARRANGES = {reshape_p, squeeze_p, transpose_p, slice_p, rev_p, broadcast_in_dim_p, concatenate_p, split_p}
_KEEPS = {copy_p, convert_element_type_p, device_put_p, sharding_constraint_p, reshard_p, optimization_barrier_p, pvary_p}
_MAKES = {random_seed_p, random_wrap_p, random_fold_in_p, random_clone_p}
_READS = {random_unwrap_p, eq_p, ne_p}
_CHOOSES = {dynamic_slice_p, gather_p, dynamic_update_slice_p, scatter_p, select_n_p}
_LEAVES_UNUSED = {random_split_p, random_bits_p}  # their results are new; of an unknown operation nothing is
_FOLLOWED = 3  # iterations of a loop

_Numbers = np.ndarray  # int64, of the shape of an array of keys


class KeyUses(NamedTuple):
    """The keys of a program: the numbers of those that come in, that go out, and that are used up."""
    operands: list[_Numbers | None]  # consts first; None for what is no array of keys
    results: list[_Numbers | None]
    used: set[int]


def key_uses(closed: ClosedJaxpr) -> KeyUses:
    """Follows the keys through a program.

    Raises:
      KeyReuseError: if the program uses a key twice, with the operation, its argument and the line.
    """
    walk = _Walk()
    used: set[int] = set()
    operands = [walk.made(v.aval) for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars)]
    results = walk.run(closed.jaxpr, operands, used)
    return KeyUses(operands, results, used)


class _Walk:
    def __init__(self) -> None:
        self._count = count()

    def made(self, aval: ShapedArray) -> _Numbers | None:
        """Numbers for new keys of this type; None if it is no array of keys."""
        if not dtypes.is_extended(getattr(aval, "dtype", None)):
            return None
        return np.array([next(self._count) for _ in range(aval.size)], np.int64).reshape(aval.shape)

    def run(self, jaxpr: Jaxpr, operands: Sequence[_Numbers | None], used: set[int]) -> list[_Numbers | None]:
        """The numbers of a program's results, given those of its constants and arguments; adds to what is used."""
        env = dict(zip((*jaxpr.constvars, *jaxpr.invars), operands))

        def numbers(atom: Any) -> Any:
            return self.made(atom.aval) if type(atom) is Literal else env[atom]

        for eqn in jaxpr.eqns:
            env.update(zip(eqn.outvars, self._equation(eqn, [numbers(v) for v in eqn.invars], used)))
        return [numbers(v) for v in jaxpr.outvars]

    def _equation(self, eqn: JaxprEqn, operands: list[_Numbers | None], used: set[int]) -> Sequence[_Numbers | None]:
        primitive, has_keys = eqn.primitive, any(x is not None for x in operands)
        if (follow := _CONTROL_FLOW.get(primitive)) is not None:
            return follow(self, eqn, operands, used)
        if inner := subjaxprs(eqn):
            return self._call(eqn, inner, operands, used)
        if primitive in _ARRANGES and has_keys:
            result = reference_rule[primitive](*operands, **eqn.params)
            return result if primitive.multiple_results else [result]
        if primitive in _KEEPS and has_keys:
            return operands[:len(eqn.outvars)]
        results = [self.made(v.aval) for v in eqn.outvars]
        if primitive in _READS or primitive in _MAKES:
            return results
        if primitive in _CHOOSES:
            self._mark(results, used, all(n in used for x in operands if x is not None for n in x.flat))
            return results
        for i, x in enumerate(operands):
            if x is not None:
                _check_unused(eqn, i, x, set(x.flat), used)
                used.update(x.flat)
        self._mark(results, used, primitive not in _LEAVES_UNUSED)
        return results

    def _mark(self, results: Sequence[_Numbers | None], used: set[int], are_used: bool) -> None:
        if are_used:
            used.update(n for x in results if x is not None for n in x.flat)

    def _call(self, eqn: JaxprEqn, inner: list[Jaxpr], operands: list[_Numbers | None], used: set[int]) -> Sequence[_Numbers | None]:
        jaxpr = inner[0]
        results: Sequence[_Numbers | None]
        inside: set[int]
        if len(inner) > 1 or len(jaxpr.invars) != len(operands):  # rules beside a program: each is followed by itself
            for jaxpr in inner:
                self._inside(jaxpr, [None] * len(jaxpr.invars), set())
            results = [self.made(v.aval) for v in eqn.outvars]
            inside = {n for x in operands if x is not None for n in x.flat}
        else:
            inside = set()
            results = self._inside(jaxpr, operands, inside, eqn.outvars)
        if not eqn.params.get("differentiated"):  # a recomputation by checkpoint uses the same keys, on purpose
            self._check_operands(eqn, operands, inside, used)
        used |= inside
        return results

    def _inside(self, jaxpr: Jaxpr, operands: Sequence[_Numbers | None], inside: set[int],
                outvars: Sequence | None = None) -> list[_Numbers | None]:
        """Follows a called program. A program per device has keys of its own; if it uses one, all keys of the whole array count as used."""
        own = [x if x is not None and x.shape == v.aval.shape else self.made(v.aval) for x, v in zip(operands, jaxpr.invars)]
        results = self.run(jaxpr, [*(self.made(v.aval) for v in jaxpr.constvars), *own], inside)
        for x, part in zip(operands, own):
            if x is not None and part is not None and part is not x and any(n in inside for n in part.flat):
                inside.update(x.flat)
        for i, v in enumerate(outvars or ()):
            if (x := results[i]) is not None and x.shape != v.aval.shape:
                whole = [self.made(v.aval)]
                self._mark(whole, inside, any(n in inside for n in x.flat))
                results[i] = whole[0]
        return results

    def _check_operands(self, eqn: JaxprEqn, operands: Sequence[_Numbers | None], inside: set[int], used: set[int]) -> None:
        for i, x in enumerate(operands):
            if x is not None:
                _check_unused(eqn, i, x, inside, used)

    def _cond(self, eqn: JaxprEqn, operands: list[_Numbers | None], used: set[int]) -> Sequence[_Numbers | None]:
        inside: set[int] = set()
        results = []
        for branch in eqn.params["branches"]:
            in_branch: set[int] = set()
            results.append(self._inside(branch.jaxpr, operands[1:], in_branch))
            inside |= in_branch
        self._check_operands(eqn, operands, inside, used)
        used |= inside
        return [self._either(v.aval, found, used) for v, found in zip(eqn.outvars, zip(*results))]

    def _either(self, aval: ShapedArray, found: Sequence[_Numbers | None], used: set[int]) -> _Numbers | None:
        keys = [x for x in found if x is not None]  # all or none: the branches have results of one type
        if not keys or all(np.array_equal(keys[0], x) for x in keys[1:]):
            return found[0]
        made = self.made(aval)
        self._mark([made], used, any(n in used for x in keys for n in x.flat))
        return made

    def _scan(self, eqn: JaxprEqn, operands: list[_Numbers | None], used: set[int]) -> Sequence[_Numbers | None]:
        length, consts, carries = (eqn.params[name] for name in ("length", "num_consts", "num_carry"))
        carry, xs = operands[consts:consts + carries], operands[consts + carries:]
        inside: set[int] = set()
        ys: Sequence[_Numbers | None] = ()
        for step in range(min(length, _FOLLOWED)):
            rows = [None if x is None else x[step] for x in xs]
            outs = self._iteration(step, "scan body", eqn, eqn.params["jaxpr"].jaxpr, [*operands[:consts], *carry, *rows], inside)
            carry, ys = outs[:carries], outs[carries:]
        for x in xs:
            if x is not None and length and any(n in inside for n in x[0].flat):
                inside.update(x.flat)
        self._check_operands(eqn, operands, inside, used)
        used |= inside
        results = [self.made(v.aval) for v in eqn.outvars[carries:]]
        for y, stacked in zip(ys, results):
            self._mark([stacked], used, y is not None and any(n in used for n in y.flat))
        return [*carry, *results]

    def _while(self, eqn: JaxprEqn, operands: list[_Numbers | None], used: set[int]) -> Sequence[_Numbers | None]:
        of_cond = eqn.params["cond_nconsts"]
        consts = of_cond + eqn.params["body_nconsts"]
        carry = operands[consts:]
        inside: set[int] = set()
        for step in range(_FOLLOWED):
            before = {n for x in (*operands[:of_cond], *carry) if x is not None for n in x.flat}
            in_cond: set[int] = set()
            self._inside(eqn.params["cond_jaxpr"].jaxpr, [*operands[:of_cond], *carry], in_cond)
            if before & in_cond:
                raise KeyReuseError("while_loop cond function leads to key reuse when repeatedly executed: "
                                    "it uses up a random key of the loop, which the body and the next iteration have as well. "
                                    f"Make the keys for it in the body.{_place(eqn)}")
            carry = self._iteration(step, "while_loop body", eqn, eqn.params["body_jaxpr"].jaxpr, [*operands[of_cond:consts], *carry],
                                    inside)
        self._check_operands(eqn, operands, inside, used)
        used |= inside
        return carry

    def _iteration(self, step: int, what: str, eqn: JaxprEqn, body: Jaxpr, operands: Sequence[_Numbers | None], inside: set[int]) -> list:
        try:
            return self._inside(body, operands, inside)
        except KeyReuseError as error:
            if not step:
                raise
            raise KeyReuseError(f"{what} function leads to key reuse when repeatedly executed: "
                                f"iteration {step + 1} uses a random key that an earlier one has used. Split the key in the body and carry "
                                f"one of the new ones on, or loop over an array of keys.{_place(eqn)} What used it again: "
                                f"{error}") from None


_CONTROL_FLOW: dict[Primitive, Callable] = {cond_p: _Walk._cond, scan_p: _Walk._scan, while_p: _Walk._while}


def _check_unused(eqn: JaxprEqn, i: int, numbers: _Numbers, uses: set[int], used: set[int]) -> None:
    if any(n in uses and n in used for n in numbers.flat):
        raise KeyReuseError(f"In {eqn.primitive.name}, argument {i} is already consumed: the random key has been used before, "
                            "and gives the same numbers again. Make a new key for each use with random.split, or use random.clone(key) "
                            f"where the same numbers are meant.{_place(eqn)}")


def _place(eqn: JaxprEqn) -> str:
    place = source.summarize(eqn.source_info)
    return f" Used again at {place}." if place else ""
