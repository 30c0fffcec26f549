"""Rules of operations with sparse operands, for `sparsify`. At least one operand of a rule is a BCOO or BCSR array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import control_flow, loops
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import CustomJVPCall, checkpoint_p, custom_jvp_call_p, jit_p
from laminax_ir.ops.contraction import dot_general_p
from laminax_ir.ops.control_flow import platform_switch
from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p
from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.ops.convolution import conv_general_dilated_p
from laminax_ir.ops.hints import todense_p
from laminax_ir.ops.indexing import gather_p
from laminax_ir.ops.reduction import reduce_sum_p
from laminax_ir.ops.shape import broadcast_in_dim_p, concatenate_p, reshape_p, rev_p, squeeze_p, transpose_p
from laminax_ir.ops.slicing import dynamic_slice_p, slice_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees import pytree
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_transforms.base.zeros import ZERO

from laminax._src.numerics.floor import eval_shape, make_jaxpr
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse import arithmetic, bcsr, layout, products, slicing
from laminax._src.numerics.sparse.base import is_sparse, with_data
from laminax._src.numerics.sparse.bcoo import BCOO
from laminax._src.numerics.sparse.bcsr import BCSR
from laminax._src.numerics.sparse.entries import broadcast_batches, places
from laminax._src.numerics.sparse.transform import interpret, of_elements, sparse_rules

if TYPE_CHECKING:
    from laminax_ir.ops.indexing import GatherDimensionNumbers
    from laminax_ir.programs.primitive import Primitive
    from laminax_ir.types.annotations import Array, ArrayLike


def _rule(*primitives: Primitive) -> Callable:
    def register(rule: Callable) -> Callable:
        sparse_rules.update(dict.fromkeys(primitives, rule))
        return rule
    return register


def _only_bcoo(primitive: Any, *operands: Any) -> None:
    for x in operands:
        if isinstance(x, BCSR):
            raise NotImplementedError(f"sparse rule for {primitive} is not implemented for BCSR arrays. Use to_bcoo().")


# --- of one operand; most are known by their traits (`transform.py`) ---


@_rule(convert_element_type_p)
def _convert(x: BCOO, *, new_dtype: np.dtype, **params: Any) -> Any:
    if np.can_cast(x.dtype, new_dtype, "safe"):
        return with_data(x, convert_element_type_p.bind(x.data, new_dtype=new_dtype, **params))
    return of_elements(convert_element_type_p, x, new_dtype=new_dtype, **params)


@_rule(op.integer_pow_p)
def _integer_pow(x: BCOO, *, y: Any) -> Any:
    if y <= 0:
        raise NotImplementedError(f"sparse rule for integer_pow with non-positive exponent {y} is not implemented because it would result "
                                  "in dense output. If this is your intent, use sparse.todense() to convert your argument to a dense "
                                  "array.")
    return of_elements(op.integer_pow_p, x, y=y)


@_rule(todense_p)
def _todense(x: BCOO) -> Any:
    return x.todense()


# --- of two operands ---


@_rule(op.add_p)
def _add(x: Any, y: Any) -> BCOO | Array:
    _only_bcoo("add", x, y)
    if is_sparse(x) and is_sparse(y):
        return _sum(x, y)
    if is_sparse(y):
        x, y = y, x
    y = jnp.asarray(y)
    if np.broadcast_shapes(x.shape, y.shape) != y.shape:
        raise NotImplementedError("Addition between a sparse array X and a dense array Y is not implemented when the output shape is "
                                  "larger than Y.shape. This is to prevent silent densification of a large sparse array. If this is your "
                                  "intent, you can explicitly cast the sparse array to a dense matrix.")
    if x.shape != y.shape:
        x = layout.bcoo_broadcast_in_dim(x, shape=y.shape, broadcast_dimensions=range(y.ndim - x.ndim, y.ndim))
    if not x.n_batch and not x.n_sparse:
        return y + x.todense()
    return y.at[places(x.indices, x.shape[:x.n_batch])].add(x.data, mode="drop")


def _sum(x: BCOO, y: BCOO) -> BCOO:
    """With the entries of both; where they are known to be at the same places, their values are added."""
    if x.shape == y.shape and x.indices is y.indices and x.n_dense == y.n_dense:
        return with_data(x, x.data + y.data)
    shape = broadcast_batches(x.shape, y.shape)
    x, y = (a if a.shape == shape else layout.bcoo_broadcast_in_dim(a, shape=shape, broadcast_dimensions=range(a.ndim)) for a in (x, y))
    n_batch, n_dense = min(x.n_batch, y.n_batch), min(x.n_dense, y.n_dense)
    x, y = (layout.bcoo_update_layout(a, n_batch=n_batch, n_dense=n_dense) for a in (x, y))
    buffers: list[Array] = []
    for a, b in zip(x._bufs, y._bufs):
        batch = broadcast_batches(a.shape[:n_batch], b.shape[:n_batch])
        both = [jnp.broadcast_to(c, (*batch, *c.shape[n_batch:])) for c in (a, b)]
        buffers.append(jnp.concatenate(both, axis=n_batch))
    data, indices = buffers
    return BCOO((data, indices), shape=shape)


@_rule(op.sub_p)
def _sub(x: BCOO, y: BCOO | Array) -> BCOO:
    _only_bcoo("sub", x, y)
    if not (is_sparse(x) and is_sparse(y)):
        raise NotImplementedError("Subtraction between sparse and dense array. Add the negative of one of them, if the result may be "
                                  "dense.")
    return _sum(x, with_data(y, -y.data))


@_rule(op.mul_p)
def _mul(x: Any, y: Any) -> BCOO:
    if is_sparse(x) and is_sparse(y):
        _only_bcoo("mul", x, y)
        if x.shape == y.shape and x.indices is y.indices and x.unique_indices and x.n_dense == y.n_dense:
            return with_data(x, x.data * y.data)
        return arithmetic.bcoo_multiply_sparse(x, y)
    if is_sparse(y):
        x, y = y, x
    return _scaled("mul", x, y, arithmetic.bcoo_multiply_dense)


@_rule(op.div_p)
def _div(x: Any, y: Any) -> BCOO:
    if is_sparse(y):
        raise NotImplementedError("Division by a sparse array is not implemented because it would result in dense output. If this is your "
                                  "intent, use sparse.todense() to convert your arguments to a dense array.")
    return _scaled("div", x, y, arithmetic.bcoo_divide_dense)


def _scaled(name: str, x: Any, y: ArrayLike, function: Callable) -> BCOO:
    if isinstance(x, BCSR) and jnp.ndim(y):
        _only_bcoo(name, x)
    if not jnp.ndim(y):
        return with_data(x, op.mul_p.bind(x.data, y) if name == "mul" else op.div_p.bind(x.data, y))
    shape = np.broadcast_shapes(x.shape, jnp.shape(y))
    if shape != x.shape:
        x = layout.bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=range(len(shape) - x.ndim, len(shape)))
    return with_data(x, function(x, y))


@_rule(dot_general_p)
def _dot_general(x: Any, y: Any, *, dimension_numbers: tuple[tuple[Any, ...], ...], preferred_element_type: np.dtype | None = None,
                 out_sharding: Any = None, **_params: Any) -> Any:
    if isinstance(x, BCSR) or isinstance(y, BCSR):
        return bcsr.bcsr_dot_general(x, y, dimension_numbers=dimension_numbers, preferred_element_type=preferred_element_type,
                                     out_sharding=out_sharding)
    return products.bcoo_dot_general(x, y, dimension_numbers=dimension_numbers, preferred_element_type=preferred_element_type,
                                     out_sharding=out_sharding)


@_rule(conv_general_dilated_p)
def _conv(x: BCOO, y: Any, **params: Any) -> BCOO:
    _only_bcoo("conv_general_dilated", x, y)
    return products.bcoo_conv_general_dilated(x, y, **params)


# --- shapes ---


@_rule(broadcast_in_dim_p)
def _broadcast_in_dim(x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...], sharding: Any = None) -> BCOO | BCSR:
    broadcast = bcsr.bcsr_broadcast_in_dim if isinstance(x, BCSR) else layout.bcoo_broadcast_in_dim
    return broadcast(x, shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding)


@_rule(concatenate_p)
def _concatenate(*operands: Any, dimension: int) -> BCOO | BCSR:
    if all(isinstance(x, BCSR) for x in operands):
        return bcsr.bcsr_concatenate(operands, dimension=dimension)
    if not all(isinstance(x, BCOO) for x in operands):
        raise NotImplementedError("Concatenation between sparse and dense arrays, or of different formats, is not implemented: got "
                                  f"{[type(x).__name__ for x in operands]}. Make them all BCOO.")
    n_batch, n_dense = (min(getattr(x, name) for x in operands) for name in ("n_batch", "n_dense"))
    return layout.bcoo_concatenate([layout.bcoo_update_layout(x, n_batch=n_batch, n_dense=n_dense) for x in operands], dimension=dimension)


@_rule(reduce_sum_p)
def _reduce_sum(x: BCOO, *, axes: tuple[int, ...], out_sharding: Any = None) -> Any:
    _only_bcoo("reduce_sum", x)
    if out_sharding is not None:
        raise NotImplementedError(f"sum of a sparse array: out_sharding must be None, got {out_sharding!r}")
    out = arithmetic.bcoo_reduce_sum(x, axes=axes)
    return out if out.shape else out.todense()


def _of_bcoo(primitive: Any, function: Callable) -> None:
    @_rule(primitive)
    def rule(x: BCOO, **params: Any) -> BCOO:
        _only_bcoo(primitive, x)
        return function(x, **params)


_of_bcoo(reshape_p, layout.bcoo_reshape)
_of_bcoo(rev_p, layout.bcoo_rev)
_of_bcoo(squeeze_p, layout.bcoo_squeeze)
_of_bcoo(transpose_p, layout.bcoo_transpose)
_of_bcoo(slice_p, slicing.bcoo_slice)


@_rule(dynamic_slice_p)
def _dynamic_slice(x: Any, *starts: Any, slice_sizes: Any) -> Any:
    _only_bcoo("dynamic_slice", x)
    return slicing.bcoo_dynamic_slice(x, starts, slice_sizes)


@_rule(gather_p)
def _gather(x: BCOO, indices: ArrayLike, *, dimension_numbers: GatherDimensionNumbers, slice_sizes: tuple[int, ...], **params: Any) -> BCOO:
    _only_bcoo("gather", x)
    return slicing.bcoo_gather(x, indices, dimension_numbers, slice_sizes, **params)


# --- calls and control flow ---


@_rule(jit_p)
@_rule(checkpoint_p)
def _call(*operands: BCOO, jaxpr: ClosedJaxpr, **_params: Any) -> Any:
    return interpret(jaxpr, operands)


@_rule(custom_jvp_call_p)
def _custom_jvp_call(*operands: Any, call_jaxpr: ClosedJaxpr, jvp: Callable, name: str, num_consts: int, **_params: Any) -> list[BCOO]:
    """A call of the same kind on the values; the function's rule is interpreted with sparse tangents, which have their primals' places."""
    consts = operands[:num_consts]
    args = [x.sum_duplicates(nse=x.nse, remove_zeros=False) if is_sparse(x) and not x.unique_indices else x for x in operands[num_consts:]]
    rebuild: list[Callable] = []  # for each result, from an iterator over what the call returns

    def as_given(values: Sequence[Any]) -> Any:
        return [with_data(x, value) if is_sparse(x) else value for x, value in zip(args, values)]

    def returned(results: Any) -> list[list[Any]]:
        """What the call returns: data, and other buffers than those of arguments, which stay known to be the same outside."""
        leaves = []
        rebuild.clear()
        for x in results:
            source = next((a for a in args if is_sparse(a) and is_sparse(x) and a.indices is x.indices and a.shape == x.shape), None)
            if source is None:
                own, tree = pytree.tree_flatten(x)
                rebuild.append(lambda values, tree=tree: pytree.tree_unflatten(tree, [next(values) for _ in range(tree.num_leaves)]))
            else:
                own = [x.data]
                rebuild.append(lambda values, source=source: with_data(source, next(values)))
            leaves.append(own)
        return leaves

    def fun(*values: Any) -> list[Any]:
        return [leaf for own in returned(interpret(call_jaxpr, [*consts, *as_given(values)])) for leaf in own]

    def values_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Array]]:
        given = [t if t is ZERO else x for t, x in zip(tangents, as_given([p if t is ZERO else t for p, t in zip(primals, tangents)]))]
        results, dots = _run_rule(jvp, as_given(primals), given)
        leaves = returned(results)
        out_dots = [[_tangent_of_data(name, x, dot)] + [ZERO] * (len(own) - 1) for x, dot, own in zip(results, dots, leaves)]
        return [leaf for own in leaves for leaf in own], [dot for own in out_dots for dot in own]

    found = iter(CustomJVPCall(fun, values_jvp, [x.data if is_sparse(x) else x for x in args], name).bind())
    return [make(found) for make in rebuild]


def _run_rule(jvp: Callable, primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
    """Results and tangents of a flat derivative rule, some of whose operands are sparse; tangents may be ZERO."""
    present = [t is not ZERO for t in tangents]
    has_dot: list[bool] = []

    def flat(*values: ArrayLike) -> list[Array]:
        known = iter(values[len(primals):])
        results, dots = jvp(list(values[:len(primals)]), [next(known) if p else ZERO for p in present])
        has_dot[:] = [dot is not ZERO for dot in dots]
        return [*results, *(dot for dot in dots if dot is not ZERO)]

    operands = [*primals, *(t for t in tangents if t is not ZERO)]
    out = interpret(make_jaxpr(flat)(*[ShapeDtypeStruct(x.shape, x.dtype) if is_sparse(x) else x for x in operands]), operands)
    dots = iter(out[len(has_dot):])
    return out[:len(has_dot)], [next(dots) if p else ZERO for p in has_dot]


def _tangent_of_data(name: str, x: Any, dot: Any) -> Any:
    """The tangent of a result, or of its data if it is sparse."""
    if dot is ZERO or not (is_sparse(x) or is_sparse(dot)):
        return dot
    if not (is_sparse(x) and is_sparse(dot) and x.indices is dot.indices):
        raise NotImplementedError(f"sparse rule for custom_jvp_call: the derivative rule of {name} gives a tangent that is not stored at "
                                  f"the places of the result: {dot!r} for {x!r}. Make them by the same operations, or use todense in the "
                                  "function.")
    return dot.data


def _without_flags(values: Sequence[Any]) -> list[Any]:
    """Sparse arrays as what is known of all that a branch or a loop may make: branches and turns must give the same type."""
    return [type(x)(x._bufs, shape=x.shape) if is_sparse(x) else x for x in values]


@_rule(cond_p)
def _cond(index: Any, *operands: BCOO, branches: tuple[ClosedJaxpr, ...], branches_platforms: Any = None) -> list[BCOO]:
    functions = [lambda *args, branch=branch: _without_flags(interpret(branch, args)) for branch in branches]
    types = [eval_shape(f, *operands) for f in functions]
    trees = [pytree.tree_structure(t) for t in types]
    shapes = [[(x.shape, x.dtype) for x in pytree.tree_leaves(t)] for t in types]
    for k, (tree, shape) in enumerate(zip(trees, shapes)):
        if tree != trees[0] or shape != shapes[0]:
            (one, of_one), (other, of_other) = ((("true_fun", types[1]), ("false_fun", types[0])) if len(branches) == 2 else
                                                (("branch 0", types[0]), (f"branch {k}", types[k])))
            said = (f"{one} output must have same type structure as sparsified {other} output" if tree != trees[0] else
                    f"{one} and {other} output must have identical types")
            raise TypeError(f"sparsified {said}, got\n{of_one}\nand\n{of_other}.")
    if branches_platforms is not None:
        return platform_switch(index, functions, operands, branches_platforms)
    return control_flow.switch(index, functions, *operands)


@_rule(while_p)
def _while(*operands: BCOO | int, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int,
           **_params: Any) -> list[Any]:
    cond_consts, rest = operands[:cond_nconsts], operands[cond_nconsts:]
    body_consts, carry = rest[:body_nconsts], rest[body_nconsts:]
    return loops.while_loop(lambda c: interpret(cond_jaxpr, (*cond_consts, *c))[0],
                          lambda c: _without_flags(interpret(body_jaxpr, (*body_consts, *c))), _without_flags(carry))


@_rule(scan_p)
def _scan(*operands: Any, jaxpr: ClosedJaxpr, length: int, reverse: bool, unroll: int, num_consts: int, num_carry: int,
          **_params: Any) -> list[Any]:
    consts, carry = operands[:num_consts], operands[num_consts:num_consts + num_carry]
    slices = operands[num_consts + num_carry:]
    if any(map(is_sparse, slices)):
        raise NotImplementedError("sparse rule for scan is not implemented for sparse arrays that are scanned over. Scan over dense ones, "
                                  "or close over the sparse array.")

    def step(c: Sequence[Any], x: Sequence[ArrayLike]) -> tuple[list[Any], list[Array]]:
        results = interpret(jaxpr, (*consts, *c, *x))
        if any(map(is_sparse, results[num_carry:])):
            raise NotImplementedError("sparse rule for scan is not implemented for results that are stacked and sparse. Use todense in the "
                                      "body.")
        return _without_flags(results[:num_carry]), results[num_carry:]

    carry, stacked = loops.scan(step, _without_flags(carry), list(slices), length=length, reverse=reverse, unroll=unroll)
    return [*carry, *stacked]
