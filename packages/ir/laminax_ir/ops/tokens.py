"""Tokens: values without contents, which go wherever values go.

In JAX a token ties operations that have no data in common together; no operation of its interface takes one any more, but for making one of
several. Programs here keep the order of effects by themselves. A token is a pytree without leaves, so programs hold nothing for it.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.pytrees.pytree import register_pytree_node


class Token:
    """A token; `create_token` makes them. It is a pytree without leaves, and may be an argument or a result of every function.

    Args:
      buf: an array that `block_until_ready` waits for; a token that comes out of a function has none.

    Example:
      >>> token = create_token()
      >>> x, other = jit(lambda x, token: (x, token))(1.0, token)
      >>> isinstance(other, Token)
      True
    """

    __slots__ = ("_buf",)

    def __init__(self, buf: Any = None) -> None:
        self._buf = buf

    def block_until_ready(self) -> Token:
        """Waits for the array that the token was made with, if there is one, and returns the token; `effects_barrier` waits for effects."""
        if self._buf is not None:
            self._buf.block_until_ready()
        return self

    def __repr__(self) -> str:
        return "Token()"


def _made_again(_static: None, _children: Any) -> Token:
    return Token()


register_pytree_node(Token, lambda _: ((), None), _made_again)


def create_token(_: Any = None) -> Token:
    """A new token.

    Args:
      _: anything; it has no effect.

    Example:
      >>> after_all(create_token(), create_token())
      Token()
    """
    return Token()


def after_all(*operands: Token) -> Token:
    """A token made of any number of tokens.

    Args:
      *operands: the tokens.

    Raises:
      TypeError: if one is no token.

    Example:
      >>> after_all(create_token(), create_token())
      Token()
    """
    for i, x in enumerate(operands):
        if not isinstance(x, Token):
            raise TypeError(f"after_all: operands must be tokens, got {x!r:.80} of type {type(x).__name__} at position {i}. Make one with "
                            "create_token(); optimization_barrier ties arrays together.")
    return Token()
