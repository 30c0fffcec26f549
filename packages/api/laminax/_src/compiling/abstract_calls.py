"""Functions called with shapes in the place of arrays: `make_jaxpr` and `eval_shape`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Callable, Sequence, cast

from laminax_ir.pytrees.pytree import tree_map, tree_unflatten
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.tracing.trace import extend_axis_env, state
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.arguments import check_callable, check_hashable
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

from laminax._src.base.argument_names import resolve as resolve_names
from laminax._src.compiling.abstract_arguments import as_abstract
from laminax._src.compiling.tracing import Call, argument_avals, function_name, trace_call

if TYPE_CHECKING:
    from laminax_ir.recording.staging_trace import StagingTrace


def make_jaxpr(fun: Callable, static_argnums: int | Sequence[int] = (),
               axis_env: Sequence[tuple[Any, int]] | None = None, return_shape: bool = False,
               abstracted_axes: Any = None) -> Callable[..., Any]:
    """Makes a function that returns the jaxpr of `fun` for example arguments.

    Args:
      fun: function of arrays, scalars and containers of them.
      static_argnums: positions of arguments that are not traced.
      axis_env: pairs of a named axis and its size, for collectives.
      return_shape: whether to return also the shapes and dtypes of the result.
      abstracted_axes: names for the sizes of axes, as for `jit`: types show the names, `f32[n,4]`.

    Returns:
      A function of the same arguments (arrays, or anything with shape and dtype) that returns a `ClosedJaxpr`, or with
      `return_shape` a pair of it and a pytree of `ShapeDtypeStruct`.

    Example:
      >>> make_jaxpr(lambda x: jnp.sin(jnp.cos(x)))(3.0)
      { lambda ; a:f32[]. let b:f32[] = cos a; c:f32[] = sin b in (c,) }
    """
    check_callable("make_jaxpr", fun)
    named_axes = None
    if abstracted_axes is not None:
        from laminax._src.compiling.abstracted_axes import AbstractedAxes
        named_axes = AbstractedAxes("make_jaxpr", abstracted_axes)
    argnums, _ = resolve_names(fun, static_argnums, None, "static")
    axes = tuple(axis_env or ())
    check_hashable("make_jaxpr", "a name in axis_env", *(name for name, _ in axes))

    @api_boundary
    @wraps(fun)
    def make(*args: Any, **kwargs: Any) -> Any:
        call = Call(args, kwargs, argnums, ())
        call.leaves = [as_abstract(x) for x in call.leaves]
        avals = argument_avals("make_jaxpr", fun, call)
        if named_axes is not None and (named := named_axes.of_call(f"make_jaxpr({function_name(fun)})", fun, call, avals)) is not None:
            avals = named.avals
        with extend_axis_env(*axes) if axes else nullcontext():
            traced = trace_call(fun, call, avals, "make_jaxpr")
        if not return_shape:
            return traced.closed
        return traced.closed, tree_unflatten(traced.out_tree, [as_struct(aval) for aval in traced.closed.out_avals])

    make.__name__ = f"make_jaxpr({getattr(fun, '__name__', 'fun')})"
    make.__module__ = "laminax"
    make.__qualname__ = f"make_jaxpr({getattr(fun, '__qualname__', 'fun')})"
    return make


def as_struct(aval: ShapedArray, where: Any = None) -> ShapeDtypeStruct:
    """The `ShapeDtypeStruct` of a type, which `eval_shape` returns; `where` is the sharding or the format, by default that of the type."""
    if isinstance(aval, HiType):
        return aval
    sharding = aval.sharding if where is None and aval._split is not None else where
    mat = aval.mat if checked_axes() else None  # inside of a checked shard_map, along which of its axes the value varies
    return ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type, named_shape=aval.named_shape,
                            manual_axis_type=None if mat is None or mat.empty else mat)


@api_boundary
def eval_shape(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of a function's result, without computing it.

    Args:
      fun: the function.
      *args, **kwargs: arrays, or anything with shape and dtype.

    Returns:
      A pytree like the result, of `ShapeDtypeStruct`.

    Example:
      >>> eval_shape(lambda a, b: a @ b, ShapeDtypeStruct((2, 3), "float32"), ShapeDtypeStruct((3, 4), "float32"))
      ShapeDtypeStruct(shape=(2, 4), dtype=float32)
    """
    if hasattr(fun, "_laminax_jit") and hasattr(fun, "eval_shape"):  # a jitted function knows which of its arguments are static
        return fun.eval_shape(*args, **kwargs)
    check_callable("eval_shape", fun)
    call = Call(args, kwargs, (), ())
    call.leaves = [as_abstract(x) for x in call.leaves]

    def with_values(*args: Any, **kwargs: Any) -> Any:  # a result may be a struct already
        program = cast("StagingTrace", state.trace)
        return tree_map(lambda x: program.new_input(ShapedArray(x.shape, x.dtype, x.weak_type)) if isinstance(x, ShapeDtypeStruct) else x,
                        fun(*args, **kwargs))

    traced = trace_call(wraps(fun, updated=())(with_values), call, argument_avals("eval_shape", fun, call), "eval_shape")
    return tree_unflatten(traced.out_tree, [as_struct(aval) for aval in traced.closed.out_avals])


def typeof(x: Any) -> ShapedArray:
    """The aval of a value: shape, dtype and whether the dtype is weak; or of what a `ShapeDtypeStruct` describes.

    Raises:
      TypeError: if x is no array or scalar.

    Example:
      >>> typeof(jnp.ones((2, 3)))
      ShapedArray(float32[2,3])
    """
    if not isinstance(x, ShapeDtypeStruct):
        return get_aval(x)
    aval = as_abstract(x).aval
    return aval.update(named_shape=x.named_shape) if x.named_shape else aval


__all__ = ["eval_shape", "make_jaxpr", "typeof"]
