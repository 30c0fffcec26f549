"""Control flow: branches and loops over functions on pytrees.

The functions here trace what they are given to jaxprs, check that the types fit, and bind one of the primitives of
`control_primitives`. A function that closes over no tracer is traced once per structure and types of its arguments.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Iterable, NamedTuple, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from laminax_ir import config, config_options, dtypes
from laminax_ir.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.errors import ConcretizationTypeError, TracerBoolConversionError
from laminax_ir.jaxpr import ClosedJaxpr, no_effects
from laminax_ir.manual_axes import checked_axes
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.agreement import check_branches, check_carry, promote_weak, same_types, vary_like
from laminax_ir.ops.calls import bind_program, call_jaxpr, close_over_constants
from laminax_ir.ops.control_primitives import (  # noqa: F401  (scan_p is found here too)
    bind_scan,
    common_constants,
    cond_p,
    platform_index_p,
    scan_p,
    while_p,
    without_leading_axis,
)
from laminax_ir.ops.loop_invariants import body_with_constants, condition_with_constants, invariants, picked, put_back
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import concatenate, expand_dims
from laminax_ir.pytree import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_structure,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from laminax_ir.refs import Ref, argument_namer, check_aliases, check_returned, has_refs, is_traced
from laminax_ir.staging import stage
from laminax_ir.trace import Tracer, is_tracing, state
from laminax_ir.tracebacks import api_boundary

# Tracing the functions that are given


class _Program(NamedTuple):
    """A traced pytree function: its jaxpr takes the constants, then the flat arguments."""
    jaxpr: ClosedJaxpr
    consts: list[Any]
    out_tree: Any

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.jaxpr.out_avals


_programs: WeakKeyDictionary[Callable, dict[tuple, _Program]] = WeakKeyDictionary()


_TRACED_FOR = {"while_loop": "while_body", "while_loop condition": "while_cond"}  # JAX's words, in messages about leaked tracers


def _trace(caller: str, what: str, fun: Callable, in_tree, in_avals: Sequence[ShapedArray],
           identity: Callable | None = None) -> _Program:
    """Traces `fun(*args)`, where `in_tree` is the structure of `args`.

    Args:
      caller, what: for messages: "scan", "body function".
      identity: the user's function that decides what `fun` does, if that is not `fun` itself.
    """
    key = (caller, in_tree, tuple(in_avals), config_options.trace_key(), tuple(state.axis_sizes.items()))
    user_fun = fun if identity is None else identity
    try:
        known = _programs.setdefault(user_fun, {})
        program = known.get(key)
    except TypeError:  # the function is not weakly referenceable, or something in the key is not hashable
        known, program = None, None
    if program is not None:
        return program
    out_tree = None

    def flat_fun(*flat):
        nonlocal out_tree
        result = fun(*tree_unflatten(in_tree, flat))
        leaves, out_tree = tree_flatten(result)
        for leaf in leaves:
            if not is_array_like(leaf):
                check_returned(_name(user_fun), _TRACED_FOR.get(caller, caller), result)
                _report_leaf(f"{caller}: the result of the {what} {_name(user_fun)}", result)
        return leaves

    name = f"{_name(user_fun)} for {_TRACED_FOR.get(caller, caller)}"
    jaxpr, consts = close_over_constants(stage(flat_fun, in_avals, name=name, keeps_refs=True))
    program = _Program(jaxpr, consts, out_tree)
    if known is not None and not any(map(is_traced, consts)):
        known[key] = program
    return program


def forget_traced_functions() -> None:
    """Empties the cache of traced functions, so that each is traced again when it is next used."""
    _programs.clear()


def _report_leaf(what: str, tree: Any) -> None:
    for path, leaf in tree_flatten_with_path(tree)[0]:
        if not is_array_like(leaf) and not isinstance(leaf, Ref):
            raise TypeError(f"{what} is of type {type(leaf).__name__} at {keystr(path) or 'the root'}, which is not a valid "
                            f"array type: {leaf!r:.80}. Use arrays, scalars, and containers of them.")


def _check_refs(caller: str, fun: Callable, program: _Program, in_tree, arguments: Sequence[Any]) -> None:
    """Refuses a reference that a function gets twice; called for programs with effects."""
    if has_refs(program.jaxpr.effects):
        check_aliases(_name(fun), caller, arguments, program.consts, argument_namer(fun, in_tree))


def _name(fun: Callable) -> str:
    return getattr(fun, "__name__", None) or type(fun).__name__


def _flat_arguments(what: str, tree: Any) -> tuple[list[Any], Any]:
    leaves, treedef = tree_flatten(tree)
    for leaf in leaves:
        if not is_array_like(leaf) and not isinstance(leaf, Ref):
            _report_leaf(what, tree)
    return leaves, treedef


def _concrete(x: Any) -> Any | None:
    """The value of something known while tracing, None for an unknown traced value."""
    return x.concrete_value() if isinstance(x, Tracer) else x


# Branches

_missing = object()


@api_boundary
def cond(pred, true_fun: Callable, false_fun: Callable, *operands, operand: Any = _missing):
    """Applies one of two functions, chosen by a scalar that may be traced.

    Args:
      pred: bool or number scalar; true if not 0.
      true_fun: function of the operands, applied if `pred` is true.
      false_fun: function of the operands, applied if it is false; must return the same structure and types.
      *operands: pytrees of arrays.
      operand: the one operand as a keyword, instead of `operands`.

    Returns:
      What the chosen function returns. Both functions are traced; under `vmap` with a batched predicate both are also
      run, and the results selected.

    Raises:
      TypeError: if `pred` is not a scalar, a function is not callable, or the results of the two differ in structure,
        shape or dtype.

    Example:
      >>> cond(True, lambda x: x + 1, lambda x: x - 1, 3.0)
    """
    if len(operands) == 2 and not callable(true_fun) and callable(false_fun) and callable(operands[1]):
        # The older form: cond(pred, true_operand, true_fun, false_operand, false_fun)
        both = (true_fun, operands[0])
        chosen = (false_fun, operands[1])
        return cond(pred, lambda pair: chosen[0](pair[0]), lambda pair: chosen[1](pair[1]), both)
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    operands = _with_keyword_operand("cond", operands, operand)
    if pred is None:
        raise TypeError("cond predicate is None")
    if callable(pred):
        raise TypeError(f"Pred type must be either boolean or number, got {pred!r:.80}.")
    if not is_array_like(pred):
        raise TypeError(f"Pred must be a scalar, got {str(pred):.80} of type {type(pred)}")
    aval = get_aval(pred)
    if aval.shape:
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}.")
    if not (aval.dtype == np.bool_ or dtypes.issubdtype(aval.dtype, np.integer)
            or dtypes.issubdtype(aval.dtype, np.floating)):
        raise TypeError(f"Pred type must be either boolean or number, got {dtypes.dtype_name(aval.dtype)}.")
    if config.disable_jit.value and _concrete(pred) is not None:
        return (true_fun if _concrete(pred) else false_fun)(*operands)
    if aval.dtype != np.bool_:
        pred = op.ne(pred, scalar_like(0, aval.dtype))
    index = op.convert_element_type(pred, np.int32)
    return _branch("cond", index, [true_fun, false_fun], operands, ["true_fun", "false_fun"])


@api_boundary
def switch(index, branches: Sequence[Callable], *operands, operand: Any = _missing):
    """Applies one of several functions, chosen by an integer that may be traced.

    Args:
      index: integer scalar; clamped to the range of `branches`.
      branches: functions of the operands that return the same structure and types.
      *operands: pytrees of arrays.
      operand: the one operand as a keyword, instead of `operands`.

    Returns:
      What `branches[index]` returns.

    Raises:
      TypeError: if the index is not an integer scalar, a branch is not callable, or results of branches differ.
      ValueError: if there are no branches.
    """
    given, branches = branches, list(branches) if isinstance(branches, Iterable) else [None]
    if not all(callable(branch) for branch in branches):
        raise TypeError(f"lax.switch: branches argument should be a sequence of callables, got {given!r}.")
    operands = _with_keyword_operand("switch", operands, operand)
    if not is_array_like(index):
        shape = np.shape(index)
        raise TypeError(f"Branch index must be scalar, got {index} of shape {shape}." if shape else
                        f"Index type must be an integer, got {str(index):.80}.")
    aval = get_aval(index)
    if aval.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"Index type must be an integer, got {index} as {dtypes.dtype_name(aval.dtype)}")
    if not branches:
        raise ValueError("Empty branch sequence: lax.switch needs at least one branch.")
    if len(branches) == 1:
        return branches[0](*operands)
    if config.disable_jit.value and _concrete(index) is not None:
        return branches[min(max(int(_concrete(index)), 0), len(branches) - 1)](*operands)
    index = op.convert_element_type(index, np.int32)
    index = op.clamp(np.int32(0), index, np.int32(len(branches) - 1))
    return _branch("switch", index, branches, operands, [f"branch {i}" for i in range(len(branches))])


def _with_keyword_operand(name: str, operands: tuple, operand: Any) -> tuple:
    if operand is _missing:
        return operands
    if operands:
        raise TypeError(f"lax.{name}: if the 'operand' keyword is passed then no positional operands can be passed, got "
                        f"operand={operand!r} and positional operands {operands!r}")
    return (operand,)


def _branch(name: str, index: Any, branches: Sequence[Callable], operands: tuple, labels: Sequence[str]) -> Any:
    """Traces the branches in the order given, and binds `cond_p`; those of `cond` are given with the true one first."""
    flat, in_tree = _flat_arguments(f"{name}: an operand", operands)
    in_avals = [get_aval(x) for x in flat]
    programs = [_trace(name, label, branch, in_tree, in_avals) for branch, label in zip(branches, labels)]
    for program, branch in zip(programs, branches):
        if program.jaxpr.effects:
            _check_refs(name, branch, program, in_tree, flat)
    first = programs[0]
    for program, branch, label in zip(programs[1:], branches[1:], labels[1:]):
        check_branches(name, first.out_tree, first.out_avals, program.out_tree, program.out_avals, (labels[0], label),
                       (branches[0], branch))
    consts, jaxprs = _joined_branches(programs[::-1] if name == "cond" else programs)  # False is 0
    out = bind_program(cond_p, _joined_effects(jaxprs), (index, *consts, *flat), {"branches": jaxprs})
    return tree_unflatten(first.out_tree, out)


def _joined_effects(programs: Sequence[ClosedJaxpr]) -> frozenset:
    effects = no_effects
    for program in programs:
        if program.effects:
            effects = effects | program.effects
    return effects


_branches: WeakKeyDictionary[ClosedJaxpr, dict[tuple, tuple[list[Any], tuple[ClosedJaxpr, ...]]]] = WeakKeyDictionary()


def _joined_branches(programs: Sequence[_Program]) -> tuple[list[Any], tuple[ClosedJaxpr, ...]]:
    """The constants of all branches, and the branches as jaxprs that take all of them; the same ones for the same programs."""
    if not any(program.consts for program in programs):
        return [], tuple([program.jaxpr for program in programs])
    first, *others = [program.jaxpr for program in programs]
    known = _branches.setdefault(first, {})
    found = known.get(tuple(others))
    if found is None:
        found = common_constants([_with_constvars(program) for program in programs])
        if not any(map(is_traced, found[0])):
            known[tuple(others)] = found
    return found


def _with_constvars(program: _Program) -> ClosedJaxpr:
    """The program with its constants as such again."""
    if not program.consts:
        return program.jaxpr
    jaxpr, count = program.jaxpr.jaxpr, len(program.consts)
    return ClosedJaxpr(jaxpr.replace(constvars=jaxpr.invars[:count], invars=jaxpr.invars[count:]), program.consts)


@api_boundary
def platform_dependent(*args, default: Callable | None = None, **per_platform: Callable):
    """Applies a function that depends on the platform the program is compiled for.

    Args:
      *args: pytrees of arrays.
      default: the function for platforms that are not named.
      **per_platform: functions by platform: cpu, cuda, rocm, tpu.

    Returns:
      What the chosen function returns; all must return the same structure, shapes and dtypes. Only the chosen one
      is compiled.

    Raises:
      ValueError: if no function is given; when compiled, NotImplementedError if none fits the platform.

    Example:
      >>> platform_dependent(x, cpu=slow_but_exact, default=fast)
    """
    if not per_platform and default is None:
        raise ValueError("platform_dependent: give a function for at least one platform, or default=")
    if default is not None and not per_platform:
        return default(*args)
    platforms = tuple((name,) for name in per_platform) + (() if default is None else (None,))
    branches = [*per_platform.values(), *([] if default is None else [default])]
    if not all(callable(branch) for branch in branches):
        raise TypeError("platform_dependent: the per-platform arguments and default must be callable, got "
                        f"{[branch for branch in branches if not callable(branch)]}")

    def chosen(*args):
        if len(branches) == 1:
            platform_index_p.bind(platforms=platforms)
            return branches[0](*args)
        return _branch("switch", platform_index_p.bind(platforms=platforms), branches, args,
                       [*per_platform, "default"][:len(branches)])

    if is_tracing():
        return chosen(*args)
    # Outside of tracing the whole choice is one program, so that only the chosen branch is compiled.
    flat, in_tree = _flat_arguments("platform_dependent: an operand", args)
    program = _trace("platform_dependent", "function", chosen, in_tree, [get_aval(x) for x in flat])
    out = call_jaxpr(program.jaxpr, *program.consts, *flat, name="platform_dependent")
    return tree_unflatten(program.out_tree, out)


# Loops


@api_boundary
def while_loop(cond_fun: Callable, body_fun: Callable, init_val):
    """Applies a function as long as a condition holds.

    Args:
      cond_fun: function of the carry that returns a boolean scalar.
      body_fun: function of the carry that returns the next one, with the same structure, shapes and dtypes.
      init_val: the initial carry, a pytree of arrays. A Python scalar takes the dtype that the body returns.

    Returns:
      The first carry for which `cond_fun` is false. Not reverse-mode differentiable: use `scan`, or `fori_loop` with
      static bounds, for that.

    Raises:
      TypeError: if the condition is not a boolean scalar, or the body's result differs from the carry.

    Example:
      >>> while_loop(lambda x: x < 100, lambda x: 2 * x, 3)
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if config.disable_jit.value:
        try:
            val = tree_map(_as_array, init_val)
            while cond_fun(val):
                val = tree_map(_as_array, body_fun(val))
            return val
        except TracerBoolConversionError:
            pass  # the condition is traced (a batched one, say): record the loop after all
    return _while("while_loop", cond_fun, body_fun, init_val, _first_parameter(body_fun), body_fun)


def _first_parameter(fun: Callable) -> str:
    """The name that a message gives the carry: the function's own, where it is to be had."""
    code = getattr(fun, "__code__", None)
    return code.co_varnames[0] if code is not None and code.co_argcount else "carry"


def _promoted(values: list[Any], avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], body_fun: Callable) -> list[Any] | None:
    """The initial carry, of types that those of the result ask for; None if there is nothing to change.

    Users say themselves (`pcast`) that a carry will vary along axes of devices; loops of this library are for all values.
    """
    if (promoted := promote_weak(values, avals, out_avals)) is None and checked_axes() and (body_fun.__module__ or "").startswith("laminax"):
        promoted = vary_like(values, avals, out_avals)
    return promoted


def _while(name: str, cond_fun: Callable, body_fun: Callable, init_val, argument: str, identity: Callable):
    """`argument` names the carry in messages; `identity` is the user's function that decides what `body_fun` does."""
    flat, tree = _flat_arguments(f"{name}: the initial value", init_val)
    in_tree = treedef_tuple((tree,))
    avals = [get_aval(x) for x in flat]
    body = _trace(name, "body function", body_fun, in_tree, avals, identity)
    if body.jaxpr.effects:
        _check_refs(name, body_fun, body, in_tree, flat)
    while body.out_tree == tree and (promoted := _promoted(flat, avals, body.out_avals, identity)) is not None:
        flat, avals = promoted, [get_aval(x) for x in promoted]
        body = _trace(name, "body function", body_fun, in_tree, avals, identity)
    condition = _trace(f"{name} condition", "condition function", cond_fun, in_tree, avals)
    if not treedef_is_leaf(condition.out_tree) or len(condition.out_avals) != 1:
        raise TypeError(f"while_loop: cond_fun must return a boolean scalar, but got pytree {condition.out_tree}.")
    (pred,) = condition.out_avals
    if pred.shape or pred.dtype != np.bool_:
        raise TypeError(f"while_loop: cond_fun must return a boolean scalar, but got output type(s) "
                        f"[ShapedArray({pred.str_short(short_dtypes=False)})]. "
                        "Compare explicitly, as in x != 0, and reduce arrays with any() or all().")
    check_carry(name, argument, tree, avals, body.out_tree, body.out_avals)
    cond_jaxpr, body_jaxpr, cond_consts, body_consts, carry = condition.jaxpr, body.jaxpr, condition.consts, body.consts, flat
    fixed = invariants(body_jaxpr, len(body_consts), flat)
    if any(fixed):
        cond_jaxpr, read = condition_with_constants(cond_jaxpr, len(cond_consts), fixed)
        body_jaxpr = body_with_constants(body_jaxpr, len(body_consts), fixed)
        cond_consts, body_consts = [*cond_consts, *picked(flat, read)], [*body_consts, *picked(flat, fixed)]
        carry = picked(flat, fixed, False)
    out = bind_program(while_p, _joined_effects((cond_jaxpr, body_jaxpr)), (*cond_consts, *body_consts, *carry), {
        "cond_jaxpr": cond_jaxpr, "body_jaxpr": body_jaxpr, "cond_nconsts": len(cond_consts), "body_nconsts": len(body_consts)})
    return tree_unflatten(tree, put_back(flat, fixed, out))


def _as_array(x: Any) -> Any:
    """An operand as the value of an operation, which a loop's state is, also where Python runs it."""
    return op.copy(x) if isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)) else x


@api_boundary
def fori_loop(lower, upper, body_fun: Callable, init_val, *, unroll: int | bool | None = None):
    """Applies a function to each integer of a range in turn.

    Args:
      lower: integer scalar, the first index. Floating bounds that are known while tracing are truncated to integers; others are
        counted from in steps of 1.0.
      upper: scalar of the same dtype, one past the last index.
      body_fun: function `(i, val) -> val`; structure, shapes and dtypes of `val` must stay the same. `i` is of the type of a Python
        int where the bounds are known while tracing, of the bounds' dtype otherwise.
      init_val: the initial value, a pytree of arrays.
      unroll: as for `scan`; only if the bounds are known while tracing.

    Returns:
      The value after the last index; `init_val` if there is none. With bounds that are known while tracing this is a
      `scan`, which can be differentiated in reverse mode; otherwise a `while_loop`.

    Raises:
      TypeError: if the bounds are not scalars of one dtype, or the body's result differs from its argument.
      ValueError: if `unroll` is given and the bounds are not known.
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    lower_aval, upper_aval = (_scalar_bound(name, x) for name, x in (("lower", lower), ("upper", upper)))
    dtype, weak = lower_aval.dtype, lower_aval.weak_type and upper_aval.weak_type
    if lower_aval.dtype != upper_aval.dtype:  # a Python integer takes the dtype of the other bound
        dtype = upper_aval.dtype if lower_aval.weak_type else lower_aval.dtype
        if lower_aval.weak_type == upper_aval.weak_type or not (
                dtypes.issubdtype(lower_aval.dtype, np.integer) and dtypes.issubdtype(upper_aval.dtype, np.integer)):
            raise TypeError("lower and upper arguments to fori_loop must have equal types, got "
                            f"{dtypes.dtype_name(lower_aval.dtype)} and {dtypes.dtype_name(upper_aval.dtype)}")
    first, last = _concrete(lower), _concrete(upper)
    if first is None or last is None:
        if unroll not in (None, False, 1):
            raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are statically known.")
        return _dynamic_fori_loop(*[_as_index(x, dtype, weak) for x in (lower, upper)], body_fun, init_val)
    length = max(int(last) - int(first), 0)
    if config.disable_jit.value:
        val = init_val
        for i in range(int(first), int(first) + length):
            val = body_fun(i, val)
        return val

    def body(carry, _):
        i, val = carry
        return (op.add(i, scalar_like(1, get_aval(i).dtype)), body_fun(i, val)), None

    (_, result), _ = _scan("fori_loop", body, (int(first), init_val), None, length, False,
                           1 if unroll is None else unroll, "loop_carry", body_fun)
    return result


def _as_index(x, dtype, weak: bool):
    aval = get_aval(x)
    return x if aval.dtype == dtype and aval.weak_type == weak else op.convert_element_type(x, dtype, weak)


def _scalar_bound(name: str, x: Any) -> ShapedArray:
    if not is_array_like(x):
        raise TypeError(f"lax.fori_loop: {name} must be a number, got {x!r:.80} of type {type(x).__name__}")
    aval = get_aval(x)
    if aval.shape:
        raise TypeError(f"lax.fori_loop: {name} must be a scalar, got {aval.str_short()}")
    return aval


def _dynamic_fori_loop(lower, upper, body_fun, init_val):
    def body(carry):
        i, limit, val = carry
        return op.add(i, scalar_like(1, get_aval(i).dtype)), limit, body_fun(i, val)

    _, _, result = _while("fori_loop", _is_below_limit, body, (lower, upper, init_val), "loop_carry", body_fun)
    return result


def _is_below_limit(carry):
    i, limit, _ = carry
    return op.lt(i, limit)


@api_boundary
def scan(f: Callable, init, xs=None, length: int | None = None, reverse: bool = False, unroll: int | bool = 1,
         _split_transpose: bool = False):
    """Applies a function along the leading axis of arrays, carrying state from one step to the next.

    In Python: `for x in xs: carry, y = f(carry, x); ys.append(y)`, and `np.stack(ys)` at the end.

    Args:
      f: function `(carry, x) -> (carry, y)`. The carry it returns must have the structure, shapes and dtypes of the
        one it takes; `y` may be any pytree of arrays, or None.
      init: the initial carry, a pytree of arrays. A Python scalar takes the dtype that `f` returns.
      xs: pytree of arrays with the same leading axis size, or None.
      length: the number of steps; needed if `xs` has no arrays.
      reverse: whether to go from the last slice to the first; `ys` stay in the order of `xs`.
      unroll: how many steps to run in one iteration of the compiled loop; True or 0 for all of them.
      _split_transpose: whether reverse mode computes the cotangents of `xs` and of what `f` closes over after the backward loop,
        for all steps at once: faster where they are large sums, for the memory of the stacked cotangents of the carry.

    Returns:
      `(carry, ys)`: the final carry, and the results `y` stacked along a new leading axis.

    Raises:
      TypeError: if `f` does not return a pair, or its carry differs from the one it takes.
      ValueError: if leading axes are missing or differ in size, or the length is neither given nor implied.

    Example:
      >>> scan(lambda total, x: (total + x, total), 0.0, np.arange(3.0))
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    return _scan("scan", f, init, xs, length, reverse, unroll, _first_parameter(f), f, bool(_split_transpose))


def _scan(name: str, f, init, xs, length, reverse, unroll, argument: str, identity, split_transpose: bool = False):
    xs_flat, xs_tree = _flat_arguments(f"{name}: xs", xs)
    xs_avals = [get_aval(x) for x in xs_flat]
    length = _scan_length(name, xs_avals, length)
    unroll = _unroll_factor(unroll, length)
    if config.disable_jit.value:
        return _python_scan(f, init, xs_flat, xs_tree, length, reverse)
    flat, tree = _flat_arguments(f"{name}: the initial carry", init)
    count = len(flat)
    in_tree = treedef_tuple((tree, xs_tree))
    slice_avals = [without_leading_axis(x) for x in xs_avals]
    avals = [get_aval(x) for x in flat]
    body = _trace(name, "body function", f, in_tree, [*avals, *slice_avals], identity)
    if body.jaxpr.effects:
        _check_refs(name, f, body, in_tree, [*flat, *xs_flat])
    carry_tree, ys_tree = _pair_of(name, body.out_tree, body)
    while carry_tree == tree and (promoted := _promoted(flat, avals, body.out_avals[:count], identity)) is not None:
        flat, avals = promoted, [get_aval(x) for x in promoted]
        body = _trace(name, "body function", f, in_tree, [*avals, *slice_avals], identity)
        carry_tree, ys_tree = _pair_of(name, body.out_tree, body)
    if carry_tree != tree or not same_types(avals, body.out_avals) or checked_axes():
        check_carry(name, argument, tree, avals, carry_tree, body.out_avals[:carry_tree.num_leaves])
    body_jaxpr, consts, carry = body.jaxpr, body.consts, flat
    fixed = invariants(body_jaxpr, len(consts), flat)
    if any(fixed):
        body_jaxpr = body_with_constants(body_jaxpr, len(consts), fixed)
        consts, carry = [*consts, *picked(flat, fixed)], picked(flat, fixed, False)
    out = bind_scan(body_jaxpr, consts, carry, xs_flat, length=length, reverse=bool(reverse), unroll=unroll,
                    split_transpose=split_transpose)
    return tree_unflatten(tree, put_back(flat, fixed, out[:len(carry)])), tree_unflatten(ys_tree, out[len(carry):])


def _pair_of(name: str, out_tree, body: _Program):
    children = [] if treedef_is_leaf(out_tree) else treedef_children(out_tree)
    if len(children) != 2:
        got = tree_unflatten(out_tree, [a.str_short(short_dtypes=False) for a in body.out_avals])
        raise TypeError(f"{name} body output must be a pair, got {got}. Return (carry, y), with None where there is nothing "
                        "to stack.")
    return children


def _scan_length(name: str, xs_avals: Sequence[ShapedArray], length) -> int:
    sizes = []
    for aval in xs_avals:
        if not aval.shape:
            raise ValueError(f"{name} got value with no leading axis to scan over: {aval.str_short()}. Every array in xs needs "
                             "one; close over what is the same in all steps.")
        sizes.append(aval.shape[0])
    if length is not None:
        concrete = _concrete(length)
        if concrete is None:
            raise ConcretizationTypeError(
                f"The `length` argument to `{name}` expects a concrete `int` value, got {length}. For scan-like iteration "
                "with a dynamic length, use `while_loop` or `fori_loop`.")
        try:
            length = operator.index(concrete)
        except TypeError:
            raise TypeError(f"{name}: `length` must be an integer, got {length!r}") from None
        if length < 0:
            raise ValueError(f"{name}: `length` must not be negative, got {length}")
        if any(size != length for size in sizes):
            raise ValueError(f"{name} got `length` argument of {length} which disagrees with leading axis sizes {sizes}.")
        return length
    if not sizes:
        raise ValueError(f"{name} got no values to scan over and `length` not provided.")
    if len(set(sizes)) > 1:
        raise ValueError(f"{name} got values with different leading axis sizes: {', '.join(map(str, sizes))}.")
    return sizes[0]


def _unroll_factor(unroll: int | bool, length: int) -> int:
    """Steps per iteration; at least 1, and all of them for True and 0."""
    if isinstance(unroll, (bool, np.bool_)):
        return max(length, 1) if unroll else 1
    try:
        factor = operator.index(unroll)
    except TypeError:
        raise TypeError(f"scan: `unroll` must be a `bool` or a non-negative `int`, got {unroll!r}.") from None
    if factor < 0:
        raise ValueError(f"scan: `unroll` must be a `bool` or a non-negative `int`, got {factor}.")
    return factor or max(length, 1)


def scan_slices(name: str, f: Callable, xs, identity: Callable | None = None):
    """A scan without a carry: a function of each slice, stacked.

    Args:
      name: the operation, for messages.
      f: function of a pytree like xs without the leading axes, returns a pytree of arrays.
      xs: a pytree of arrays with equal leading sizes n.
      identity: as for the cache of traced functions.

    Returns:
      What f returns, each array with a leading axis of size n, of the same dtype.
    """
    def body(_, x):
        return (), f(x)
    _, ys = _scan(name, body, (), xs, None, False, 1, "carry", body if identity is None else identity)
    return ys


def _python_scan(f, init, xs_flat, xs_tree, length: int, reverse: bool):
    """The loop in Python, for `disable_jit`."""
    from laminax_ir.ops.slicing import index_in_dim
    if length == 0:
        raise ValueError("zero-length scan is not supported in disable_jit() mode because the output type is unknown.")
    carry, ys = init, []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree_unflatten(xs_tree, [index_in_dim(x, i, keepdims=False) for x in xs_flat]))
        ys.append(y)
    if reverse:
        ys.reverse()
    leaves = [tree_flatten(y)[0] for y in ys]
    stacked = [concatenate([expand_dims(x, (0,)) for x in column], 0) for column in zip(*leaves)]
    return carry, tree_unflatten(tree_structure(ys[0]), stacked)
