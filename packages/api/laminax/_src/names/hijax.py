"""Operations of one's own with all their rules, and types of values over those of arrays (JAX's hijax).

The operations are `HiPrim`, or in an older form `HiPrimitive`, the types `HiType`. Values that change can be defined, since libraries do so
when they are imported; what uses them says that it is not supported.
"""

from __future__ import annotations

from typing import Any, NoReturn

from laminax_ir.programs.effects import control_flow_allowed_effects
from laminax_ir.tracing.type_attributes import aval_method, aval_property
from laminax_ir.types.hi_types import HiPspec, HiType, MappingSpec, register_hitype
from laminax_transforms.custom.accumulators import GradAccum, NullAccum, RefAccum, ValAccum
from laminax_transforms.custom.derived_rules import jvp_from_lin, linearize_from_jvp, vjp_from_jvp, vjp_from_lin
from laminax_transforms.custom.rule_batching import bdims_at_front, unmap_avals, vmap_rule
from laminax_transforms.custom.user_operations import HiPrim

from laminax._src.names.hi_primitives import HiPrimitive
from laminax._src.names.interpreters.ad import Zero, instantiate_zeros, is_undefined_primal

__all__ = [
    "AvalMutableQDD", "AvalQDD", "GradAccum", "HiPrim", "HiPrimitive", "HiPspec", "HiType", "MappingSpec", "MutableHiType", "NullAccum",
    "RefAccum", "VJPHiPrimitive", "ValAccum", "Zero", "aval_method", "aval_property", "bdims_at_front", "control_flow_allowed_effects",
    "cur_qdd", "instantiate_zeros", "is_undefined_primal", "jvp_from_lin", "linearize_from_jvp", "register_hitype", "unmap_avals",
    "vjp_from_jvp", "vjp_from_lin", "vmap_rule",
]


def _refuse(what: str, advice: str) -> NoReturn:
    raise NotImplementedError(f"{what} is not supported. {advice}")


class MutableHiType(HiType):
    """A base class for types of values that change: subclasses can be defined. References to arrays, `new_ref`, do change."""

    def lo_ty(self) -> NoReturn:
        """Not supported.

        Raises:
          NotImplementedError: always.
        """
        _refuse(f"a value of the type {type(self).__name__}, whose values change, in a program", "Use references to arrays (new_ref).")


VJPHiPrimitive = HiPrim  # its name before JAX 0.12


class AvalQDD:
    """Not supported: the type of a value together with what is in it at a moment.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, aval: Any, qdd: Any) -> None:
        _refuse("experimental.hijax.AvalQDD", f"Got {aval!r}. References to arrays (new_ref) keep their type.")


class AvalMutableQDD(AvalQDD):
    """Not supported, as `AvalQDD`.

    Raises:
      NotImplementedError: always.
    """


def cur_qdd(x: Any) -> NoReturn:
    """Not supported: the contents of a value of a user's type.

    Raises:
      NotImplementedError: always.
    """
    _refuse("experimental.cur_qdd", f"Got {type(x).__name__}. What is in a reference to an array is ref[...].")
