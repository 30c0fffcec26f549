"""The table of lowering rules.

A rule `rule(ctx, *operands, **params)` writes the StableHLO of one operation through the context and returns its
result, a `Value`, or the list of them for an operation with several. A rule may be given for some platforms
only; the one for all platforms serves where there is none.
"""

from __future__ import annotations

from typing import Callable

from laminax_ir.primitive import Primitive, RuleTable

lowering_rules = RuleTable("lowering", "laminax_lowering.rules", "Register one with lowering_rule.")
platform_rules: dict[tuple[Primitive, str], Callable] = {}
unsupported: dict[tuple[Primitive, str], str] = {}  # why


def lowering_rule(*primitives: Primitive, platforms: tuple[str, ...] | None = None) -> Callable[[Callable], Callable]:
    """Decorator: the function lowers each of the primitives, on all platforms or on those named."""
    def register(rule):
        for primitive in primitives:
            if platforms is None:
                lowering_rules.add(primitive, rule)
                continue
            for platform in platforms:
                if (primitive, platform) in platform_rules:
                    raise ValueError(f"{primitive}: a second lowering rule for {platform}, in {rule.__module__}")
                platform_rules[primitive, platform] = rule
        return rule
    return register


def not_supported(primitive: Primitive, platforms: tuple[str, ...], reason: str) -> None:
    """States that platforms have no such operation; `reason` says why, and what to do instead."""
    for platform in platforms:
        unsupported[primitive, platform] = reason


def find_rule(primitive: Primitive, platform: str) -> Callable:
    """The rule for a primitive on a platform.

    Raises:
      NotImplementedError: if there is none.
    """
    rule = lowering_rules.find(primitive)
    special = platform_rules.get((primitive, platform))
    if special is not None:
        return special
    if (primitive, platform) in unsupported:
        raise NotImplementedError(f"{primitive} is not supported on {platform}: {unsupported[primitive, platform]}.")
    if rule is None:
        elsewhere = sorted(p for q, p in platform_rules if q is primitive)
        where = f" It has rules for {', '.join(elsewhere)}." if elsewhere else ""
        raise NotImplementedError(f"the primitive {primitive} cannot be lowered for platform {platform}: there is no "
                                  f"lowering rule.{where} Register one with lowering_rule.")
    return rule
