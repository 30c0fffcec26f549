"""Printing jaxprs in the syntax of the JAX documentation.

`{ lambda a:f32[3]; b:f32[]. let c:f32[] = cos b in (c,) }`: constvars before the semicolon, parameters after it,
one equation a line when they do not fit on one. Variables are named a, b, ..., z, ba, ... in the order in which
they are met; results of the outermost program that nobody uses are `_`. A nested jaxpr that occurs more than once,
or is long, is printed once, in front: `let f = { ... } in`. What the equations of an operation show is said with
`hide_params` or `equation_rule` where it is defined.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from html import escape
from typing import Any, Iterable, Iterator

import numpy as np

from laminax_ir.programs import printer_params
from laminax_ir.programs.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from laminax_ir.programs.layout import Break, Doc, Group, Nest, Text, concat, join, render
from laminax_ir.programs.printer_params import equation_rules
from laminax_ir.tracing import source
from laminax_ir.tracing.name_stacks import scope_path
from laminax_ir.types import dtypes


@dataclass(frozen=True)
class Options:
    """The parts to print: types of variables, source positions, name scopes, the equations' own forms, effects."""
    source_info: bool = False
    print_shapes: bool = True
    custom_pp_eqn_rules: bool = True
    name_stack: bool = False
    print_effects: bool = False


def format_jaxpr(jaxpr: Jaxpr, *, use_color: bool = False, **options: bool) -> str:
    """A jaxpr as text.

    Args:
      jaxpr: the program.
      use_color: accepted for the sake of JAX's users; the text is never coloured.
      **options: `source_info`: append `# file:line:column (function)` to each equation; `print_shapes`: write the
        types of variables; `name_stack`: append the name scopes an equation was made in; `custom_pp_eqn_rules`: hide
        parameters that say nothing new; `print_effects`: write the effects of the program in front of it.

    Returns:
      The text, wrapped at 80 columns, one line when it fits.
    """
    try:
        chosen = Options(**options)
    except TypeError:
        known = ", ".join(Options.__dataclass_fields__)
        raise TypeError(f"pretty_print: unknown options {sorted(set(options) - set(Options.__dataclass_fields__))}; "
                        f"the options are {known}") from None
    printer = Printer(chosen, _shared_jaxprs(jaxpr), _unused_results(jaxpr))
    definitions = [concat(f"let {name} = ", printer.jaxpr(shared), " in", Break())
                   for shared, name in printer.shared.items()]
    return render(concat(*definitions, printer.jaxpr(jaxpr)))


def format_html(jaxpr: Jaxpr) -> str:
    """A jaxpr as notebooks show it: the programs in front of it fold, and each line has the user's line for a tooltip."""
    parts: list[list[str]] = [[]]
    for line in format_jaxpr(jaxpr, source_info=True).split("\n"):
        text, mark, note = line.rpartition(" # ")
        if not mark:
            text, note = line, ""
        if text.startswith("let ") and parts[-1]:  # a program in front
            parts.append([])
        elif text.startswith("{ lambda") and parts[-1]:  # the program itself
            parts.append([])
        title = f' title="{escape(note)}"' if note and note != "unknown" else ""
        parts[-1].append(f"<span{title}>{escape(text.rstrip(), quote=False)}</span>")
    *shared, own = ["\n".join(lines) for lines in parts]
    names = [escape(name) for name in _shared_jaxprs(jaxpr).values()]
    folded = [f"<details><summary><code>let {name} = ...</code></summary><pre>{text}</pre></details>" for name, text in zip(names, shared)]
    count, operands = len(jaxpr.eqns), ", ".join(v.aval.str_short() for v in jaxpr.invars[:8])
    head = f"{count} equation{'s' if count != 1 else ''}; takes {operands}{', ...' if len(jaxpr.invars) > 8 else ''}"
    return f"<details open><summary>{escape(head)}</summary>{''.join(folded)}<pre>{own}</pre></details>"


def format_eqn(eqn: JaxprEqn) -> str:
    """One equation as text."""
    return render(Printer(Options()).equation(eqn))


_LONG = 10  # a nested jaxpr of more equations is printed in front even if it occurs once


def _shared_jaxprs(jaxpr: Jaxpr) -> dict[Jaxpr, str]:
    """The nested jaxprs to print in front, in the order they are met breadth first, with their names."""
    names: dict[Jaxpr, str] = {}
    visits: Counter[Jaxpr] = Counter()
    queue = deque([jaxpr])
    while queue:
        visited = queue.popleft()
        visits[visited] += 1
        if visits[visited] > 2:  # its callees have been counted twice already
            continue
        for eqn in visited.eqns:
            for inner in subjaxprs(eqn):
                queue.append(inner)
                if isinstance(name := eqn.params.get("name"), str):
                    names.setdefault(inner, name.strip("<>"))
    del visits[jaxpr]
    shared: dict[Jaxpr, str] = {}
    used: Counter[str] = Counter()
    for inner, count in visits.items():
        if count > 1 or len(inner.eqns) > _LONG:
            name = names.get(inner, "jaxpr")
            shared[inner] = f"{name}{used[name]}" if used[name] else name
            used.update({name, shared[inner]})
    return shared


class Printer:
    """Turns a program into a document; holds the names given so far.

    Args:
      options: what to print.
      shared: the names of the jaxprs that are printed in front of the program.
      unused: variables to print as `_`.
    """

    concat = staticmethod(concat)  # for the rules of operations, which are not to load what lays out text

    def __init__(self, options: Options, shared: dict[Jaxpr, str] | None = None, unused: set[Var] | None = None) -> None:
        self.options = options
        self.shared = shared or {}
        self.unused = unused or set()
        self.names: dict[Var, str] = {}
        self._letters = (name for name in _all_letters() if name not in self.shared.values())

    def name(self, var: Var) -> str:
        """The variable's name; a new one when it is met for the first time."""
        if type(var) is DropVar or var in self.unused:
            return "_"
        name = self.names.get(var)
        if name is None:
            name = self.names[var] = next(self._letters)
        return name

    def use_callers_names(self, eqn: JaxprEqn, called: Jaxpr) -> None:
        """Gives variables of a called program the names of the caller's, each name to one variable."""
        taken = set()
        for inner, outer in zip(called.invars, eqn.invars):
            if outer in self.names and self.names[outer] not in taken:
                taken.add(self.names.setdefault(inner, self.names[outer]))
        for result, outer_result in zip(called.outvars, eqn.outvars):
            if not isinstance(result, Literal) and result not in self.names and self.name(outer_result) != "_":
                self.names[result] = self.name(outer_result)

    def jaxpr(self, jaxpr: Jaxpr) -> Doc:
        """A whole program."""
        constvars, invars = self.binders(jaxpr.constvars), self.binders(jaxpr.invars)
        equations = join(Break("; "), [self.equation(eqn) for eqn in jaxpr.eqns])
        results = self._spaced([self.atom(atom) for atom in jaxpr.outvars], ",")
        effects = f"{_effects(jaxpr.effects)} " if self.options.print_effects and jaxpr.effects else ""
        return Group(Nest(2, concat(
            "{ ", effects, "lambda ", constvars, "; ", invars, ". let", Nest(2, concat(Break(), equations)), Break(),
            "in (", results, ",) }" if len(jaxpr.outvars) == 1 else ") }")))

    def equation(self, eqn: JaxprEqn) -> Doc:
        """One equation, in the form that its rule gives it."""
        if not self.options.custom_pp_eqn_rules:
            return self.assignment(eqn, eqn.params)
        rule = equation_rules.get(eqn.primitive, _known_equation)
        return rule(eqn, self)

    def assignment(self, eqn: JaxprEqn, params: dict[str, Any]) -> Doc:
        """`results = primitive[params] operands` with the given parameters: `name` first, the others sorted."""
        results = [self.binders(eqn.outvars), " = "] if eqn.outvars else []
        shown = sorted(params.items(), key=lambda item: (item[0] != "name", item[0]))
        formats = printer_params.formats.get(eqn.primitive, {})
        pairs = [concat(f"{key}=", formats[key](value) if key in formats else self.parameter(value))
                 for key, value in shown]
        bracket = Group(concat(Nest(2, concat("[", Break(""), join(Break(), pairs))), Break(""), "]")) if pairs else ""
        operands = self._spaced([self.atom(x) for x in eqn.invars])
        return concat(*results, Text(eqn.primitive.name, self._notes(eqn)), bracket, " ", operands)

    def call(self, eqn: JaxprEqn) -> Doc:
        """A call as what was asked for beyond the defaults, and its program in the caller's names."""
        called = eqn.params["jaxpr"].jaxpr
        if called not in self.shared:
            self.use_callers_names(eqn, called)
        return self.assignment(eqn, {key: value for key, value in eqn.params.items() if not _says_nothing(value)})

    def call_with_rules(self, eqn: JaxprEqn) -> Doc:
        """A call of a function that has derivative rules of its own."""
        shown = {key: value for key, value in eqn.params.items() if key != "num_consts"}
        return self.assignment(eqn, {"symbolic_zeros": False, **shown})

    def _notes(self, eqn: JaxprEqn) -> tuple[str, ...]:
        notes = []
        if self.options.source_info:
            notes.append(_full_position(eqn.source_info))
        if self.options.name_stack:
            notes.append(f"[{scope_path('', eqn.source_info.name_stack)}]")
        return tuple(notes)

    def parameter(self, value: Any) -> Doc:
        """The value of a parameter."""
        if isinstance(value, ClosedJaxpr):
            value = value.jaxpr
        if isinstance(value, Jaxpr):
            return Text(self.shared[value]) if value in self.shared else self.jaxpr(value)
        if type(value) is tuple and value and all(isinstance(v, (Jaxpr, ClosedJaxpr)) for v in value):
            jaxprs = join(Break(), [self.parameter(v) for v in value])
            return Group(concat(Nest(2, concat("(", Break(""), jaxprs)), Break(""), ")"))
        if hasattr(value, "_fields") and any(isinstance(v, (Jaxpr, ClosedJaxpr)) for v in value):  # a named tuple
            fields = [concat(f"{field}=", self.parameter(v)) for field, v in zip(value._fields, value)]
            return Group(concat(f"{type(value).__name__}", Nest(2, concat("(", Break(""), join(Break(), fields))), Break(""), ")"))
        return Text(parameter_text(value))

    def binders(self, variables: Iterable[Var]) -> Doc:
        """Variables with their types, where they are bound."""
        return self._spaced([f"{self.name(v)}:{v.aval.str_short()}" if self.options.print_shapes else self.name(v)
                             for v in variables])

    def atom(self, atom: Var | Literal) -> str:
        """An operand: the name of a variable, or the number itself."""
        return f"{literal_text(atom)}:{atom.aval.str_short()}" if isinstance(atom, Literal) else self.name(atom)

    @staticmethod
    def _spaced(words: list[str], separator: str = "") -> Doc:
        """Words in a line, wrapped where a word would begin beyond the width."""
        return Nest(2, Group(join(concat(separator, Group(Break())), [Text(word) for word in words])))


def _all_letters() -> Iterator[str]:
    """a, b, ..., z, ba, bb, ...: numbers in base 26."""
    index = 0
    while True:
        text, rest = "", index
        while rest or not text:
            rest, digit = divmod(rest, 26)
            text = chr(ord("a") + digit) + text
        yield text
        index += 1


def _unused_results(jaxpr: Jaxpr) -> set[Var]:
    used = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is not Literal}
    used.update(v for v in jaxpr.outvars if type(v) is not Literal)
    return {v for eqn in jaxpr.eqns for v in eqn.outvars if v not in used}


def _full_position(info: source.SourceInfo) -> str:
    where = source.position(info)
    return f"{where.file}:{where.line}:{where.column - 1} ({where.function})" if where else "unknown"


def _effects(effects: Iterable[Any]) -> str:
    return "{" + ", ".join(sorted(map(str, effects))) + "}"


def literal_text(literal: Literal) -> str:
    """The value of a literal in its own precision: 0.1 in float32 is 0.10000000149011612."""
    if dtypes.is_extended(literal.aval.dtype):
        return str(literal.val)
    return str(np.asarray(literal.val).astype(literal.aval.dtype).item())


def parameter_text(value: Any) -> str:
    """A parameter that holds no jaxpr, in one line: dtypes and functions by name, the rest as `str` gives it."""
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value).name
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)


# What an equation shows


def _known_equation(eqn: JaxprEqn, printer: Printer) -> Doc:
    hidden = printer_params.hidden.get(eqn.primitive, {})
    return printer.assignment(eqn, {key: value for key, value in eqn.params.items()
                                    if key not in hidden or not (hidden[key] is ... or hidden[key] == value)})


def _says_nothing(value: Any) -> bool:
    return value is None or value is False or type(value) is tuple and all(map(_says_nothing, value))
