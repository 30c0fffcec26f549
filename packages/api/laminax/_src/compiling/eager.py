"""Eager evaluation: each operation applied to concrete arrays is a cached one-operation program.

The cache maps (primitive, parameters) to a `PjitFunction`, whose C++ part keeps one executable for each combination of shapes and
dtypes. An operator on arrays is one such function for its promotions and its operation together.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Hashable, Sequence, cast

import numpy as np

import laminax_runtime as runtime
from laminax_ir.functions import operators
from laminax_ir.ops.calls import call_jaxpr, checkpoint_p, jit_p
from laminax_ir.options import ambient, config
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_ir.pytrees.pytree import tree_structure
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.recording.type_lowering import bind_lowered, needs_lowering
from laminax_ir.tracing.leaks import check_no_tracers
from laminax_ir.tracing.trace import Tracer, current_trace, eval_trace, state, tracing_threads
from laminax_ir.tracing.tracebacks import api_boundary, shorten
from laminax_ir.types.avals import get_aval
from laminax_ir.types.dtypes import float0, supported_dtypes

from laminax._src.base.phases import check_may_trace, phase
from laminax._src.compiling.checking.checked_results import check_results, is_checking
from laminax._src.compiling.executables import Program, compile_lowered, execution_device, lower_program, lowering_platform
from laminax._src.compiling.host_programs import HostProgram, host_program
from laminax._src.compiling.key_uses import mark_results, use_keys
from laminax._src.compiling.recent_programs import Owner, recent_programs
from laminax._src.compiling.regions import compile_program
from laminax._src.placement.partitioning import committed_sharding, names_shardings, place

if TYPE_CHECKING:
    from laminax_ir.symbolic.sized_programs import Template
    from laminax_ir.types.annotations import Array
    from laminax_lowering import LoweredModule

_LEAF = tree_structure(0)
_LIMIT = 8192
_functions: dict[Any, Callable] = {}
evaluators: dict[Primitive, Callable[[Primitive, Sequence[Any], dict[str, Any]], Any]] = {}  # of operations that are no programs


def evaluate(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Computes one operation: what the evaluating trace calls."""
    key = (primitive, *params.items()) if params else primitive
    function = _functions.get(key)
    if function is None:
        if len(_functions) >= _LIMIT:  # forget the oldest half: dictionaries keep insertion order
            for old in list(_functions)[:_LIMIT // 2]:
                _functions.pop(old, None)  # another thread may be doing the same
        function = _functions[key] = _operation(primitive, dict(params))
    return function(*operands)


_RUN_ON_HOST = frozenset((Trait.CALLS_PYTHON, Trait.NAMES_AXES))  # a Python function, or communication of one device with itself


def _operation(primitive: Any, params: dict[str, Any]) -> Callable:
    if needs_lowering((), params):  # its operands may be of users' types, and its programs certainly have some
        return partial(_run_lowered, primitive, params)
    if primitive.impl is not None:
        return partial(_run_impl, primitive, params)
    if not primitive.has_shape_rule:
        raise NotImplementedError(f"Evaluation rule for '{primitive}' not implemented: give what computes it to def_impl")
    if "result_avals" in params and Trait.CALLS_PYTHON in primitive.traits:  # a callback with results; that of debugging has none
        return partial(_call_back, primitive, params)
    if not primitive.traits.isdisjoint(_RUN_ON_HOST):
        return partial(_run_on_host, primitive, params)
    if (evaluator := evaluators.get(primitive)) is not None:
        return lambda *operands: evaluator(primitive, operands, params)
    if primitive is jit_p and params["jaxpr"].template is not None and not params["jaxpr"].effects:
        return _call_at_sizes(params["jaxpr"], params["name"])
    if primitive is checkpoint_p:
        return partial(_run_equations, params["jaxpr"], params["differentiated"])
    if primitive.multiple_results:
        return compiled_function(lambda *xs: primitive.bind(*xs, **params), primitive.name, is_list=True)
    return compiled_function(lambda *xs: [primitive.bind(*xs, **params)], primitive.name)


def _call_at_sizes(closed: ClosedJaxpr, name: str) -> Callable:
    """A call of a program with symbolic dimensions at given sizes: compiled from the module for all sizes, if there is one."""
    from laminax._src.compiling.sized_functions import at_call
    from laminax._src.compiling.tracing import TracedFunction
    template, sizes = cast("Template", closed.template)
    traced = template.derived.get(_AS_FUNCTION)
    if traced is None:
        traced = template.remember(_AS_FUNCTION, TracedFunction(template, tree_structure([0] * len(template.out_avals)), name))
    at_sizes = at_call(traced, sizes)

    def module(device: runtime.Device) -> LoweredModule | None:
        return at_sizes.module((lowering_platform(device),), partial(lower_program, where=device, name=name))

    return compiled_function(lambda *xs: call_jaxpr(closed, *xs, name=name), name, is_list=True, module=module)


_AS_FUNCTION = ("as a traced function",)


def _run_lowered(primitive: Primitive, params: dict[str, Any], *operands: Any) -> Any:
    return bind_lowered(primitive, operands, params)


def _run_impl(primitive: Any, params: dict[str, Any], *operands: Any) -> Any:
    check_no_tracers(operands)
    return primitive.impl(*operands, **params)


def _run_on_host(primitive: Primitive, params: dict[str, Any], *operands: Any) -> Any:
    from laminax_ir.reference.evaluate import evaluate_primitive
    check_no_tracers(operands)
    result = evaluate_primitive(primitive, operands, params)
    return [*map(as_array, result)] if primitive.multiple_results else as_array(result)


def _call_back(primitive: Primitive, params: dict[str, Any], *operands: Any) -> list[Any]:
    """The results of a callback. What it raises becomes the error of a compiled program, caused by it."""
    check_no_tracers(operands)
    try:
        return cast("list[Any]", _run_on_host(primitive, params, *operands))
    except Exception as error:
        from traceback import format_exception

        from laminax_runtime.base.errors import JaxRuntimeError
        raise JaxRuntimeError(f"INTERNAL: CpuCallback error calling callback: {''.join(format_exception(error))}") from error


def _run_equations(closed: ClosedJaxpr, is_recomputation: bool, *operands: Any) -> list[Any]:
    """The results of a checkpointed call, operation by operation: its function may be new in each call, and is not compiled as a whole."""
    check_no_tracers(operands)
    if is_recomputation and config.debug_key_reuse.value:  # a recomputation uses the same keys on purpose
        with config.debug_key_reuse(False):
            return _run_equations(closed, False, *operands)
    with current_trace(eval_trace):
        return [*map(as_array, eval_jaxpr(closed.jaxpr, closed.consts, *operands))]


def compiled_function(flat_fun: Callable[..., Sequence[Any]], name: str, is_list: bool = False,
                      module: Callable[[runtime.Device], LoweredModule | None] | None = None) -> Callable:
    """A function that runs `flat_fun` compiled on arrays, whichever trace is current; its arguments are never tracers.

    Args:
      flat_fun: takes arrays, returns a sequence of arrays; of one array, unless `is_list`.
      name: the name of the program.
      is_list: whether the result is the list of arrays; otherwise it is the only array in the list.
      module: the program for one device, lowered already; None where it is not.
    """
    programs: dict[Hashable, _Entry] = {}
    owner = Owner(programs, lambda: eager._clear_cache())

    @api_boundary
    def miss(*args: Any) -> Any:
        mesh = runtime.current_mesh()
        where = execution_device(args, mesh=mesh)
        if where is None:  # spread over a mesh
            where = tuple(committed_sharding(x) for x in args), mesh
        avals = tuple(get_aval(x) for x in args)
        key = avals, where, ambient.trace_key()  # the key has the options, such as whether operands may be promoted
        found = programs.get(key)
        if found is None:
            check_may_trace(f"jit({name})")
            with phase("Tracing", f"jit({name})", avals):
                closed = stage(flat_fun, avals, name)
            tree = tree_structure([0] * len(closed.out_avals)) if is_list else _LEAF
            on_host = host_program(name, closed, where) if module is None else None
            found = programs[key] = _Entry(closed, tree, _last_operation(closed, name), on_host)
        is_kept = recent_programs.note(owner, key)
        operation, program, outs = found.operation, found.program, None
        marks = use_keys(found.closed, args, operation) if config.debug_key_reuse.value else ()
        if found.on_host is not None and (outs := found.on_host.run(args)) is None:
            found.on_host = None
            owner.drop_entries()  # C++ has sent such calls to Python for good, since the first
        if outs is None:
            if program is None:
                program = found.program = compiled(found.closed, where, args, mesh)
            outs = program.run(args)
        if marks:
            mark_results(outs, marks)
        if is_checking():
            check_results(outs, operation)
        fastpath = program.fastpath(found.tree, outs, args) if is_kept and program is not None else None
        return (outs if is_list else outs[0]), fastpath, False

    def compiled(closed: ClosedJaxpr, where: Any, args: Sequence[Any], mesh: runtime.Mesh | None) -> Program:
        if not isinstance(where, runtime.Device) or names_shardings(closed):
            where = place(name, closed, args, mesh=mesh)
        lowered = module(where) if module is not None and isinstance(where, runtime.Device) else None
        return compile_program(closed, where, name=name) if lowered is None else compile_lowered(lowered, closed, where, name=name)

    eager = runtime.make_eager_function(name, miss)
    return eager


class _Entry:
    """An eager function for arguments of given types: its program, how its results are put together, and what has run it."""

    __slots__ = ("closed", "tree", "operation", "on_host", "program")

    def __init__(self, closed: ClosedJaxpr, tree: Any, operation: str, on_host: HostProgram | None) -> None:
        self.closed = closed
        self.tree = tree
        self.operation = operation
        self.on_host = on_host
        self.program: Program | None = None  # once it is compiled


def forget_programs() -> None:
    """Forgets every program of eager functions, except the entries in C++."""
    _functions.clear()
    recent_programs.clear()


def _last_operation(closed: ClosedJaxpr, name: str) -> str:
    """The name of the operation that computes the results; operators cast their operands in operations before it."""
    return closed.eqns[-1].primitive.name if closed.eqns else name


# The exact types of the other operand of a compiled operator: arrays, NumPy's arrays and scalars, Python's numbers.
_OPERANDS = frozenset((runtime.ArrayImpl, np.ndarray, *(dtype.type for dtype in supported_dtypes - {float0}), bool, int, float, complex))


def operator_table() -> dict[str, Callable]:
    """The special methods of the runtime's arrays: compiled functions outside of traces, the general functions inside."""
    table = operators.method_table()
    for name, function in operators.BINARY_OPERATORS.items():
        exponents = _OPERANDS - {int} if name == "pow" else _OPERANDS  # a Python int exponent is static
        table[f"__{name}__"] = _operator(function, name, table[f"__{name}__"], exponents)
        table[f"__r{name}__"] = _operator(lambda x, y, f=function: f(y, x), f"r{name}", table[f"__r{name}__"])
    for name, function in operators.COMPARISONS.items():
        table[f"__{name}__"] = _operator(function, name, table[f"__{name}__"])
    for name in ("neg", "abs", "invert"):
        table[f"__{name}__"] = _unary_operator(table[f"__{name}__"], name)
    table.pop("__hash__", None)
    return table


def _unary_operator(general: Callable, name: str) -> Callable:
    compiled = compiled_function(lambda x: [general(x)], name)
    current, bottom, threads = state, eval_trace, tracing_threads

    def method(self: Array) -> Any:
        try:
            return compiled(self) if not threads or current.trace is bottom else general(self)
        except Exception as error:
            shorten(error)
            raise

    method.__name__ = f"__{name}__"
    return method


def _operator(function: Callable, name: str, general: Callable, operands: frozenset[type] = _OPERANDS) -> Callable:
    compiled = _compiled_pair(function, name) if name.endswith("divmod") else compiled_function(lambda x, y: [function(x, y)], name)
    current, bottom, threads = state, eval_trace, tracing_threads

    def method(self: Array, other: Any) -> Any:
        try:
            if type(other) in operands and (not threads or current.trace is bottom):
                return compiled(self, other)
            return general(self, other)
        except Exception as error:
            shorten(error)
            raise

    method.__name__ = f"__{name}__"
    return method


def _compiled_pair(function: Callable, name: str) -> Callable:
    compiled = compiled_function(function, name, is_list=True)
    return lambda x, y: tuple(compiled(x, y))


def as_array(x: Any) -> Any:
    """A concrete value as the runtime's array; tracers as they are."""
    if isinstance(x, (Tracer, runtime.ArrayImpl)):
        return x
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        return runtime.device_put(x)
    return x
