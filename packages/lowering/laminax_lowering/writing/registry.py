"""The table of lowering rules.

A rule `rule(ctx, *operands, **params)` writes the StableHLO of one operation through the context and returns its
result, a `Value`, or the list of them for an operation with several. A rule may be given for some platforms
only; the one for all platforms serves where there is none.

Beside the rules stand CPU kernels (`cpu_kernel`): what is faster on the CPU than the rule, under conditions of its own. They are asked
first in a module that is certain to run on one CPU device, with the option `cpu_kernels` on (`ModuleContext.uses_cpu_kernels`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from laminax_ir.programs.primitive import Primitive, RuleTable

if TYPE_CHECKING:  # the writer's module imports this one
    from laminax_lowering.writing.context import FunctionWriter

lowering_rules = RuleTable("lowering", "laminax_lowering.rules", "Register one with lowering_rule.")
platform_rules: dict[tuple[Primitive, str], Callable] = {}
unsupported: dict[tuple[Primitive, str], str] = {}  # why
cpu_kernels: dict[Primitive, Callable] = {}


def lowering_rule(*primitives: Primitive, platforms: tuple[str, ...] | None = None) -> Callable[[Callable], Callable]:
    """Decorator: the function lowers each of the primitives, on all platforms or on those named."""
    def register(rule: Any) -> Any:
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


def cpu_kernel(*primitives: Primitive) -> Callable[[Callable], Callable]:
    """Decorator: the function lowers the primitives on one CPU device, as a rule does, or returns None, which leaves it to the rule.

    What it writes has the rule's results, within the tolerances of the operation.
    """
    def register(kernel: Any) -> Any:
        for primitive in primitives:
            if primitive in cpu_kernels:
                raise ValueError(f"{primitive}: a second CPU kernel, in {kernel.__module__}; the first is in "
                                 f"{cpu_kernels[primitive].__module__}")
            cpu_kernels[primitive] = kernel
        return kernel
    return register


def with_cpu_kernel(primitive: Primitive, rule: Callable) -> Callable:
    """The rule that asks the primitive's CPU kernel first, if there is one."""
    kernel = cpu_kernels.get(primitive)
    if kernel is None:
        return rule

    def kernel_or_rule(ctx: FunctionWriter, *operands: Any, **params: Any) -> Any:
        result = kernel(ctx, *operands, **params)
        return rule(ctx, *operands, **params) if result is None else result
    return kernel_or_rule


def not_supported(primitive: Primitive, platforms: tuple[str, ...], reason: str) -> None:
    """States that platforms have no such operation; `reason` says why, and what to do instead."""
    for platform in platforms:
        unsupported[primitive, platform] = reason


_found: dict[tuple, dict[Primitive, Callable]] = {}


def rules_for(platforms: tuple[str, ...], *changed: bool) -> dict[Primitive, Callable]:
    """A table of the rules found so far for these platforms; `FunctionWriter.run_jaxpr` fills it, so that each is found once.

    Args:
      platforms: the platforms.
      *changed: in which ways rules are wrapped for the program; each combination has a table of its own.
    """
    found = _found.get((platforms, changed))
    return found if found is not None else _found.setdefault((platforms, changed), {})


def find_rule(primitive: Primitive, platforms: tuple[str, ...]) -> Callable:
    """The rule for a primitive on one platform, or on each of several.

    Raises:
      NotImplementedError: if there is none.
    """
    general = lowering_rules.find(primitive)  # imports those for some platforms, too
    rules = [_rule_on(primitive, platform, general) for platform in platforms]
    if len(rules) == 1 or all(rule is general for rule in rules):
        return rules[0]
    return _by_platform(dict(zip(platforms, rules, strict=True)))


def _rule_on(primitive: Primitive, platform: str, general: Callable | None) -> Callable:
    special = platform_rules.get((primitive, platform))
    if special is not None:
        return special
    if (primitive, platform) in unsupported:
        raise NotImplementedError(f"{primitive} is not supported on {platform}: {unsupported[primitive, platform]}.")
    if general is None:
        elsewhere = sorted(p for q, p in platform_rules if q is primitive)
        where = f" It has rules for {', '.join(elsewhere)}." if elsewhere else ""
        raise NotImplementedError(f"Lowering rule for primitive '{primitive}' not found for platform {platform}.{where} Register one with "
                                  "lowering_rule.")
    return general


def _by_platform(rules: dict[str, Callable]) -> Callable:
    """The rule that writes each platform's own, as branches of a case."""
    def rule(ctx: FunctionWriter, *operands: Any, **params: Any) -> Any:
        return ctx.by_platform(lambda: rules[ctx.platform](ctx, *operands, **params))
    return rule
