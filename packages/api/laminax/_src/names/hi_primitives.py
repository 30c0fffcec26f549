"""Operations on values of users' types in the form that JAX had before `HiPrim`: `HiPrimitive`.

An instance is an operation on operands of any types, with parameters; its rules get the parameters by name. What interpreters know is a
`HiPrim` for each call's types and parameters, whose rules call those of the operation.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.pytrees.pytree import tree_leaves
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.zeros import Zero
from laminax_transforms.custom.accumulators import GradAccum
from laminax_transforms.custom.user_operations import HiPrim

from laminax._src.names.interpreters.ad import UndefinedPrimal, instantiate_zeros


class HiPrimitive:
    """An operation in the form that JAX had before `HiPrim`; a subclass has its rules as methods.

    * `abstract_eval(*types, **params)`: the type of the result, and a set of effects, which must be empty;
    * `to_lojax(*operands, **params)`: the result, by other operations;
    * for derivatives `jvp(primals, tangents, **params)`: the result and its tangent;
    * for reverse mode, if the operation is linear, `transpose(ct, *operands, **params)`: the operands' cotangents, or None. What the
      operation is linear in is an `UndefinedPrimal`.

    With `multiple_results` results are lists. Parameters are hashable.

    Args:
      name: the operation's name.

    Example:
      >>> class Double(HiPrimitive):
      ...     def abstract_eval(self, aval):
      ...         return aval, set()
      ...     def to_lojax(self, x):
      ...         return 2 * x
      >>> Double("double").bind(3.0)
      Array(6., dtype=float32, weak_type=True)
    """

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._form = type(name, (_Call,), {})  # its name is that of the operation in programs

    def __repr__(self) -> str:
        return self.name

    def is_high(self, *avals: Any, **params: Any) -> bool:
        """Whether the operation is one on values of users' types: it is."""
        return True

    def is_effectful(self, params: dict[str, Any]) -> bool:
        """Whether it has effects: it has none."""
        return False

    def abstract_eval(self, *arg_avals: Any, **params: Any) -> tuple[Any, Any]:
        """The type of the result, and the effects."""
        raise self._no_rule("abstract_eval")

    def to_lojax(self, *operands: Any, **params: Any) -> Any:
        """The result, by other operations."""
        raise self._no_rule("to_lojax")

    def jvp(self, primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        """The result and its tangent."""
        raise self._no_rule("jvp")

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> Any:
        """The cotangents of the operands."""
        raise self._no_rule("transpose")

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Applies the operation.

        Raises:
          NotImplementedError: if a rule is missing that is needed, or the operation has effects.
          TypeError: if a parameter is not hashable.
        """
        for name, value in params.items():
            try:
                hash(value)
            except TypeError as error:
                raise TypeError(f"{self.name}: the parameter {name} must be hashable, got {value!r:.80}: {error}") from None
        return self._form(self, tuple(map(get_aval, operands)), params)(*operands)

    def _no_rule(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"the operation {self.name}: {type(self).__name__} must define the method `{method}`")


class _Call(HiPrim):
    """A `HiPrimitive` for operands of given types, and with given parameters."""

    def __init__(self, operation: HiPrimitive, in_avals: tuple[Any, ...], params: dict[str, Any]) -> None:
        self.in_avals = in_avals
        self.params = {"_operation": operation, "_in_avals": in_avals, "_parameters": tuple(sorted(params.items()))}
        out, effects = operation.abstract_eval(*in_avals, **params)
        if effects:
            raise NotImplementedError(f"the operation {operation.name}: effects are not supported in a HiPrimitive, got {effects}. Have "
                                      "operations in `to_lojax` that have them.")
        self.out_aval = list(out) if operation.multiple_results else out
        self._operation, self._given = operation, params
        super().__init__()

    def expand(self, *operands: Any) -> Any:
        return self._as_list(self._operation.to_lojax(*operands, **self._given))

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        result, tangent = self._operation.jvp(tuple(primals), tuple(map(instantiate_zeros, tangents)), **self._given)
        return self._as_list(result), self._as_list(tangent)

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
        operands = [UndefinedPrimal(x.aval) if isinstance(x, GradAccum) else x for x in maybe_accums]
        cts = self._operation.transpose(out_ct, *operands, **self._given)
        for accum, ct in zip(maybe_accums, cts):
            if isinstance(accum, GradAccum) and ct is not None and not isinstance(ct, Zero):
                accum.accum(ct)

    def _as_list(self, results: Any) -> Any:
        """The results of an operation with several, which may come as any pytree."""
        return tree_leaves(results) if self._operation.multiple_results else results
