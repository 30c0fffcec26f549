"""Callbacks on buffers: Python functions that a compiled program calls with its own memory, into which they write their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping

from laminax_ir.ops.callbacks import VMAP_METHODS, announced_avals, flat_arguments
from laminax_ir.ops.ffi import checked_aliases
from laminax_ir.programs.effects import CallEffect, Effect
from laminax_ir.programs.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.pytrees.pytree import tree_unflatten
from laminax_ir.types.avals import ShapedArray, get_aval

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef

buffer_callback_p = Primitive("buffer_callback", multiple_results=True, family="buffer_callbacks")
buffer_callback_effect = CallEffect("BufferCallback")


class FlatBufferCallback:
    """A user's function on flat buffers, of the arguments and then of the results, after the context of the run.

    Equal ones call equal functions in the same way.
    """

    __slots__ = ("fun", "in_tree", "out_tree")

    def __init__(self, fun: Callable, in_tree: PyTreeDef, out_tree: PyTreeDef) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(self, context: Any, *buffers: Any) -> tuple:
        count = self.in_tree.num_leaves
        args, kwargs = tree_unflatten(self.in_tree, buffers[:count])
        returned = self.fun(context, tree_unflatten(self.out_tree, buffers[count:]), *args, **kwargs)
        if returned is not None:
            raise ValueError(f"buffer_callback: the callback {self!r} must not return any values, it writes into its buffers; "
                             f"got {returned!r:.80}")
        return ()

    def __eq__(self, other: Any) -> bool:
        return (isinstance(other, FlatBufferCallback)
                and (self.fun, self.in_tree, self.out_tree) == (other.fun, other.in_tree, other.out_tree))

    def __hash__(self) -> int:
        return hash((id(self.fun), self.in_tree, self.out_tree))

    def __repr__(self) -> str:
        return f"{getattr(self.fun, '__name__', type(self.fun).__name__)}"


@shape_rule(buffer_callback_p)
def _buffer_callback_shape(*_avals: ShapedArray, result_avals: tuple[ShapedArray, ...], **_params: Any) -> list[ShapedArray]:
    return list(result_avals)


@effects_rule(buffer_callback_p)
def _buffer_callback_effects(*_avals: ShapedArray, has_side_effect: bool, **_params: Any) -> set[Effect]:
    return {buffer_callback_effect} if has_side_effect else set()


def buffer_callback(callback: Callable[..., None], result_shape_dtypes: Any, *, has_side_effect: bool = False,
                    vmap_method: str | None = None, input_output_aliases: Mapping[int, int] | None = None,
                    command_buffer_compatible: bool = False) -> Callable[..., Any]:
    """A function that calls a Python function on the buffers of a program, on the CPU or a GPU, without copies.

    Args:
      callback: called as `callback(context, out, *args, **kwargs)`: the context of the run, a container like result_shape_dtypes
        of buffers to write into, and buffers to read in containers like the arguments. It returns None. Buffers are
        arrays by NumPy's, CUDA's and DLPack's protocols: `np.asarray(out)[...] = 0`. They are gone after the call.
      result_shape_dtypes: pytree of objects with shape and dtype that announces the results.
      has_side_effect: whether it must be called also where nobody reads its results.
      vmap_method: what `vmap` does, as for `pure_callback`.
      input_output_aliases: which argument (key) shares its memory with which result (value), counting leaves.
      command_buffer_compatible: on a GPU, whether the function's operations may be recorded once and repeated without a call of it.

    Returns:
      A function of arrays in containers that returns arrays in a container like result_shape_dtypes.

    Raises:
      ValueError: for an unknown vmap_method, an announced 64-bit type without x64, or aliases that do not fit; when run, if the
        callback returns anything.
      TypeError: if the callback is not callable, or announced results have no shape and dtype.

    Example:
      >>> def add_one(context, out, x):
      ...     np.asarray(out)[...] = np.asarray(x) + 1
      >>> buffer_callback(add_one, ShapeDtypeStruct(x.shape, x.dtype))(x)
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"buffer_callback: vmap_method must be one of the allowed methods {list(VMAP_METHODS)}, but got: {vmap_method}")
    result_avals, out_tree = announced_avals("buffer_callback", result_shape_dtypes)

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, flat = flat_arguments("buffer_callback", callback, args, kwargs)
        out = buffer_callback_p.bind(
            *leaves, callback=FlatBufferCallback(callback, flat.in_tree, out_tree), result_avals=result_avals, vmap_method=vmap_method,
            has_side_effect=bool(has_side_effect), command_buffer_compatible=bool(command_buffer_compatible),
            input_output_aliases=checked_aliases("buffer_callback", input_output_aliases, [get_aval(x) for x in leaves], result_avals))
        return tree_unflatten(out_tree, out)

    return call
