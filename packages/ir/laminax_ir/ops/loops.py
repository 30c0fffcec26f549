"""Loops over functions on pytrees: `while_loop`, `fori_loop` and `scan`; see `control_flow`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.agreement import check_carry, promote_weak, same_types, vary_like
from laminax_ir.ops.calls import bind_program
from laminax_ir.ops.control_primitives import bind_scan, while_p, without_leading_axis
from laminax_ir.ops.control_tracing import TracedFunction, check_refs, concrete_value, flat_arguments, joined_effects, trace_function
from laminax_ir.ops.loop_invariants import body_with_constants, condition_with_constants, invariants, picked, put_back
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import concatenate, expand_dims
from laminax_ir.ops.slicing import index_in_dim
from laminax_ir.options import config
from laminax_ir.pytrees.pytree import (
    tree_flatten,
    tree_map,
    tree_structure,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim, is_dimension, max_dim, size_of
from laminax_ir.symbolic.symbolic_values import dim_as_value
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.errors import ConcretizationTypeError, TracerBoolConversionError
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.type_shardings import in_use

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef
    from laminax_ir.types.annotations import Array, ArrayLike


@api_boundary
def while_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
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
            val = tree_map(as_array, init_val)
            while cond_fun(val):
                val = tree_map(as_array, body_fun(val))
            return val
        except TracerBoolConversionError:
            pass  # the condition is traced (a batched one, say): record the loop after all
    return _while("while_loop", cond_fun, body_fun, init_val, _first_parameter(body_fun), body_fun)


def _first_parameter(fun: Callable) -> str:
    """The name that a message gives the carry: the function's own, where it is to be had."""
    code = getattr(fun, "__code__", None)
    return code.co_varnames[0] if code is not None and code.co_argcount else "carry"


def _promoted(values: list[Any], avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], body_fun: Callable) -> list[Any] | None:
    """The initial carry, converted to the types that the body returns; None where nothing needs to be converted.

    Weak types become strong. Inside of `shard_map`, the carry of a loop in laminax's own functions is made to vary along the axes that the
    result varies along; in a user's loop that is an error, as in JAX, and the user calls `pcast`.
    """
    if ((promoted := promote_weak(values, avals, out_avals)) is None and checked_axes()
            and (body_fun.__module__ or "").startswith("laminax")):
        promoted = vary_like(values, avals, out_avals)
    return promoted


def _while(name: str, cond_fun: Callable, body_fun: Callable, init_val: Any, argument: str, identity: Callable) -> Any:
    """`argument` names the carry in messages; `identity` is the user's function that decides what `body_fun` does."""
    flat, tree = flat_arguments(f"{name}: the initial value", init_val)
    in_tree = treedef_tuple((tree,))
    avals = [get_aval(x) for x in flat]
    body = trace_function(name, "body function", body_fun, in_tree, avals, identity)
    if body.jaxpr.effects:
        check_refs(name, body_fun, body, in_tree, flat)
    while body.out_tree == tree and (promoted := _promoted(flat, avals, body.out_avals, identity)) is not None:
        flat, avals = promoted, [get_aval(x) for x in promoted]
        body = trace_function(name, "body function", body_fun, in_tree, avals, identity)
    condition = trace_function(f"{name} condition", "condition function", cond_fun, in_tree, avals)
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
    out = bind_program(while_p, joined_effects((cond_jaxpr, body_jaxpr)), (*cond_consts, *body_consts, *carry), {
        "cond_jaxpr": cond_jaxpr, "body_jaxpr": body_jaxpr, "cond_nconsts": len(cond_consts), "body_nconsts": len(body_consts)})
    return tree_unflatten(tree, put_back(flat, fixed, out))


def as_array(x: Any) -> Any:
    """An operand as the value of an operation, which a loop's state is, also where Python runs it."""
    return op.copy(x) if isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)) else x


@api_boundary
def fori_loop(lower: ArrayLike, upper: ArrayLike, body_fun: Callable, init_val: Any, *, unroll: int | bool | None = None) -> Any:
    """Applies a function to each integer of a range in turn.

    Args:
      lower: integer scalar, the first index. Floating bounds that are known while tracing are truncated to integers; others are
        counted from in steps of 1.0.
      upper: scalar of the same dtype, one past the last index.
      body_fun: function `(i, val) -> val`; structure, shapes and dtypes of `val` must stay the same. `i` is of the type of a Python
        int where the bounds are known while tracing, else of the bounds' dtype, and of the weak type of a Python int where `lower` is one.
      init_val: the initial value, a pytree of arrays.
      unroll: as for `scan`; only if the bounds are known while tracing.

    Returns:
      The value after the last index; `init_val` if there is none. With bounds that are known while tracing this is a
      `scan`, which can be differentiated in reverse mode; otherwise a `while_loop`.

    Raises:
      TypeError: if the bounds are not scalars of one dtype, or the body's result differs from its argument.
      ValueError: if `unroll` is given and the bounds are not known.

    Example:
      >>> fori_loop(0, 5, lambda i, total: total + i, 0)
      array(10, dtype=int32)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    if SymbolicDim in (type(lower), type(upper)) and is_dimension(lower) and is_dimension(upper):
        return _counted_loop(lower, max_dim(upper - lower, 0), body_fun, init_val, unroll)
    lower_aval, upper_aval = (_scalar_bound(name, x) for name, x in (("lower", lower), ("upper", upper)))
    dtype = lower_aval.dtype
    if lower_aval.dtype != upper_aval.dtype:  # a Python integer takes the dtype of the other bound
        dtype = upper_aval.dtype if lower_aval.weak_type else lower_aval.dtype
        if lower_aval.weak_type == upper_aval.weak_type or not (
                dtypes.issubdtype(lower_aval.dtype, np.integer) and dtypes.issubdtype(upper_aval.dtype, np.integer)):
            raise TypeError("lower and upper arguments to fori_loop must have equal types, got "
                            f"{dtypes.dtype_name(lower_aval.dtype)} and {dtypes.dtype_name(upper_aval.dtype)}")
    first, last = concrete_value(lower), concrete_value(upper)
    if first is None or last is None:
        if unroll not in (None, False, 1):
            raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are statically known.")
        weak = lower_aval.weak_type and lower_aval.dtype == dtype  # the index is counted from the lower bound, which says its type
        return _dynamic_fori_loop(_as_index(lower, dtype, weak), _as_index(upper, dtype, upper_aval.weak_type), body_fun, init_val)
    length = max(int(last) - int(first), 0)
    if config.disable_jit.value:
        val = init_val
        for i in range(int(first), int(first) + length):
            val = body_fun(i, val)
        return val
    return _counted_loop(int(first), length, body_fun, init_val, unroll)


def _counted_loop(first: DimSize, length: DimSize, body_fun: Callable, init_val: Any, unroll: int | bool | None) -> Any:
    """A `fori_loop` whose number of steps is the size of an axis: a scan."""
    def body(carry: Any, _: Any) -> Any:
        i, val = carry
        return (op.add(i, scalar_like(1, get_aval(i).dtype)), body_fun(i, val)), None

    start = dim_as_value(first) if type(first) is SymbolicDim else first
    (_, result), _ = _scan("fori_loop", body, (start, init_val), None, length, False,
                           1 if unroll is None else unroll, "loop_carry", body_fun)
    return result


def _as_index(x: ArrayLike, dtype: np.dtype, weak: bool) -> Array:
    aval = get_aval(x)
    return x if aval.dtype == dtype and aval.weak_type == weak else op.convert_element_type(x, dtype, weak)


def _scalar_bound(name: str, x: ArrayLike) -> ShapedArray:
    if not is_array_like(x):
        raise TypeError(f"lax.fori_loop: {name} must be a number, got {x!r:.80} of type {type(x).__name__}")
    aval = get_aval(x)
    if aval.shape:
        raise TypeError(f"lax.fori_loop: {name} must be a scalar, got {aval.str_short()}")
    return aval


def _dynamic_fori_loop(lower: ArrayLike, upper: ArrayLike, body_fun: Callable, init_val: Any) -> Any:
    def body(carry: Any) -> Any:
        i, limit, val = carry
        return op.add(i, scalar_like(1, get_aval(i).dtype)), limit, body_fun(i, val)

    _, _, result = _while("fori_loop", _is_below_limit, body, (lower, upper, init_val), "loop_carry", body_fun)
    return result


def _is_below_limit(carry: tuple[ArrayLike, ...]) -> bool:
    i, limit, _ = carry
    return op.lt(i, limit)


@api_boundary
def scan(f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: int | bool = 1,
         _split_transpose: bool = False) -> Any:
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
      _split_transpose: whether reverse mode computes the cotangents of `xs` and of the values that `f` closes over after the backward loop,
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


def _scan(name: str, f: Callable, init: Any, xs: Any, length: Any, reverse: bool, unroll: int, argument: str, identity: Callable,
          split_transpose: bool = False) -> tuple[Any, Any]:
    xs_flat, xs_tree = flat_arguments(f"{name}: xs", xs)
    xs_avals = [get_aval(x) for x in xs_flat]
    length = _scan_length(name, xs_avals, length)
    for aval in xs_avals if in_use else ():
        if (split := getattr(aval, "_split", None)) is not None and split.spec.partitions[0] is not None:
            raise ValueError(f"{name}: 0th dimension of all xs should be replicated. Got {aval.str_short()}, which is split along it. "
                             "Use reshard on it.")
    unroll = _unroll_factor(unroll, length)
    if config.disable_jit.value:
        if any(isinstance(aval, HiType) for aval in xs_avals):
            raise NotImplementedError(f"{name} over values of types of users' own is not supported in disable_jit(): slices of them are "
                                      "taken in programs only. Run it without disable_jit.")
        return _python_scan(f, init, xs_flat, xs_tree, length, reverse)
    flat, tree = flat_arguments(f"{name}: the initial carry", init)
    count = len(flat)
    in_tree = treedef_tuple((tree, xs_tree))
    slice_avals = [without_leading_axis(x, length) for x in xs_avals]
    avals = [get_aval(x) for x in flat]
    body = trace_function(name, "body function", f, in_tree, [*avals, *slice_avals], identity)
    if body.jaxpr.effects:
        check_refs(name, f, body, in_tree, [*flat, *xs_flat])
    carry_tree, ys_tree = _pair_of(name, body.out_tree, body)
    while carry_tree == tree and (promoted := _promoted(flat, avals, body.out_avals[:count], identity)) is not None:
        flat, avals = promoted, [get_aval(x) for x in promoted]
        body = trace_function(name, "body function", f, in_tree, [*avals, *slice_avals], identity)
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


def _pair_of(name: str, out_tree: PyTreeDef, body: TracedFunction) -> list[PyTreeDef]:
    children = [] if treedef_is_leaf(out_tree) else treedef_children(out_tree)
    if len(children) != 2:
        got = tree_unflatten(out_tree, [a.str_short(short_dtypes=False) for a in body.out_avals])
        raise TypeError(f"{name} body output must be a pair, got {got}. Return (carry, y), with None where there is nothing "
                        "to stack.")
    return children


def _scan_length(name: str, xs_avals: Sequence[ShapedArray], length: Any) -> Any:
    sizes = []
    for aval in xs_avals:
        if isinstance(aval, HiType):
            continue  # its own methods know of the leading axis
        if not aval.shape:
            raise ValueError(f"{name} got value with no leading axis to scan over: {aval.str_short()}. Every array in xs needs "
                             "one; close over what is the same in all steps.")
        sizes.append(aval.shape[0])
    if length is not None:
        concrete = concrete_value(length)
        if concrete is None:
            raise ConcretizationTypeError(
                f"The `length` argument to `{name}` expects a concrete `int` value, got {length}. For scan-like iteration "
                "with a dynamic length, use `while_loop` or `fori_loop`.")
        try:
            length = size_of(concrete)
        except TypeError:
            raise TypeError(f"{name}: `length` must be an integer, got {length!r}") from None
        if length < 0:
            raise ValueError(f"{name}: `length` must not be negative, got {length}")
        if any(size != length for size in sizes):
            raise ValueError(f"{name} got `length` argument of {length} which disagrees with leading axis sizes {sizes}.")
        return length
    if not sizes:
        raise ValueError(f"{name} got no values to scan over and `length` not provided. For xs without arrays one must provide "
                         "`length`, the number of steps.")
    if len(set(sizes)) > 1:
        raise ValueError(f"{name} got values with different leading axis sizes: {', '.join(map(str, sizes))}.")
    return sizes[0]


def _unroll_factor(unroll: int | bool, length: int) -> int:
    """Steps per iteration; at least 1, and all of them for True and 0."""
    if type(length) is SymbolicDim and (unroll is True or type(unroll) is int and unroll == 0):
        raise NotImplementedError(f"scan: unroll={unroll} unrolls all steps, and their number is the symbolic dimension '{length}'. Give "
                                  "the number of steps to run in one iteration, such as unroll=8.")
    if isinstance(unroll, (bool, np.bool_)):
        return max(length, 1) if unroll else 1
    if unroll is not None and concrete_value(unroll) is None:
        raise ConcretizationTypeError(f"The `unroll` argument to `scan` expects a concrete `int` or `bool` value, got {unroll!r}. Mark it "
                                      "as static where the function is traced, as with static_argnums.")
    try:
        factor = operator.index(unroll)
    except TypeError:
        raise TypeError(f"scan: `unroll` must be a `bool` or a non-negative `int`, got {unroll!r}.") from None
    if factor < 0:
        raise ValueError(f"scan: `unroll` must be a `bool` or a non-negative `int`, got {factor}.")
    return factor or max(length, 1)


def scan_slices(name: str, f: Callable, xs: Any, identity: Callable | None = None) -> Any:
    """A scan without a carry: a function of each slice, stacked.

    Args:
      name: the operation, for messages.
      f: function of a pytree like xs without the leading axes, returns a pytree of arrays.
      xs: a pytree of arrays with equal leading sizes n.
      identity: as for the cache of traced functions.

    Returns:
      The results of f, each array with a leading axis of size n, of the same dtype.
    """
    def body(_: Any, x: Any) -> Any:
        return (), f(x)
    _, ys = _scan(name, body, (), xs, None, False, 1, "carry", body if identity is None else identity)
    return ys


def _python_scan(f: Callable, init: ArrayLike, xs_flat: Sequence[ArrayLike], xs_tree: PyTreeDef, length: int,
                 reverse: bool) -> tuple[Array, Array]:
    """The loop in Python, for `disable_jit`."""
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
