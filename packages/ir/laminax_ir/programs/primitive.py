"""Primitives and the tables of their rules.

A primitive is a name with a shape rule. All other knowledge of it (its NumPy meaning, how it is differentiated, batched, lowered) lives in
a `RuleTable` of the layer concerned, in a module named like the one that defines the primitive; the table imports that module when the
first of its primitives is looked up.
"""

from __future__ import annotations

import enum
import importlib
import importlib.util
from typing import Any, Callable, Iterable, Sequence

from laminax_ir.tracing.leaks import leaked_tracer_error
from laminax_ir.tracing.trace import Trace, Tracer, state
from laminax_ir.types.avals import ShapedArray


class Trait(enum.Enum):
    """The properties of operations that interpreters ask for beyond rules, instead of comparing the operations' names."""

    FOLLOWS_FIRST_OPERAND = "the result lies in the memory of the first operand, wherever the others lie"
    HAS_OWN_MEMORIES = "the types of the results say themselves in which memory they are, whatever the operands say"
    PRODUCT = "linear in each operand alone, or in the first one, and not in several together"
    CONTRACTION = "sums of products, which take most of the time of a program"
    NAMES_AXES = "what it does depends on the devices, or the examples, along named axes"
    CALLS_PYTHON = "a Python function computes the results"
    ELEMENTWISE = "each element of the result is made of the operands' elements at its place, to which they are broadcast"
    ZERO_AT_ZERO = "of one operand, and 0 where that is 0"
    ADDITIVE = "of one operand, and for a sum the sum of the results for its terms; so 0 at 0, too"
    TYPES_ITS_RESULTS = "the shape rule says of the results how they are split and where they lie, too"
    PASSES_RESULTS_ON = "the results are those of the programs that it calls, or its operands, and no values of its own"
    STASHES = "hands references among its operands to a backward rule"
    PASSES_STASHES = "the parameters of its programs are its operands, without the choice of a branch; derivatives are made of programs"
    LEAVES_SUMS_OPEN = "the results may be terms of sums, each device one, though no operand is"
    RUNS_PER_DEVICE = "each device of the mesh, a parameter of this name, runs a program on its part"
    # How far NumPy computes an operation to the bits of the CPU's compiler; one of these, or none.
    EXACT_MOVE = "exact for all types: elements go elsewhere, and integers become others or are rounded to floats"
    EXACT_WHOLE = "exact for integers, booleans and keys"
    EXACT_COMPARISON = "exact for integers and booleans, and floats that are not subnormal"
    EXACT_CHOICE = "exact for integers and booleans, and floats that are neither subnormal nor NaN, nor zeros of two signs"
    EXACT_ROUNDING = "exact for integers and booleans, and floats whose results are rounded once"
    HASHES_KEYS = "draws bits, or keys, of keys"
    FOLLOWS_HASHES = "has the same bits whether it is compiled with the hashes that are its operands, or in a program of its own"


CALL_TRAITS = (Trait.TYPES_ITS_RESULTS, Trait.PASSES_RESULTS_ON)  # of operations that call one program


class _NoShapeRule:
    """Stands where a primitive has no shape rule."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *avals: ShapedArray, **params: Any) -> Any:
        raise NotImplementedError(f"Abstract evaluation for {self.name!r} not implemented: give its shape rule to def_abstract_eval")


class Primitive:
    """An operation of the IR.

    Args:
      name: the printed name, `reduce_sum`.
      multiple_results: whether `bind` returns a list.
      family: the module of `laminax_ir.ops` that defines it; rule modules of the other layers are named alike.
      module: the module that defines it, if that is another, for pickling.
      traits: what interpreters ask of it.

    A primitive has a shape rule `shape_rule(*avals, **params)`, which checks the operands and returns the
    result's aval (a list of them with `multiple_results`), and optionally an effects rule
    `effects_rule(*avals, **params)`, which returns the set of effects.
    """

    __slots__ = ("name", "multiple_results", "family", "module", "shape_rule", "effects_rule", "impl", "traits", "__weakref__")
    call_primitive = False  # whether it takes the function that it calls: interpreters of programs ask it, as of JAX's primitives

    def __init__(self, name: str, *, multiple_results: bool = False, family: str | None = None, module: str | None = None,
                 traits: Iterable[Trait] = ()) -> None:
        self.name: str = name
        self.module: str = module or f"laminax_ir.ops.{family}"
        self.multiple_results: bool = multiple_results
        self.family: str | None = family
        self.traits: frozenset[Trait] = frozenset(traits)
        self.shape_rule: Callable[..., Any] = _NoShapeRule(name)
        self.effects_rule: Callable[..., Any] | None = None
        self.impl: Callable[..., Any] | None = None

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Sets what computes the operation on values outside of every transformation: `impl(*operands, **params)`."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, abstract_eval: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the shape rule: `abstract_eval(*avals, **params)` gives the result's aval, or a sequence of them."""
        self.shape_rule = lambda *avals, **params: self._checked_result(abstract_eval(*avals, **params))
        return abstract_eval

    def def_effectful_abstract_eval(self, effectful_abstract_eval: Callable[..., Any]) -> Callable[..., Any]:
        """Sets shape and effects rule in one: `effectful_abstract_eval(*avals, **params)` gives its result, and a set of effects."""
        self.shape_rule = lambda *avals, **params: self._checked_result(effectful_abstract_eval(*avals, **params)[0])
        self.effects_rule = lambda *avals, **params: frozenset(effectful_abstract_eval(*avals, **params)[1])
        return effectful_abstract_eval

    @property
    def is_users(self) -> bool:
        """Whether a user or a library defined it: then it has no family among those of the layers, and rules of any kind."""
        return self.family is None

    @property
    def has_shape_rule(self) -> bool:
        """Whether the primitive was given a shape rule."""
        return type(self.shape_rule) is not _NoShapeRule

    def _checked_result(self, result: Any) -> ShapedArray:
        """The result of a shape rule, checked: one aval, or a list or tuple of them if the primitive has multiple results."""
        if isinstance(result, (tuple, list)) is not self.multiple_results:
            raise ValueError(f"{self.name}.abstract_eval() method should return a tuple or list if, and only if, "
                             f"{self.name}.multiple_results is True. It is {self.multiple_results}, and the result was {result!r}.")
        return result

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Applies the operation to operands under the current trace."""
        return state.trace.process(self, operands, params)

    def bind_with_trace(self, trace: Trace, args: Sequence[Any], avals: Sequence[ShapedArray], params: dict[str, Any], /) -> Any:
        """Has a trace interpret the operation, whichever trace is current: with this, interpreters of users hand operations on.

        Args:
          trace: the trace.
          args: the operands.
          avals: their types.
          params: the parameters.
        """
        for x in args:
            if isinstance(x, Tracer) and x._trace.ended:
                raise leaked_tracer_error(x)
        return trace.process_primitive(self, args, params)

    def get_bind_params(self, params: dict[Any, Any]) -> dict[Any, Any]:
        """The parameters for `bind`, made of those of an equation: the same ones. Interpreters of programs call this."""
        return params

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return _find_primitive, (self.module, self.name)


def _find_primitive(module: str, name: str) -> Primitive:
    return getattr(importlib.import_module(module), f"{name.replace('-', '_')}_p")  # `scatter-add` is `scatter_add_p`


def shape_rule(primitive: Primitive) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function is the primitive's shape rule."""
    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        if primitive.has_shape_rule:
            raise ValueError(f"{primitive}: a second shape rule, in {rule.__module__}; "
                             f"the first is in {primitive.shape_rule.__module__}")
        primitive.shape_rule = rule
        return rule
    return register


def effects_rule(primitive: Primitive) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function gives the primitive's effects."""
    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        primitive.effects_rule = rule
        return rule
    return register


class RuleTable(dict):
    """Rules of one kind by primitive; `table[primitive]` imports the family's rule module when needed.

    Args:
      kind: what the rules are, for messages: "batching".
      package: where the rule modules are, "laminax_transforms.rules".
      hint: what a user can do when there is none.
      title: the name of such a rule in the message that there is none, "Batching rule" from "batching" if left out.
    """

    def __init__(self, kind: str, package: str, hint: str = "", title: str | None = None) -> None:
        super().__init__()
        self.kind = kind
        self.package = package
        self.hint = hint
        self.title: str = title or f"{kind.capitalize()} rule"

    def __missing__(self, primitive: Primitive) -> Callable[..., Any]:
        self.load(primitive)
        if primitive in self:
            return dict.__getitem__(self, primitive)
        raise NotImplementedError(f"{self.title} for '{primitive}' not implemented. {self.hint}".rstrip())

    def load(self, primitive: Primitive) -> None:
        """Imports the rule module of the primitive's family, if there is one."""
        if primitive.family is None:
            return
        name = f"{self.package}.{primitive.family}"
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name)

    def find(self, primitive: Primitive) -> Any | None:
        """The rule, or None when the primitive has none."""
        rule = self.get(primitive)
        if rule is None:
            self.load(primitive)
            rule = self.get(primitive)
        return rule

    def add(self, primitive: Primitive, rule: Any) -> None:
        """Registers a rule; a second one for the same primitive is refused."""
        if primitive in self:
            first = getattr(dict.__getitem__(self, primitive), "__module__", "?")
            raise ValueError(f"{primitive}: a second {self.kind} rule, in {getattr(rule, '__module__', '?')}; "
                             f"the first is in {first}")
        self[primitive] = rule

    def __call__(self, *primitives: Primitive) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: registers the function for each of the primitives."""
        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            for primitive in primitives:
                self.add(primitive, rule)
            return rule
        return register
