"""Lowering rules by JAX's function names. A rule gets laminax's writer of StableHLO text; see `laminax_lowering.context`."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.primitive import Primitive
from laminax_ir.staging import stage
from laminax_lowering.context import FunctionWriter as LoweringRuleContext
from laminax_lowering.registry import lowering_rules, platform_rules

LoweringRule = Callable[..., Any]
_PLATFORMS = {"cpu": ("cpu",), "cuda": ("cuda",), "rocm": ("rocm",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}


def register_lowering(prim: Primitive, rule: LoweringRule, platform: str | None = None, inline: bool = True,
                      cacheable: bool = True) -> None:
    """Says how an operation is compiled; a rule that there was is replaced. To be called before the operation is first compiled.

    Args:
      prim: the operation.
      rule: `rule(ctx, *operands, **params)` returns the result, or the sequence of results. `ctx` is laminax's writer:
        `ctx.emit("stablehlo.add", [x, y])` writes an operation as text and returns its value, `ctx.avals_in` and
        `ctx.avals_out` are the operation's. There are no MLIR objects, as JAX's rules make them; `lower_fun` makes rules
        of Python functions, which need none.
      platform: "cpu", "cuda", "rocm", "gpu" (both of them) or "tpu"; None is all.
      inline: must be True.
      cacheable: has no effect: equal programs are written once in any case.

    Raises:
      NotImplementedError: for inline=False, and for a platform that is not one of these.
    """
    if platform is not None and platform not in _PLATFORMS:
        raise NotImplementedError(f"register_lowering: Registering an MLIR lowering rule for primitive {prim} for an unknown platform {platform}. "
                                  f"Known platforms are: {', '.join(_PLATFORMS)}.")
    if not isinstance(prim, Primitive):
        raise TypeError(f"register_lowering: a Primitive is expected, got {prim!r}")
    if not inline:
        raise NotImplementedError(f"register_lowering({prim}): inline=False is not supported; the policy of outlining decides it")

    def lower(ctx: LoweringRuleContext, *operands: Any, **params: Any) -> Any:
        result = rule(ctx, *operands, **params)
        if prim.multiple_results:
            return list(result)
        return result[0] if isinstance(result, (tuple, list)) else result

    lower.__module__ = getattr(rule, "__module__", "?")
    lowering_rules.load(prim)
    if platform is None:
        lowering_rules[prim] = lower
        return
    for name in _PLATFORMS[platform]:
        platform_rules[prim, name] = lower


def lower_fun(fun: Callable, multiple_results: bool = True) -> LoweringRule:
    """A lowering rule that writes what a Python function of arrays does.

    Args:
      fun: takes the operation's operands and parameters.
      multiple_results: whether it returns a sequence of arrays; else one array.
    """
    def rule(ctx: LoweringRuleContext, *operands: Any, **params: Any) -> Sequence[Any]:
        def flat(*args):
            result = fun(*args, **params)
            return result if multiple_results else [result]
        return ctx.run(stage(flat, ctx.avals_in, getattr(fun, "__name__", "fun")), operands)
    rule.__module__ = getattr(fun, "__module__", "?")
    return rule
