"""`xla_computation`: a function as XLA's own program, before optimisation.

The older way to look at the compiler's input. It also lowers a program with collectives without the devices to run it: `axis_env`
names the axes and their sizes.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import laminax_runtime as runtime
from laminax_ir.pytrees.pytree import broadcast_prefix, tree_unflatten
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

from laminax._src.base.argument_names import resolve
from laminax._src.compiling.abstract_arguments import as_abstract
from laminax._src.compiling.abstract_calls import as_struct
from laminax._src.compiling.executables import lowering_platform
from laminax._src.compiling.jit import JitFunction
from laminax._src.compiling.jit_options import JitOptions
from laminax._src.compiling.tracing import Call, argument_avals, function_name, trace_call

# With tuple_args=None, more parameters than this become one tuple: some platforms limit their number.
_MANY_ARGUMENTS = 100


def xla_computation(fun: Callable, static_argnums: int | Sequence[int] = (),
                    axis_env: Sequence[tuple[Any, int]] | None = None, in_parts: Any = None, out_parts: Any = None,
                    backend: str | None = None, tuple_args: bool | None = False, instantiate_const_outputs: bool | None = None,
                    return_shape: bool = False, donate_argnums: int | Sequence[int] = ()) -> Callable[..., Any]:
    """Makes a function that returns the XLA computation of `fun` for example arguments.

    Args:
      fun: function of arrays, scalars and containers of them.
      static_argnums: positions of arguments that are not traced.
      axis_env: pairs of a named axis and its size, for collectives; the computation is for as many replicas as the
        product of the sizes, numbered with the last axis fastest.
      in_parts: how the arguments are split over devices: a prefix of the tuple of arguments, of partition specs with one
        number of parts per array axis, or None for replicated.
      out_parts: the same for the result.
      backend: the platform to write it for, "cpu", "gpu" or "tpu"; by default the default platform.
      tuple_args: whether the computation takes one tuple; None: if there are more than 100 arguments.
      instantiate_const_outputs: without effect, as documented.
      return_shape: whether to return also the shapes, dtypes and named shapes of the result.
      donate_argnums: positions of arguments whose buffers the computation may overwrite.

    Returns:
      A function of the same arguments (arrays, or anything with shape and dtype), that returns an object with the methods
      `as_hlo_text`, `as_serialized_hlo_module_proto`, `as_hlo_dot_graph` and `program_shape`; with `return_shape` a pair of
      it and a pytree of `ShapeDtypeStruct`. The computation returns a tuple.

    Raises:
      TypeError, ValueError: for arguments of the wrong kind.

    Example:
      >>> c = xla_computation(lambda x: jnp.sin(jnp.cos(x)))(3.)
      >>> print(c.as_hlo_text())
    """
    check_callable("xla_computation", fun)
    axes = _checked_axes(axis_env)
    static, _ = resolve(fun, static_argnums, None, "static")
    donated, _ = resolve(fun, donate_argnums, None, "donate")
    donating = JitFunction(fun, JitOptions(donate_argnums=donated))
    name = f"xla_computation_{function_name(fun)}"

    @api_boundary
    @wraps(fun)
    def make(*args: Any, **kwargs: Any) -> Any:
        call = Call(args, kwargs, static, ())
        call.leaves = [as_abstract(x) for x in call.leaves]
        avals = argument_avals("xla_computation", fun, call)
        with extend_axis_env(*axes.items()):
            traced = trace_call(fun, call, avals, "xla_computation", keeps_refs=False)
        closed = traced.closed
        in_specs = _flat_specs("in_parts", in_parts, tree_unflatten(call.in_tree, avals)[0], avals)
        shapes = tree_unflatten(traced.out_tree, [as_struct(aval) for aval in closed.out_avals])
        out_specs = _flat_specs("out_parts", out_parts, shapes, closed.out_avals)
        lowered = lower(closed, name=name, platform=_platform(backend), keep_unused=True, inline_consts=True,
                        donated=donating.donated(call),
                        num_replicas=math.prod(axes.values()), num_partitions=_partition_count([*in_specs, *out_specs]),
                        axis_env=axes, arg_shardings=[_hlo_sharding(s) for s in in_specs] if in_parts is not None else None,
                        result_shardings=[_hlo_sharding(s) for s in out_specs] if out_parts is not None else None)
        text = lowered.text.replace(f"module @{lowered.name} ", f"module @{lowered.name.removeprefix('jit_')} ", 1)
        is_tuple = len(avals) > _MANY_ARGUMENTS if tuple_args is None else bool(tuple_args)
        computation = runtime.hlo_computation(text, use_tuple_args=is_tuple, return_tuple=True)
        return (computation, shapes) if return_shape else computation

    make.__name__ = f"xla_computation({function_name(fun)})"
    return make


def _checked_axes(axis_env: Any) -> dict[Any, int]:
    axes: dict[Any, int] = {}
    for entry in axis_env or ():
        try:
            name, size = entry
            is_size = not isinstance(size, bool) and size.__index__() > 0
        except (TypeError, ValueError, AttributeError):
            is_size = False
        if not is_size:
            raise TypeError("xla_computation: axis_env must be a sequence of pairs of an axis name and a positive size, "
                            f"such as [('i', 4)]; got {entry!r} in it")
        if name in axes:
            raise ValueError(f"xla_computation: axis_env names the axis {name!r} twice: {axis_env!r}")
        axes[name] = size.__index__()
    return axes


def _platform(backend: str | None) -> str:
    """The lowering's name for a platform, which need not be available."""
    if backend is None:
        return lowering_platform(runtime.local_devices()[0])
    return {"gpu": "cuda"}.get(backend, backend)


def _flat_specs(what: str, parts: Any, tree: Any, avals: Sequence[ShapedArray]) -> list[tuple[int, ...] | None]:
    """One partition spec per leaf; None where it is replicated."""
    if parts is None:
        return [None] * len(avals)
    leaves = broadcast_prefix(parts, tree, is_leaf=_is_spec)
    leaves += [None] * (len(avals) - len(leaves))  # keyword arguments, for which in_parts has no entries
    return [_checked_spec(what, spec, aval) for spec, aval in zip(leaves, avals, strict=True)]


def _is_spec(x: Any) -> bool:
    """Partition specs are tuples of their own class, or plain tuples of numbers."""
    return x is None or isinstance(x, tuple) and (type(x) is not tuple or bool(x) and all(isinstance(n, int) for n in x))


def _checked_spec(what: str, spec: Any, aval: ShapedArray) -> tuple[int, ...] | None:
    if spec is None:
        return None
    sizes = tuple(1 if n is None else n for n in spec) if isinstance(spec, tuple) else None
    if sizes is None or not all(isinstance(n, int) and n > 0 for n in sizes):
        raise TypeError(f"xla_computation: {what} takes partition specs of one positive number per array axis, or None; got "
                        f"{spec!r}")
    if len(sizes) != aval.ndim:
        raise ValueError(f"xla_computation: {what} gives {spec!r} for {aval.str_short()}: {len(sizes)} numbers for "
                         f"{aval.ndim} axes. Give one number of parts per axis.")
    return sizes


def _partition_count(specs: Sequence[tuple[int, ...] | None]) -> int:
    counts = {math.prod(spec) for spec in specs if spec is not None}
    if len(counts) > 1:
        raise ValueError("xla_computation: all partition specs must make the same number of parts, but in_parts and out_parts "
                         f"make {', '.join(map(str, sorted(counts)))}. Use None for what is replicated.")
    return counts.pop() if counts else 1


def _hlo_sharding(spec: tuple[int, ...] | None) -> str:
    """A sharding in HLO's text: devices in order, one part each."""
    if spec is None or math.prod(spec) == 1:
        return "{replicated}"
    return f"{{devices=[{','.join(map(str, spec))}]<=[{math.prod(spec)}]}}"
