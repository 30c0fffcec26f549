"""Lowering rules by JAX's function names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.callbacks import FlatCallback, run_callback
from laminax_ir.programs.primitive import Primitive
from laminax_ir.pytrees.pytree import tree_structure
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.callbacks import emit_callback
from laminax_lowering.writing.context import FunctionWriter as LoweringRuleContext
from laminax_lowering.writing.registry import lowering_rules, platform_rules
from laminax_lowering.writing.types import TOKEN

from laminax._src.names.interpreters.mlir_objects import FunctionOfRule, run_program

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

LoweringRule = Callable[..., Any]
_PLATFORMS = {"cpu": ("cpu",), "cuda": ("cuda",), "rocm": ("rocm",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}


def register_lowering(prim: Primitive, rule: LoweringRule, platform: str | None = None, inline: bool = True,
                      cacheable: bool = True) -> None:
    """Says how an operation is compiled; a rule that there was is replaced. To be called before the operation is first compiled.

    Args:
      prim: the operation.
      rule: `rule(ctx, *operands, **params)` returns the result, or the sequence of results. `ctx.avals_in` and `ctx.avals_out` are the
        operation's types. The operands are values of MLIR's Python bindings, so that a rule may write operations by
        `laminax.extend.mlir.dialects`: `stablehlo.add(x, y)`. `ctx` is laminax's writer, and a rule may use it instead:
        `ctx.emit("stablehlo.add", [x, y])` writes an operation as text and returns its value, which no object of MLIR is. `lower_fun`
        makes rules of Python functions.
      platform: "cpu", "cuda", "rocm", "gpu" (both of them) or "tpu"; None is all.
      inline: must be True.
      cacheable: has no effect: equal programs are written once in any case.

    Raises:
      NotImplementedError: for inline=False, and for a platform that is not one of these.

    Example:
      >>> from laminax.extend.core import Primitive
      >>> from laminax.extend.mlir.dialects import stablehlo
      >>> from laminax.interpreters import mlir
      >>> twice_p = Primitive("twice")
      >>> _ = twice_p.def_abstract_eval(lambda x: x)
      >>> mlir.register_lowering(twice_p, lambda ctx, x: [stablehlo.add(x, x)])
      >>> laminax.jit(twice_p.bind)(jnp.arange(3.0))
      Array([0., 2., 4.], dtype=float32)
    """
    if platform is not None and platform not in _PLATFORMS:
        raise NotImplementedError(f"register_lowering: Registering an MLIR lowering rule for primitive {prim} for an unknown platform "
                                  f"{platform}. Known platforms are: {', '.join(_PLATFORMS)}.")
    if not isinstance(prim, Primitive):
        raise TypeError(f"register_lowering: a Primitive is expected, got {prim!r}")
    if not inline:
        raise NotImplementedError(f"register_lowering({prim}): inline=False is not supported; the policy of outlining decides it")

    def lower(ctx: LoweringRuleContext, *operands: Any, **params: Any) -> Any:
        if isinstance(rule, _RuleOfFunction):
            result = rule(ctx, *operands, **params)
        else:
            result = FunctionOfRule(ctx, f"{prim.name}_rule").write(rule, operands, params)
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


def emit_python_callback(ctx: LoweringRuleContext, callback: Callable[..., Sequence[Any]], token: Any, operands: Sequence[Any],
                         operand_avals: Sequence[ShapedArray], result_avals: Sequence[ShapedArray], *, has_side_effect: bool,
                         returns_token: bool = True, partitioned: bool = False, sharding: None = None) -> tuple[Sequence[Any], Any, Any]:
    """In a lowering rule: a call of a Python function, when the compiled program runs.

    Args:
      ctx: what the rule was given.
      callback: takes a NumPy array for each operand, and returns a sequence of arrays.
      token: for a callback that keeps an order, the token of the operation's effect, `ctx.tokens_in.get(effect)`; else None.
      operands: what the rule was given, or made.
      operand_avals: their types.
      result_avals: the types of the callback's results.
      has_side_effect: whether it is called also where nothing needs its results.
      returns_token: has no effect: a token comes out where one goes in.
      partitioned: must be False: in programs over several devices the first one calls, with whole values.
      sharding: must be None, for the same reason.

    Returns:
      The results, the token after the callback or None, and what must live as long as the program, for
      `ctx.module_context.add_keepalive`.

    Raises:
      NotImplementedError: for a sharding, or partitioned=True; for a token on TPUs.
      TypeError: if the operands have other types, or the token is none of `ctx.tokens_in`.
    """
    if sharding is not None or partitioned:
        raise NotImplementedError(f"emit_python_callback: sharding must be None and partitioned False, got {sharding} and {partitioned}. "
                                  "Use io_callback(ordered=True) for calls in their order.")
    if token is not None and getattr(token, "aval", None) is not TOKEN:
        raise TypeError(f"emit_python_callback: token must be one of ctx.tokens_in, got {token!r:.80}")
    if token is not None and "tpu" in ctx.platforms:
        raise NotImplementedError("emit_python_callback: on TPUs callbacks take no token. Use io_callback(ordered=True) for calls in their "
                                  "order.")
    for operand, aval in zip(operands, operand_avals, strict=True):
        if (operand.aval.shape, operand.aval.dtype) != (aval.shape, aval.dtype):
            raise TypeError(f"emit_python_callback: an operand of type {operand.aval.str_short()} where operand_avals says "
                            f"{aval.str_short()}")

    called = FlatCallback(callback, tree_structure((tuple(operands), {})), "emit_python_callback")

    def function(*args: Any) -> tuple:
        return tuple(run_callback(called, result_avals, args))
    if token is None:
        return emit_callback(ctx, function, operands, result_avals, has_side_effect), None, callback

    def ordered(before: Any, *args: Any) -> tuple:
        return before, *function(*args)
    after, *results = emit_callback(ctx, ordered, [token, *operands], [TOKEN, *result_avals], has_side_effect)
    return results, after, callback


def lower_fun(fun: Callable, multiple_results: bool = True) -> LoweringRule:
    """A lowering rule that writes what a Python function of arrays does.

    Args:
      fun: takes the operation's operands and parameters.
      multiple_results: whether it returns a sequence of arrays; else one array.
    """
    return _RuleOfFunction(fun, multiple_results)


class _RuleOfFunction:
    """The lowering rule that `lower_fun` makes."""

    def __init__(self, fun: Callable, multiple_results: bool) -> None:
        self.fun, self.multiple_results = fun, multiple_results
        self.__module__ = getattr(fun, "__module__", "?")  # where messages say that it stands

    def __call__(self, ctx: LoweringRuleContext, *operands: Any, **params: Any) -> Sequence[Any]:
        def flat(*args: ArrayLike) -> Sequence[Array]:
            result = self.fun(*args, **params)
            return result if self.multiple_results else [result]
        return run_program(ctx, stage(flat, ctx.avals_in, getattr(self.fun, "__name__", "fun")), operands)
