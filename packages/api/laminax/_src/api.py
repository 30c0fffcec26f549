"""Functions of the top level that are not transformations: tracing to jaxprs, shapes, transfers."""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps
from typing import Any, Callable, Iterator, Sequence

import laminax_runtime as runtime
from laminax_ir import config
from laminax_ir.avals import ShapeDtypeStruct, ShapedArray
from laminax_ir.jaxpr import ClosedJaxpr
from laminax_ir.keys import PRNGKeyArray
from laminax_ir.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from laminax_ir.trace import Tracer, extend_axis_env

from laminax._src import setup  # noqa: F401
from laminax._src.argument_names import resolve
from laminax._src.jit import _abstract
from laminax._src.tracing import Call, argument_avals, trace_call


def make_jaxpr(fun: Callable, static_argnums: int | Sequence[int] = (),
               axis_env: Sequence[tuple[Any, int]] | None = None, return_shape: bool = False,
               abstracted_axes: Any = None) -> Callable[..., Any]:
    """Makes a function that returns the jaxpr of `fun` for example arguments.

    Args:
      fun: function of arrays, scalars and containers of them.
      static_argnums: positions of arguments that are not traced.
      axis_env: pairs of a named axis and its size, for collectives.
      return_shape: whether to return also the shapes and dtypes of the result.
      abstracted_axes: dynamic shapes; not supported.

    Returns:
      A function of the same arguments (arrays, or anything with shape and dtype) that returns a `ClosedJaxpr`, or with
      `return_shape` a pair of it and a pytree of `ShapeDtypeStruct`.

    Example:
      >>> make_jaxpr(lambda x: jnp.sin(jnp.cos(x)))(3.0)
      { lambda ; a:f32[]. let b:f32[] = cos a; c:f32[] = sin b in (c,) }
    """
    if not callable(fun):
        raise TypeError(f"make_jaxpr: expected a callable, got {fun!r}")
    if abstracted_axes is not None:
        raise NotImplementedError("make_jaxpr: abstracted_axes (dynamic shapes) is not supported")
    argnums, _ = resolve(fun, static_argnums, None, "static")

    @wraps(fun)
    def make(*args, **kwargs) -> Any:
        call = Call(args, kwargs, argnums, ())
        call.leaves = [_abstract(x) for x in call.leaves]
        with extend_axis_env(*(axis_env or ())):
            traced = trace_call(fun, call, argument_avals("make_jaxpr", fun, call), "make_jaxpr")
        if not return_shape:
            return traced.closed
        return traced.closed, tree_unflatten(traced.out_tree, [_struct(aval) for aval in traced.closed.out_avals])

    make.__name__ = f"make_jaxpr({getattr(fun, '__name__', 'fun')})"
    return make


def _struct(aval: ShapedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, named_shape=aval.named_shape)


def eval_shape(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of a function's result, without computing it.

    Args:
      fun: the function.
      *args, **kwargs: arrays, or anything with shape and dtype.

    Returns:
      A pytree like the result, of `ShapeDtypeStruct`.
    """
    call = Call(args, kwargs, (), ())
    call.leaves = [_abstract(x) for x in call.leaves]
    traced = trace_call(fun, call, argument_avals("eval_shape", fun, call), "eval_shape")
    return tree_unflatten(traced.out_tree, [_struct(aval) for aval in traced.closed.out_avals])


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Context manager: jitted functions run as plain Python inside, operation by operation, so that values can be seen."""
    with config.disable_jit(bool(disable)):
        yield


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: bool = False) -> Any:
    """Transfers values to a device.

    Args:
      x: an array, scalar, or pytree of them.
      device: a device, a sharding, or a pytree of them that is a prefix of x; None leaves arrays where they are and
        puts other values on the default device, uncommitted.
      src: where x is; accepted for compatibility, checked to be a device or sharding, and not needed.
      donate: whether the buffers of x may be reused.

    Returns:
      A pytree like x, of arrays, committed to the device if one is given.
    """
    from laminax_ir.pytree import broadcast_prefix
    leaves, tree = tree_flatten(x)
    devices = [None] * len(leaves) if device is None else broadcast_prefix(device, x, is_leaf=lambda d: d is None)
    return tree_unflatten(tree, [_put_leaf(leaf, d, donate) for leaf, d in zip(leaves, devices)])


def _put_leaf(x: Any, device: Any, donate: bool) -> Any:
    if isinstance(x, Tracer):
        if device is None:
            return x
        raise NotImplementedError("device_put of a traced value to a device is not supported yet; move it outside the "
                                  f"traced function. Got {x!r} and {device}")
    if isinstance(x, PRNGKeyArray):
        return PRNGKeyArray(x.impl, runtime.device_put(x.base, device, donate=donate))
    return runtime.device_put(x, device, donate=donate)


def device_get(x: Any) -> Any:
    """Transfers arrays to the host: a pytree like x, with NumPy arrays in the place of arrays."""
    for leaf in tree_leaves(x):
        if isinstance(leaf, runtime.ArrayImpl):
            leaf.copy_to_host_async()
    return tree_map(runtime.device_get, x)


def block_until_ready(x: Any) -> Any:
    """Waits until every array of the pytree has been computed; returns x."""
    runtime.block_until_ready([leaf.base if isinstance(leaf, PRNGKeyArray) else leaf for leaf in tree_leaves(x)])
    return x


def typeof(x: Any) -> ShapedArray:
    """The aval of a value."""
    from laminax_ir.avals import get_aval
    return get_aval(x)


__all__ = ["ClosedJaxpr", "block_until_ready", "device_get", "device_put", "disable_jit", "eval_shape", "make_jaxpr", "typeof"]
