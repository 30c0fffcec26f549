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


def find_rule(primitive: Primitive, platform: str) -> Callable:
    """The rule for a primitive on a platform.

    Raises:
      NotImplementedError: if there is none.
    """
    rule = lowering_rules.find(primitive)
    special = platform_rules.get((primitive, platform))
    if special is not None:
        return special
    if rule is None:
        elsewhere = sorted(p for q, p in platform_rules if q is primitive)
        where = f" It has rules for {', '.join(elsewhere)}." if elsewhere else ""
        raise NotImplementedError(f"the primitive {primitive} cannot be lowered for platform {platform}: there is no "
                                  f"lowering rule.{where} Register one with lowering_rule.")
    return rule
