"""Tokens, which order the effects of a program: each ordered operation takes one, and makes the one for the next.

All ordered effects of ours share a token, an ordinary boolean that loops and branches carry like any value; its key is None. An effect of
a kind that a library made has a token of its own, of StableHLO's type, since the library's lowering rule may hand it to operations that
ask for that; its key is the effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Sequence

from laminax_ir.programs.effects import ordered_effects
from laminax_lowering.writing.types import TOKEN

if TYPE_CHECKING:
    from laminax_lowering.writing.operations import OperationWriter
    from laminax_lowering.writing.ssa_values import Value


def token_keys(effects: Iterable[Any]) -> list[Any]:
    """The keys of the tokens that operations with these effects take, in an order that is the same in all processes."""
    effects = list(effects)
    own = [None] if any(getattr(effect, "is_ordered", False) for effect in effects) else []
    return [*own, *sorted(ordered_effects.filter_in(effects), key=str)]


def current_token(ctx: OperationWriter, key: Any = None) -> Value:
    """The token for the next ordered effect: the result of the last one, or one that is made before the first."""
    if (token := ctx.tokens.get(key)) is None:
        token = ctx.tokens[key] = ctx.constant(False) if key is None else ctx.emit("stablehlo.create_token", [], results=[TOKEN])
    return token


def current_tokens(ctx: OperationWriter, keys: Iterable[Any]) -> list[Value]:
    """The tokens of several keys."""
    return [current_token(ctx, key) for key in keys]


def set_tokens(ctx: OperationWriter, keys: Sequence[Any], tokens: Sequence[Value]) -> None:
    """Sets the tokens for the next ordered effects."""
    ctx.tokens.update(zip(keys, tokens, strict=True))
