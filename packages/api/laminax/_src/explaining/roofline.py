"""`roofline`: estimates of what functions ask for, made of their programs by `laminax_lowering.costs.roofline`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.ops.shard_map import shard_map_p
from laminax_ir.programs.dce import dce_jaxpr
from laminax_ir.pytrees import pytree
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.types import dtypes
from laminax_ir.types.abstract_meshes import AbstractMesh
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_lowering.costs.roofline import roofline_estimate
from laminax_lowering.costs.roofline_counts import RooflineResult
from laminax_transforms import vjp as vjp_of

from laminax._src.compiling.abstract_calls import make_jaxpr
from laminax._src.parallel.shard_map import shard_map


def roofline(f: Callable, mesh: runtime.Mesh | AbstractMesh | None = None, in_specs: Any = None, out_specs: Any = None, *,
             pin_lhs_in_vmem: bool = False, pin_rhs_in_vmem: bool = False, vjp: bool = False,
             print_jaxpr: bool = False) -> Callable[..., tuple[Any, RooflineResult]]:
    """Makes a function that estimates what `f` asks for, and computes nothing.

    Args:
      f: function of arrays and pytrees of them.
      mesh: where it runs; collectives need it.
      in_specs, out_specs: as for `shard_map`. Given both and a mesh, `f` is the program of each device.
      pin_lhs_in_vmem, pin_rhs_in_vmem: leave the left operand of products and their result, or the right one, out of the bytes: they are
        in faster memory.
      vjp: estimate the vector-Jacobian product of `f` instead.
      print_jaxpr: print the program that is counted.

    Returns:
      A function of `f`'s arguments, for which `ShapeDtypeStruct`s are enough. It returns the `ShapeDtypeStruct`s of the results and a
      `RooflineResult`. Of a function that runs programs per device, the last of these counts, for one device.

    Raises:
      TypeError: if f is no function.

    Example:
      >>> shapes, result = roofline(lambda x, w: jnp.tanh(x @ w))(jnp.ones((8, 16)), jnp.ones((16, 4)))
      >>> result.flops, result.unfused_flops, result.peak_hbm_bytes  # a product of 2 * 8 * 16 * 4 operations, and one per tanh
      (1024, 1056, 768)

    Source: JAX's `jax.experimental.roofline`; Williams et al., "Roofline: an insightful visual performance model", CACM 2009.
    """
    check_callable("roofline", f)

    @wraps(f)
    def estimate(*args: Any) -> tuple[Any, RooflineResult]:
        called = f
        if mesh is not None and in_specs is not None and out_specs is not None:
            called = shard_map(called, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
        closed, shapes = make_jaxpr(_pullback(called) if vjp else called, return_shape=True)(*args)
        if mesh is not None and out_specs is not None:
            shapes = _with_specs(shapes, mesh, out_specs)
        jaxpr, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
        per_device = [eqn for eqn in jaxpr.eqns if eqn.primitive is shard_map_p]
        around = per_device[-1].params["mesh"] if per_device else mesh
        counted = per_device[-1].params["jaxpr"].jaxpr if per_device else jaxpr
        if print_jaxpr:
            print(counted)
        return shapes, roofline_estimate(
            counted, mesh if mesh is not None else around, pin_lhs_in_vmem=pin_lhs_in_vmem, pin_rhs_in_vmem=pin_rhs_in_vmem)
    return estimate


def roofline_and_grad(f: Callable, mesh: runtime.Mesh | AbstractMesh, in_specs: Any, out_specs: Any, *, pin_lhs_in_vmem: bool = False,
                      pin_rhs_in_vmem: bool = False,
                      print_jaxpr: bool = False) -> Callable[..., tuple[Any, RooflineResult, RooflineResult]]:
    """Makes a function that estimates what `f` asks for, and its derivative, which is computed in bfloat16.

    Args:
      f, mesh, in_specs, out_specs, pin_lhs_in_vmem, pin_rhs_in_vmem, print_jaxpr: as for `roofline`.

    Returns:
      A function of arrays or `ShapeDtypeStruct`s with shardings, which returns the results' `ShapeDtypeStruct`s and two `RooflineResult`s:
      of the function, and of its vector-Jacobian product at arguments of the dtype bfloat16, or int32 where they are.
    """
    options: dict[str, Any] = dict(pin_lhs_in_vmem=pin_lhs_in_vmem, pin_rhs_in_vmem=pin_rhs_in_vmem, print_jaxpr=print_jaxpr)

    @wraps(f)
    def estimate(*args: Any) -> tuple[Any, RooflineResult, RooflineResult]:
        shapes, forward = roofline(f, mesh, in_specs, out_specs, **options)(*args)
        rounded = pytree.tree_map(lambda x: ShapeDtypeStruct(
            x.shape, np.dtype(np.int32) if x.dtype == np.int32 else dtypes.bfloat16, sharding=x.sharding), args)
        _, backward = roofline(f, mesh, in_specs, out_specs, vjp=True, **options)(*rounded)
        return shapes, forward, backward
    return estimate


def _pullback(f: Callable) -> Callable:
    """The function that computes cotangents of the arguments, of a cotangent that is the result."""
    @wraps(f)
    def pullback(*args: Any) -> Any:
        result, pull = vjp_of(f, *args)
        return pull(pytree.tree_map(lambda y: y if dtypes.issubdtype(y.dtype, np.inexact) else np.zeros(y.shape, dtypes.float0), result))
    return pullback


def _with_specs(shapes: Any, mesh: Any, specs: Any) -> Any:
    leaves, structure = pytree.tree_flatten(shapes)
    flat_specs = pytree.broadcast_prefix(specs, shapes)
    return structure.unflatten([ShapeDtypeStruct(x.shape, x.dtype, sharding=runtime.NamedSharding(mesh, spec))
                                for x, spec in zip(leaves, flat_specs)])
