"""Checks in compiled functions: a function is traced, and its program run with a record of the first check that failed.

Checks are operations (`laminax_ir.ops.checks`). `checkify` interprets the program: the record is a value like any other, carried
through calls, branches and loops, so that what comes out can be compiled, mapped and differentiated.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import reduction
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.calls import checkpoint_p, custom_jvp_call_p, custom_vjp_call_p, jit_p
from laminax_ir.ops.checks import DivisionByZeroError, ErrorCategory, NaNError, OOBError, Site, check_p, checks_indices, index_message
from laminax_ir.ops.control_flow import cond_p, platform_switch, scan_p, switch, while_p
from laminax_ir.ops.elementwise import div_p
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shard_map import bind_shard_map, shard_map_p
from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, subjaxprs
from laminax_ir.programs.primitive import Primitive
from laminax_ir.pytrees.pytree import tree_flatten, tree_map, tree_unflatten
from laminax_ir.recording.discharge import pure_program
from laminax_ir.recording.staging import stage
from laminax_ir.tracing import source
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_hashable
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_transforms.checking.failures import Error, all_checks, user_checks
from laminax_transforms.checking.windows import WINDOW_POSITIONS, any_of, element, first_outside
from laminax_transforms.custom.custom_jvp import custom_jvp
from laminax_transforms.custom.custom_vjp import custom_vjp
from laminax_transforms.differentiation.autodiff import jvp, vjp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike
    from laminax_transforms.differentiation.autodiff import VJPFunction


class _Record(NamedTuple):
    """The part of an Error that changes while the program runs: scalars, or arrays with one entry for each device."""
    failed: Any
    code: Any
    payloads: tuple[tuple[Any, ...], ...]


def checkify(f: Callable, errors: frozenset[ErrorCategory] = user_checks) -> Callable:
    """Makes a function return, beside its result, which check failed first.

    Args:
      f: a function of pytrees of arrays. Bools of Python and what is no array are as they are when it is traced.
      errors: which checks are made: `user_checks`, `nan_checks`, `div_checks`, `index_checks`, `float_checks` (of NaNs and divisions),
        `automatic_checks` (those and indices), `all_checks`, or several of them joined with |.

    Returns:
      A function that takes f's arguments and returns `(error, result)`.

    Raises:
      ValueError: if there is no such category of checks.

    Example:
      >>> error, y = jit(checkify(f))(x)
      >>> error.throw()
    """
    check_hashable("checkify", "a category in errors", *errors)
    errors = frozenset(errors)
    if not errors <= all_checks:
        raise ValueError(f"checkify: unknown categories of errors {set(errors - all_checks)}")

    @api_boundary
    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        given_leaves, tree = tree_flatten((args, kwargs))
        is_static = [isinstance(x, bool) or not is_array_like(x) for x in given_leaves]
        leaves = [x for x, static in zip(given_leaves, is_static) if not static]
        trees: list[Any] = []

        def flat(*values: ArrayLike) -> list[Array]:
            found = iter(values)
            given, named = tree_unflatten(tree, [x if static else next(found) for x, static in zip(given_leaves, is_static)])
            results, out_tree = tree_flatten(f(*given, **named))
            trees.append(out_tree)
            return results
        with checks_indices(OOBError in errors):
            closed = stage(flat, [get_aval(x) for x in leaves], getattr(f, "__name__", "checkify"), keeps_refs=True)
        values, write_back = leaves, None
        if has_refs(closed.effects):
            closed, values, write_back = pure_program(closed, leaves)
        found = list(_sites(closed.jaxpr, errors))
        sites = tuple(site for _, _, site, _ in found)
        run = _Interpreter({(eqn, category): i for i, (eqn, category, _, _) in enumerate(found)}, [avals for _, _, _, avals in found])
        results, record = run.closed(closed, values, run.no_failure())
        if write_back is not None:
            results = write_back(results)
        return Error(*record, sites), tree_unflatten(trees[0], results)
    return checked


def _sites(jaxpr: Jaxpr, errors: frozenset) -> Iterator[tuple[int, ErrorCategory, Site, list[ShapedArray]]]:
    """Every check that the program makes: the equation's identity, the category, the site, and what it shows."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is check_p:
            if eqn.params["site"].category in errors:
                yield id(eqn), eqn.params["site"].category, eqn.params["site"], [v.aval for v in eqn.invars[1:]]
            continue
        inner = _entered(eqn)
        if inner:
            for sub in inner:
                yield from _sites(sub, errors)
            continue
        where = source.summarize(eqn.source_info)
        if OOBError in errors and eqn.primitive in WINDOW_POSITIONS:
            yield id(eqn), OOBError, Site(OOBError, index_message(eqn.invars[0].aval.shape, where)), [ShapedArray((3,), np.dtype(np.int32))]
        if DivisionByZeroError in errors and eqn.primitive is div_p and _is_float(eqn.invars[1].aval):
            yield id(eqn), DivisionByZeroError, Site(DivisionByZeroError, f"division by zero at {where}"), []
        if NaNError in errors and any(_is_float(v.aval) for v in eqn.outvars):
            yield id(eqn), NaNError, Site(NaNError, f"nan generated by primitive: {eqn.primitive} at {where}"), []


def _is_float(aval: ShapedArray) -> bool:
    return dtypes.issubdtype(aval.dtype, dtypes.inexact)


def _entered(eqn: JaxprEqn) -> list[Jaxpr]:
    """The programs of an equation that are interpreted."""
    if eqn.primitive in (custom_jvp_call_p, custom_vjp_call_p):
        return [eqn.params["call_jaxpr"].jaxpr]
    return subjaxprs(eqn) if eqn.primitive in (jit_p, checkpoint_p, cond_p, scan_p, while_p, shard_map_p) else []


class _Interpreter:
    """Runs programs with the record.

    Args:
      numbers: the number of the site of an equation and category.
      payload_avals: for each site the types of what it shows.
      keeps_devices: whether a program per device makes a record for each device; within loops, branches and programs per device, where
        the record has one type throughout, that of the first device that has failed counts.
    """

    def __init__(self, numbers: dict[tuple[int, ErrorCategory], int], payload_avals: list[list[ShapedArray]],
                 keeps_devices: bool = True) -> None:
        self.numbers = numbers
        self.payload_avals = payload_avals
        self.keeps_devices = keeps_devices
        self.inside = _Interpreter(numbers, payload_avals, False) if keeps_devices else self

    def no_failure(self) -> _Record:
        """The record before any check."""
        return _Record(shape_ops.full((), False, np.bool_), shape_ops.full((), 0, np.int32),
                       tuple(tuple(shape_ops.full(a.shape, 0, a.dtype) for a in avals) for avals in self.payload_avals))

    def closed(self, closed: ClosedJaxpr, args: list[Any], record: _Record) -> tuple[list[Any], _Record]:
        jaxpr = closed.jaxpr
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts))
        env.update(zip(jaxpr.invars, args))
        read = lambda v: v.val if type(v) is Literal else env[v]  # noqa: E731
        for eqn in jaxpr.eqns:
            results, record = self.equation(eqn, [read(v) for v in eqn.invars], record)
            env.update(zip(eqn.outvars, results))
        return [read(v) for v in jaxpr.outvars], record

    def equation(self, eqn: JaxprEqn, operands: list[Any], record: _Record) -> tuple[list[Any], _Record]:
        primitive, params = eqn.primitive, eqn.params
        if primitive is check_p:
            return [], self.noted(eqn, params["site"].category, op.bitwise_not(operands[0]), record, operands[1:])
        if _entered(eqn):
            if primitive in (cond_p, scan_p, while_p):
                return self.control_flow(primitive, params, operands, record)
            if primitive is shard_map_p:
                return self.per_device(params, operands, record)
            if primitive in (custom_jvp_call_p, custom_vjp_call_p):
                return self.with_rule(eqn, operands, record)
            return self.closed(params["jaxpr"], operands, record)
        out = primitive.bind(*operands, **params)
        results = list(out) if primitive.multiple_results else [out]
        if primitive in WINDOW_POSITIONS and (id(eqn), OOBError) in self.numbers:
            is_outside, payload = first_outside(primitive, operands, params)
            record = self.noted(eqn, OOBError, is_outside, record, [payload])
        if primitive is div_p:
            record = self.noted(eqn, DivisionByZeroError, lambda: any_of(op.eq(operands[1], scalar_like(0, get_aval(operands[1]).dtype))),
                                record)
        return results, self.noted(eqn, NaNError, lambda: _any_nan(results), record)

    def noted(self, eqn: JaxprEqn, category: ErrorCategory, failed: Any, record: _Record, payload: Sequence[Any] = ()) -> _Record:
        """The record after a check; the first failure stays."""
        number = self.numbers.get((id(eqn), category))
        if number is None:
            return record
        has_failed = failed() if callable(failed) else failed
        if _count(record):
            payloads = [tuple(payload) if i == number else old for i, old in enumerate(self.no_failure().payloads)]
            return _merged(record, _Record(has_failed, shape_ops.full((), number, np.int32), tuple(payloads)))
        is_new = has_failed & ~record.failed
        payloads = list(record.payloads)
        payloads[number] = tuple(_chosen(is_new, x, old) for x, old in zip(payload, payloads[number]))
        return _Record(record.failed | is_new, _chosen(is_new, np.int32(number), record.code), tuple(payloads))

    def checks(self, jaxpr: Jaxpr) -> bool:
        """Whether anything is checked in a program."""
        inside = set(map(id, _equations(jaxpr)))
        return any(eqn_id in inside for eqn_id, _ in self.numbers)

    def with_rule(self, eqn: JaxprEqn, operands: list[Any], record: _Record) -> tuple[list[Any], _Record]:
        """A function with a derivative rule, which remains: what is checked in the function is not checked in the rule."""
        closed = eqn.params["call_jaxpr"]
        if not self.checks(closed.jaxpr):
            return list(eqn.primitive.bind(*operands, **eqn.params)), record

        def run(*operands: float) -> tuple[list[Array], _Record]:
            return self.inside.closed(closed, list(operands), self.no_failure())

        def run_original(*operands: ArrayLike) -> list[Array]:
            return list(eqn.primitive.bind(*operands, **eqn.params))

        checked: custom_jvp | custom_vjp
        if eqn.primitive is custom_jvp_call_p:
            checked = custom_jvp(run)

            @checked.defjvp
            def _rule(primals: tuple[Array, ...], tangents: tuple[ArrayLike, ...]) -> tuple[tuple[Any, _Record], tuple[Any, _Record]]:
                results, tangents = jvp(run_original, primals, tangents)
                unfailed = self.no_failure()
                return (results, unfailed), (tangents, tree_map(_no_tangent, unfailed))
        else:
            checked = custom_vjp(run)

            def forward(*operands: Array) -> tuple[tuple[Any, _Record], VJPFunction]:
                results, pullback = vjp(run_original, *operands)
                return (results, self.no_failure()), pullback

            checked.defvjp(forward, lambda pullback, cts: pullback(cts[0]))
        results, inner = checked(*operands)
        return results, _merged(record, inner)

    def per_device(self, params: Any, operands: Any, record: Any) -> Any:
        """Each device keeps a record."""
        closed, unchecked = params["jaxpr"], params.get("unchecked_axes", ())
        if not self.checks(closed.jaxpr):
            return list(shard_map_p.bind(*operands, **params)), record
        fields, tree = tree_flatten(self.no_failure())

        def run(*args: Any) -> Any:
            results, inner = self.inside.closed(closed, list(args), self.no_failure())
            return [*results, *(x[None] for x in tree_flatten(inner)[0])]

        axes = [(name, params["mesh"].shape[name]) for name in params["manual_axes"]]
        with running_along(axes, params["check_vma"], params["mesh"], unchecked):
            program = stage(run, closed.in_avals, closed.jaxpr.debug_info)
        outs = bind_shard_map(program, *operands, mesh=params["mesh"], in_specs=params["in_specs"],
                              out_specs=[*params["out_specs"], *[PartitionSpec(params["manual_axes"])] * len(fields)],
                              manual_axes=params["manual_axes"], check_vma=params["check_vma"], unchecked_axes=unchecked)
        count = len(params["out_specs"])
        of_all = tree_unflatten(tree, outs[count:])
        return list(outs[:count]), _merged(record, of_all if self.keeps_devices else _first(of_all))

    def control_flow(self, primitive: Primitive, params: Any, operands: Sequence[Any], record: _Record) -> tuple[list[Any], _Record]:
        """A branch or a loop: it has a record of its own where devices have had theirs before."""
        rules = {cond_p: self.inside.branches, scan_p: self.inside.scan, while_p: self.inside.loop}
        if not _count(record):
            return rules[primitive](params, operands, record)
        results, inner = rules[primitive](params, operands, self.no_failure())
        return results, _merged(record, inner)

    def branches(self, params: Any, operands: Sequence[ArrayLike], record: _Record) -> tuple[list[Array], _Record]:
        index, *rest = operands
        functions = [self._branch_function(branch) for branch in params["branches"]]
        platforms = params.get("branches_platforms")
        outs = (switch(index, functions, record, *rest) if platforms is None
                else platform_switch(index, functions, (record, *rest), platforms))
        return list(outs[0]), outs[1]

    def _branch_function(self, closed: ClosedJaxpr) -> Callable[..., tuple[list[Array], _Record]]:
        """The branch as a function of laminax's own, of which only one may fail: its record varies along other axes of devices then."""
        def branch(record: _Record, *args: ArrayLike) -> tuple[list[Array], _Record]:
            return self.closed(closed, list(args), record)
        return branch

    def scan(self, params: dict[str, Any], operands: Sequence[Any], record: _Record) -> tuple[list[Any], _Record]:
        consts = operands[:params["num_consts"]]
        carry = operands[len(consts):len(consts) + params["num_carry"]]
        xs = operands[len(consts) + len(carry):]

        def body(state: tuple[Any, ...], x: Sequence[ArrayLike]) -> tuple[tuple[Any, _Record], list[Array]]:
            carry, record = state
            outs, record = self.closed(params["jaxpr"], [*consts, *carry, *x], record)
            return (outs[:len(carry)], record), outs[len(carry):]
        (carry, record), ys = scan(body, (list(carry), record), list(xs), length=params["length"], reverse=params["reverse"])
        return [*carry, *ys], record

    def loop(self, params: Any, operands: Sequence[ArrayLike], record: _Record) -> tuple[list[Array], _Record]:
        """The condition's checks are made once before the loop, and after each round."""
        num_cond, num_body = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts = operands[:num_cond], operands[num_cond:num_cond + num_body]
        carry = operands[num_cond + num_body:]

        def go_on(carry: Sequence[ArrayLike], record: _Record) -> tuple[Array, _Record]:
            (pred,), record = self.closed(params["cond_jaxpr"], [*cond_consts, *carry], record)
            return pred, record

        def body(state: tuple[Any, ...]) -> tuple[list[Array], Array, _Record]:
            carry, _, record = state
            carry, record = self.closed(params["body_jaxpr"], [*body_consts, *carry], record)
            return (list(carry), *go_on(carry, record))
        carry, _, record = while_loop(lambda state: state[1], body, (list(carry), *go_on(carry, record)))
        return carry, record


def _equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """The equations of a program and of those in it that are interpreted."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in _entered(eqn):
            yield from _equations(inner)


def _no_tangent(x: Any) -> Any:
    aval = get_aval(x)
    return shape_ops.full(aval.shape, 0, aval.dtype) if _is_float(aval) else np.zeros(aval.shape, dtypes.float0)


def _count(record: _Record) -> int:
    """How many devices the record has entries for; 0 for a record of scalars."""
    return next(iter(get_aval(record.failed).shape), 0)


def _first(record: _Record) -> _Record:
    """The record of the first device that has failed."""
    first = reduction.argmax(record.failed, 0, np.int32)
    return tree_map(lambda x: element(x, first), record)


def _merged(record: _Record, later: _Record) -> _Record:
    """The record after another one, which was begun anew. The first failure of each device stays; what all devices share counts as failed
    where no device has failed before."""
    before, after = _count(record), _count(later)
    if before and after and before != after:
        record, before = _first(record), 0
    count = before or after
    if before and not after:
        is_new = later.failed & ~any_of(record.failed)
    else:
        is_new = later.failed & ~_for_devices(record.failed, record, count)
    is_new = _for_devices(is_new, later, count)

    def chosen(new: Any, old: Any) -> Any:
        new, old = _for_devices(new, later, count), _for_devices(old, record, count)
        shape = get_aval(new).shape
        return op.select(shape_ops.broadcast_in_dim(is_new, shape, tuple(range(bool(count)))), new, old)
    return tree_map(chosen, later, record)


def _for_devices(x: Any, record: _Record, count: int) -> Any:
    """A part of the record, with a leading axis for devices where the record has none and there are some."""
    shape = get_aval(x).shape
    return x if _count(record) or not count else shape_ops.broadcast_in_dim(x, (count, *shape), tuple(range(1, len(shape) + 1)))


def _chosen(condition: Any, x: Any, other: Any) -> Any:
    """x if a scalar condition holds, the other value of its type if not."""
    return op.select(condition, x, other)


def _any_nan(results: list[Any]) -> Any:
    found = [any_of(op.ne(x, x)) for x in results if _is_float(get_aval(x))]
    return functools.reduce(op.bitwise_or, found)
