"""Sharding rules of `custom_partitioning`: how the sizes of operands and results are made of common factors.

A rule is written like an einsum, "i j, j k -> i k": a mesh axis that splits a factor splits it everywhere. "(i j)" is an axis of two
factors, and "..." stands for leading axes. Source: Shardy's documentation, `op_sharding_rule`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from laminax_ir.types.arguments import as_int

BATCHING = "..."


class CompoundFactor(tuple):
    """An array axis whose size is the product of several factors, from the major to the minor one: the tuple of their names.

    Raises:
      ValueError: if there are fewer than two, or one is no name.
    """

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError(f"A compound factor should contain at least two factors, got {factors}. A single factor is its name alone.")
        if any(map(_is_batching, factors)):
            raise ValueError(f"Ellipsis can't be used in a compound factor, got {factors}: {BATCHING} stands for leading axes, not for "
                             "factors of one.")
        return super().__new__(cls, [_checked_name("Each element of CompoundFactor must be a str", f) for f in factors])


class ArrayMapping(tuple):
    """The factors of an array's axes: for each axis a name or a `CompoundFactor`; `BATCHING` stands for leading axes.

    Raises:
      ValueError: if an entry is neither, or `BATCHING` is not the first entry.
    """

    def __new__(cls, *dim_mappings: Any) -> ArrayMapping:
        for i, entry in enumerate(dim_mappings):
            if not isinstance(entry, CompoundFactor) and not _is_batching(entry):
                _checked_name("Each element of ArrayMapping must be a str or CompoundFactor", entry)
            if _is_batching(entry) and i:
                raise ValueError(f"Ellipsis can only be used at the beginning of a dimension list: {BATCHING} stands for leading axes, got "
                                 f"it at position {i} of {dim_mappings}")
        return super().__new__(cls, dim_mappings)


class SdyShardingRule:
    """How the axes of operands and results are made of common factors.

    Args:
      operand_mappings, result_mappings: for each operand, or result, an `ArrayMapping` or the tuple that it would be made of.
      reduction_factors: factors that are summed over: where they are split, the partitioned function makes the sum over the devices.
      need_replication_factors: factors that are not split.
      permutation_factors: factors along which elements are permuted.
      **factor_sizes: sizes of the factors that no axis alone has, of all of these and of no others.

    Raises:
      ValueError: if a factor that is named here is in no mapping, or a size is missing or not needed.

    Example:
      >>> SdyShardingRule((("i", "j"), ("j", "k")), (("i", "k"),), reduction_factors=("j",))
    """

    def __init__(self, operand_mappings: Sequence[Any], result_mappings: Sequence[Any], reduction_factors: Sequence[str] = (),
                 need_replication_factors: Sequence[str] = (), permutation_factors: Sequence[str] = (), **factor_sizes: int) -> None:
        self.operand_mappings: tuple[ArrayMapping, ...] = tuple(ArrayMapping(*m) for m in operand_mappings)
        self.result_mappings: tuple[ArrayMapping, ...] = tuple(ArrayMapping(*m) for m in result_mappings)
        self.reduction_factors: tuple[str, ...] = tuple(reduction_factors)
        self.need_replication_factors: tuple[str, ...] = tuple(need_replication_factors)
        self.permutation_factors: tuple[str, ...] = tuple(permutation_factors)
        self.factor_sizes: dict[str, int] = {name: as_int("SdyShardingRule", name, size) for name, size in factor_sizes.items()}
        known = {factor for mapping in (*self.operand_mappings, *self.result_mappings) for factor in _factors(mapping)}
        for name in (*self.reduction_factors, *self.need_replication_factors, *self.permutation_factors, *self.factor_sizes):
            if name not in known:
                raise ValueError(f"Factor {name} is not used: in no mapping; the factors are {sorted(known)}")
        alone = {entry for mapping in (*self.operand_mappings, *self.result_mappings) for entry in mapping if isinstance(entry, str)}
        for name in sorted(known):
            if name in alone and name in self.factor_sizes:
                raise ValueError(f"Factor {name} represents a whole dimension; do not specify its size, got {self.factor_sizes[name]}")
            if name not in alone and name not in self.factor_sizes:
                raise ValueError(f"Factor {name} is only used in compound factors; must specify its size: {name}=...")

    def __repr__(self) -> str:
        special = "".join(f" {kind}={factors}" for kind, factors in (
            ("reduction_factors", self.reduction_factors), ("need_replication_factors", self.need_replication_factors),
            ("permutation_factors", self.permutation_factors)) if factors)
        return f"SdyShardingRule({self.operand_mappings}, {self.result_mappings}, {self.factor_sizes}{special})"

    def text(self, operands: Sequence[Sequence[int]], results: Sequence[Sequence[int]]) -> str:
        """The rule for arrays of these shapes, as Shardy writes it.

        Raises:
          ValueError: if the rule has another number of operands, results or axes, or sizes do not fit.
        """
        axes = [*self._axes("operand", self.operand_mappings, operands), *self._axes("result", self.result_mappings, results)]
        sizes = self._sizes([*zip(axes, (*operands, *results), strict=True)])
        names = {factor: _symbol(i) for i, factor in enumerate(sizes)}
        mapped = ["[" + ", ".join("".join(names[f] for f in factors) for factors in array) + "]" for array in axes]
        special = "".join(f" {kind}={{{', '.join(names[f] for f in sorted(factors, key=[*sizes].index))}}}" for kind, factors in (
            ("reduction", self.reduction_factors), ("need_replication", self.need_replication_factors),
            ("permutation", self.permutation_factors)) if factors)
        listed = " {" + ", ".join(f"{names[f]}={size}" for f, size in sizes.items()) + "}" if sizes else ""
        return (f"#sdy.op_sharding_rule<({', '.join(mapped[:len(operands)])})->({', '.join(mapped[len(operands):])}){listed}{special}, "
                "custom>")

    def _axes(self, what: str, mappings: Sequence[ArrayMapping], shapes: Sequence[Sequence[int]]) -> Iterator[list[tuple[str, ...]]]:
        """For each array, the factors of each of its axes."""
        if len(mappings) != len(shapes):
            raise ValueError(f"sharding rule: it has {len(mappings)} {what} mappings, and the function {len(shapes)} {what}s")
        for i, (mapping, shape) in enumerate(zip(mappings, shapes)):
            rest = [(e,) if isinstance(e, str) else tuple(e) for e in mapping if not _is_batching(e)]
            leading = len(shape) - len(rest)
            if leading < 0 or leading and len(rest) == len(mapping):
                raise ValueError(f"sharding rule: the mapping {tuple(mapping)} of {what} {i} has {len(rest)} axes, and its shape is "
                                 f"{tuple(shape)}. Write one entry per axis, or {BATCHING} for leading axes.")
            prefix = mapping[0] if len(rest) < len(mapping) else BATCHING
            yield [*[(f"{prefix}_{k}",) for k in range(leading)], *rest]

    def _sizes(self, arrays: Sequence[tuple[list[tuple[str, ...]], Sequence[int]]]) -> dict[str, int]:
        """The sizes of the factors, in the order in which they are met first."""
        sizes: dict[str, int | None] = {}
        for axes, shape in arrays:
            for factors, size in zip(axes, shape):
                for factor in factors:
                    sizes.setdefault(factor, self.factor_sizes.get(factor))
                if len(factors) == 1:
                    found = sizes[factors[0]]
                    if found is not None and found != size:
                        raise ValueError(f"sharding rule: the factor {factors[0]!r} has size {found} in one place and {size} in another, "
                                         f"in arrays of the shapes {[tuple(s) for _, s in arrays]}")
                    sizes[factors[0]] = size
        for axes, shape in arrays:
            for factors, size in zip(axes, shape):
                product = 1
                for factor in factors:
                    product *= cast(int, sizes[factor])  # those of factors that are no axis are given
                if product != size:
                    raise ValueError(f"sharding rule: the factors {factors} have the sizes {[sizes[f] for f in factors]}, whose product is "
                                     f"not the axis' size {size}")
        return {factor: size for factor, size in sizes.items() if size is not None}


def parsed_rule(text: str, options: Mapping[str, Any]) -> SdyShardingRule:
    """A rule written as text, "i j, j k -> i k"; options are the other arguments of `SdyShardingRule`.

    Raises:
      ValueError: if it is not written so.
    """
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(f"sharding rule: expected operands and results with one '->' between them, got {text!r}")
    operands, results = ([_parsed_mapping(part, text) for part in side.split(",")] for side in sides)
    return SdyShardingRule(operands, results, **options)


_TOKEN = re.compile(r"\s*(?:(\.\.\.\w*)|([A-Za-z_]\w*)|\(([^()]*)\))")


def _parsed_mapping(part: str, text: str) -> ArrayMapping:
    entries: list[Any] = []
    position = 0
    while part[position:].strip():
        found = _TOKEN.match(part, position)
        if found is None:
            raise ValueError(f"sharding rule: cannot read {part[position:].strip()!r} in {text!r}. Write names of factors with spaces "
                             "between them, (i j) for an axis of several, and ... for leading axes.")
        leading, name, several = found.groups()
        entries.append(leading or name or CompoundFactor(*several.split()))
        position = found.end()
    return ArrayMapping(*entries)


def _factors(mapping: ArrayMapping) -> Iterator[str]:
    for entry in mapping:
        yield from entry if isinstance(entry, CompoundFactor) else (entry,)


def _is_batching(entry: Any) -> bool:
    return isinstance(entry, str) and entry.startswith(BATCHING)


def _checked_name(demand: str, name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"{demand}, got {name!r} of type {type(name).__name__}")
    if not name.isidentifier():
        raise ValueError(f"Factor names have to start with a letter, and to have letters, digits and underscores only; got {name!r}")
    return name


def _symbol(index: int) -> str:
    """Shardy's name of a factor: i to z, then z_1, z_2, ..."""
    return chr(ord("i") + index) if index < 18 else f"z_{index - 17}"
