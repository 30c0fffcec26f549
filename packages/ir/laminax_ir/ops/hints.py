"""Operations that compute nothing, and tell whoever handles the program about a value: be traced, be kept, be marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.programs.effects import Effect, KeepEffect
from laminax_ir.programs.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.pytrees.pytree import tree_leaves, tree_map
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.avals import ShapedArray

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

stage_p = Primitive("stage", family="hints")
todense_p = Primitive("todense", family="hints")
dce_sink_p = Primitive("dce_sink", multiple_results=True, family="hints")
xla_metadata_value_p = Primitive("xla_metadata_value", family="hints")

keep_effect = KeepEffect("Keep")


@shape_rule(stage_p)
@shape_rule(todense_p)
def _same_shape(x: ShapedArray) -> ShapedArray:
    return x


@shape_rule(xla_metadata_value_p)
def _xla_metadata_value_shape(x: ShapedArray, *, xla_metadata_kvs: tuple[tuple[str, Any], ...]) -> ShapedArray:
    return x


@shape_rule(dce_sink_p)
def _dce_sink_shape(x: ShapedArray, *, prevent_mlir_dce: bool) -> list[ShapedArray]:
    return []


@effects_rule(dce_sink_p)
def _dce_sink_effects(x: ShapedArray, *, prevent_mlir_dce: bool) -> set[Effect]:
    return {keep_effect}


def stage(x: ArrayLike, /) -> Any:
    """The value as one of the trace at work, or outside of any as an array.

    Args:
      x: an array or scalar, of any dtype.

    Returns:
      The same value, of x's shape, dtype and weak type: x itself if it is traced already.

    Example:
      >>> stage(np.float32([1, 2]))
      array([1., 2.], dtype=float32)
    """
    return x if isinstance(x, Tracer) else stage_p.bind(x)


def todense(x: Any, /) -> Any:
    """The value, with the word that a function for sparse arrays is to have all its elements here.

    Args:
      x: an array or scalar.

    Returns:
      The same value, of x's shape, dtype and weak type.
    """
    return todense_p.bind(x)


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keeps the computation of values in a program, used or not.

    Args:
      val: pytree of arrays.
      prevent_mlir_dce: whether the compiler is kept from dropping it too; otherwise it stays in the jaxpr only.

    Example:
      >>> def f(x):
      ...     dce_sink(elementwise.sin(x))
      ...     return x
      >>> len(laminax.make_jaxpr(f)(1.0).eqns)  # the sine and the sink
      2
    """
    for leaf in tree_leaves(val):
        dce_sink_p.bind(leaf, prevent_mlir_dce=bool(prevent_mlir_dce))


def with_xla_metadata(x: Any, **attributes: Any) -> Any:
    """The same values, where the operations that compute them carry attributes for the compiler.

    Args:
      x: pytree of arrays.
      attributes: values by name, of which the text counts; an attribute that the operation has already stays as it is.
    """
    in_order = tuple(sorted(attributes.items()))
    return tree_map(lambda leaf: xla_metadata_value_p.bind(leaf, xla_metadata_kvs=in_order), x)
