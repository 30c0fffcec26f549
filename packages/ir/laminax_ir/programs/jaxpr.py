"""Jaxprs: programs as lists of equations.

A `Jaxpr` is a function of its constvars and invars: a list of equations in order, then its outputs. Each
variable is assigned once. A `ClosedJaxpr` carries the values of its constvars.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, NamedTuple, Protocol, Sequence, final

from laminax_ir.options.composition import compose
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_ir.tracing import source
from laminax_ir.tracing.operation_attributes import attributes_of
from laminax_ir.types.avals import ShapedArray, get_aval

no_effects: frozenset[Any] = frozenset()


class ProgramPrinter(Protocol):
    """An object that writes programs as text. The printer imports this module; `set_printer` registers it."""

    def format_jaxpr(self, jaxpr: Jaxpr, **options: bool) -> str:
        """A program as text."""

    def format_eqn(self, eqn: JaxprEqn) -> str:
        """One equation as text."""

    def format_html(self, jaxpr: Jaxpr) -> str:
        """A program as HTML."""


def _first_printer() -> ProgramPrinter:
    compose()  # installs a printer in this one's place
    return _load_printer()


_load_printer: Callable[[], ProgramPrinter] = _first_printer


def set_printer(load: Callable[[], ProgramPrinter]) -> None:
    """Registers the function that gives the printer; it is called whenever something is printed, and may import it."""
    global _load_printer
    _load_printer = load


class Var:
    """A variable of a jaxpr. Identity is what distinguishes it; names exist in print only."""

    __slots__ = ("aval", "__weakref__")

    def __init__(self, aval: Any) -> None:
        self.aval: Any = aval  # a `ShapedArray`, or the type of a reference

    def __repr__(self) -> str:
        return f"Var({id(self):#x}):{self.aval.str_short()}"


class DropVar(Var):
    """An output that nobody uses, printed `_`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


@final
class Literal:
    """A scalar constant written into the program.

    Args:
      val: a Python or NumPy scalar, or a rank-0 array.
      aval: its aval.
    """

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: ShapedArray | None = None) -> None:
        self.val: Any = val
        self.aval: ShapedArray = get_aval(val) if aval is None else aval

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short()}"


Atom = Var | Literal


class EquationContext(NamedTuple):
    """What the block around an operation said of it: `xla_metadata` are the attributes that `set_xla_metadata` has given it, as texts."""

    xla_metadata: dict[str, str]


class JaxprEqn:
    """One equation: `outvars = primitive[params] invars`."""

    __slots__ = ("invars", "outvars", "primitive", "params", "effects", "source_info")

    invars: Sequence[Atom]
    outvars: Sequence[Var]
    primitive: Primitive
    params: dict[str, Any]
    effects: frozenset[Any]
    source_info: source.SourceInfo

    def __init__(self, invars: Sequence[Atom], outvars: Sequence[Var], primitive: Primitive, params: dict[str, Any],
                 effects: frozenset[Any] = no_effects, source_info: source.SourceInfo = source.unknown) -> None:
        self.invars = invars
        self.outvars = outvars
        self.primitive = primitive
        self.params = params
        self.effects = effects
        self.source_info = source_info

    @property
    def ctx(self) -> EquationContext:
        """What the block around the operation said of it."""
        return EquationContext(attributes_of(self.source_info.name_stack))

    def replace(self, **changes: Any) -> JaxprEqn:
        """The same equation with the given fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__} | changes
        return JaxprEqn(**fields)

    def __repr__(self) -> str:
        return _load_printer().format_eqn(self)


class Jaxpr:
    """A program. See the module docstring.

    Args:
      constvars: variables bound to constants.
      invars: the parameters.
      outvars: the results, variables or literals.
      eqns: the equations, in an order in which each variable is assigned before it is used.
      effects: the union of the equations' effects.
      name: the traced function's name, for messages and compiled modules.
    """

    __slots__ = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info", "__weakref__")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom],
                 eqns: Sequence[JaxprEqn], effects: Iterable[Any] | None = None, debug_info: str | None = None) -> None:
        self.constvars: list[Var] = list(constvars)
        self.invars: list[Var] = list(invars)
        self.outvars = list(outvars)
        self.eqns: list[JaxprEqn] = list(eqns)
        self.effects: frozenset[Any] = joined_effects(self.eqns) if effects is None else frozenset(effects)
        self.debug_info: str | None = debug_info

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outvars]

    consts: property = property(lambda self: [], doc="The values of the constvars, which a closed jaxpr has: none here.")
    literals: property = consts
    num_consts: property = property(lambda self: 0)

    @property
    def jaxpr(self) -> Jaxpr:
        """The jaxpr itself: programs, closed or not, answer the same questions."""
        return self

    @property
    def all_invars(self) -> list[Var]:
        """The constvars and the parameters."""
        return [*self.constvars, *self.invars]

    def with_consts(self, consts: Sequence[Any]) -> ClosedJaxpr:
        """The closed jaxpr in which these are the values of the first of `all_invars`, which are its constvars."""
        variables = self.all_invars
        if len(consts) > len(variables):
            raise ValueError(f"with_consts: {len(consts)} values for a jaxpr of {len(variables)} inputs")
        return ClosedJaxpr(self.replace(constvars=variables[:len(consts)], invars=variables[len(consts):]), consts)

    def replace(self, **changes: Any) -> Jaxpr:
        """The same jaxpr with the given fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "__weakref__"} | changes
        if "eqns" in changes and "effects" not in changes:
            fields["effects"] = None
        return Jaxpr(**fields)

    def pretty_print(self, **options: Any) -> str:
        """The program as text; options as for `laminax_ir.programs.printer.format_jaxpr`."""
        return _load_printer().format_jaxpr(self, **options)

    def __repr__(self) -> str:
        return self.pretty_print()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return _load_printer().format_html(self)


_MOST_DERIVED = 256  # questions may name other programs, and sizes


class ClosedJaxpr:
    """A jaxpr with the values of its constvars. Hashed by identity: a cache key.

    `derived` has the answers of transformations about the program, by question. They are kept here since an answer may refer to the
    program: a table elsewhere with weak references to programs would never let go of such a program. `template` is what it was made of, if
    it is a program with symbolic dimensions at given sizes (`laminax_ir.symbolic.sized_programs`).
    """

    __slots__ = ("jaxpr", "consts", "without_consts", "derived", "template", "__weakref__")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(f"ClosedJaxpr: {len(jaxpr.constvars)} constvars but {len(consts)} consts")
        self.jaxpr: Jaxpr = jaxpr
        self.consts: list[Any] = list(consts)
        self.without_consts: ClosedJaxpr | None = None  # the form in which it is called, once it has been
        self.derived: dict[tuple[Any, ...], Any] = {}
        self.template: tuple[ClosedJaxpr, tuple[tuple[str, Any], ...]] | None = None

    in_avals: property = property(lambda self: self.jaxpr.in_avals)
    out_avals: property = property(lambda self: self.jaxpr.out_avals)
    invars: property = property(lambda self: self.jaxpr.invars)
    outvars: property = property(lambda self: self.jaxpr.outvars)
    constvars: property = property(lambda self: self.jaxpr.constvars)
    all_invars: property = property(lambda self: self.jaxpr.all_invars)
    eqns: property = property(lambda self: self.jaxpr.eqns)
    effects: property = property(lambda self: self.jaxpr.effects)
    debug_info: property = property(lambda self: self.jaxpr.debug_info)
    literals: property = property(lambda self: self.consts)
    num_consts: property = property(lambda self: len(self.consts))

    def __reduce__(self) -> tuple[Any, ...]:
        return ClosedJaxpr, (self.jaxpr, self.consts)

    def with_consts(self, consts: Sequence[Any]) -> ClosedJaxpr:
        """The same program with values for the first of `all_invars`, which become its constvars."""
        return self.jaxpr.with_consts(consts)

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """The jaxpr that `f` makes of this one, closed over the same constants."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

    def remember(self, question: tuple[Any, ...], answer: Any) -> Any:
        """Adds an answer to `derived`, which is emptied first once it has a few hundred; returns the answer."""
        if len(self.derived) >= _MOST_DERIVED:
            self.derived.clear()
        self.derived[question] = answer
        return answer

    def replace(self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None, **changes: Any) -> ClosedJaxpr:
        """The same closed jaxpr with another jaxpr or other constants, and with the given fields of the jaxpr changed."""
        jaxpr = self.jaxpr if jaxpr is None else jaxpr
        return ClosedJaxpr(jaxpr.replace(**changes) if changes else jaxpr, self.consts if consts is None else consts)

    def pretty_print(self, **options: Any) -> str:
        return self.jaxpr.pretty_print(**options)

    def __repr__(self) -> str:
        return self.pretty_print()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self.jaxpr._repr_html_()


def joined_effects(eqns: Iterable[JaxprEqn]) -> frozenset[Any]:
    """The union of the equations' effects."""
    effects = no_effects
    for eqn in eqns:
        if eqn.effects:
            effects = effects | eqn.effects
    return effects


def subjaxprs(eqn: JaxprEqn) -> list[Jaxpr]:
    """The jaxprs among an equation's parameters."""
    return jaxprs_among(eqn.params.values())


def jaxprs_among(values: Iterable[Any]) -> list[Jaxpr]:
    """The jaxprs among values, and in tuples and lists among them."""
    found = []
    for value in values:
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, ClosedJaxpr):
                found.append(item.jaxpr)
            elif isinstance(item, Jaxpr):
                found.append(item)
    return found


def called_program(eqn: JaxprEqn) -> ClosedJaxpr | None:
    """The program that an equation calls with its operands and whose results are its own; None of other operations."""
    if Trait.PASSES_RESULTS_ON not in eqn.primitive.traits:
        return None
    programs = [value for value in eqn.params.values() if isinstance(value, ClosedJaxpr)]
    return programs[0] if len(programs) == 1 else None


def programs_within(program: ClosedJaxpr | Jaxpr) -> Iterator[Jaxpr]:
    """A program and those that its equations hold, at any depth, each once, however often it is called."""
    seen: set[Jaxpr] = set()
    todo = [program.jaxpr if isinstance(program, ClosedJaxpr) else program]
    while todo:
        jaxpr = todo.pop()
        if jaxpr not in seen:
            seen.add(jaxpr)
            yield jaxpr
            todo += [inner for eqn in reversed(jaxpr.eqns) for inner in reversed(subjaxprs(eqn))]
