"""Tokens go wherever values go, and programs hold nothing for them."""

from __future__ import annotations

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.extend.core import Token


def test_tokens_are_arguments_and_results_of_transformed_functions():
    token = lax.create_token(1.0)
    assert isinstance(token, Token) and token.block_until_ready() is token and repr(token) == "Token()"
    x, other = laminax.jit(lambda x, token: (x + 2, token))(7, token)
    assert x == 9 and isinstance(other, Token) and other is not token
    assert isinstance(laminax.jit(lax.create_token)(1.0), Token)
    assert isinstance(laminax.jit(lambda: token)(), Token)  # closed over
    assert isinstance(lax.after_all(token, lax.create_token()), Token) and isinstance(lax.after_all(), Token)
    xs, mapped = laminax.vmap(lambda x, token: (2 * x, lax.after_all(token)), in_axes=(0, None))(jnp.arange(3), token)
    assert xs.tolist() == [0, 2, 4] and isinstance(mapped, Token)
    value, aux = laminax.grad(lambda x: (x * x, lax.create_token(x)), has_aux=True)(3.0)
    assert value == 6 and isinstance(aux, Token)


def test_tokens_are_carried_by_loops_and_stand_in_trees():
    (total, token), tokens = lax.scan(lambda c, x: ((c[0] + x, lax.after_all(c[1])), lax.create_token(x)),
                                      (0.0, lax.create_token()), jnp.arange(4.0))
    assert total == 6 and isinstance(token, Token) and isinstance(tokens, Token)
    assert laminax.tree.leaves({"a": token, "b": np.ones(2), "c": None})[0].shape == (2,)
    y, _ = lax.optimization_barrier((jnp.ones(2), token))
    assert y.tolist() == [1, 1]
    assert not laminax.make_jaxpr(lax.create_token)(1.0).eqns


def test_a_token_may_wait_for_an_array():
    class Buffer:
        waited = 0

        def block_until_ready(self):
            self.waited += 1

    buffer = Buffer()
    assert isinstance(Token(buffer).block_until_ready(), Token) and buffer.waited == 1
    assert isinstance(Token(buf=jnp.ones(3)).block_until_ready(), Token)


def test_other_operands_are_refused():
    with pytest.raises(TypeError, match="after_all: operands must be tokens, got 1 of type int at position 1.*create_token"):
        lax.after_all(lax.create_token(), 1)
