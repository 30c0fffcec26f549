"""A program with mistakes, each on a line that says so, which a type checker finds."""

import laminax
import laminax.numpy as jnp
from laminax import Array, lax, random


def double(x: Array) -> Array:
    return 2 * x


def with_norm(x: Array) -> tuple[Array, Array]:
    return jnp.sum(x), jnp.linalg.norm(x)


jnp.sum("text")  # mistake: a string is no array
jnp.zeros((2, 3)).shap()  # mistake: a misspelt method
jnp.no_such_function(3)  # mistake: a name that there is not
laminax.jit(double, static_argnumbers=1)  # mistake: a misspelt option
jnp.mean(jnp.ones(3), axes=0)  # mistake: a misspelt parameter
random.normal(random.key(0), shape="a")  # mistake: a shape that is none
laminax.jit(double)(1.0, 2.0)  # mistake: too many arguments of a jitted function
laminax.vmap(double)()  # mistake: too few arguments of a mapped function
text: str = jnp.ones(3)  # mistake: an array is no string
lax.sin()  # mistake: an argument is missing
jnp.ones(3).at[0].ad(1.0)  # mistake: an update that there is not
value: Array = laminax.value_and_grad(double)(jnp.ones(()))  # mistake: the pair of value and gradient as an array
order: str = jnp.argsort(jnp.ones(3))  # mistake: indices are no string
first, second, third = jnp.linspace(0, 1, retstep=True)  # mistake: two results
jnp.where(jnp.ones(3) > 0).shape  # mistake: a tuple of arrays has no shape
(loss, aux), gradient = laminax.value_and_grad(with_norm, has_aux=True)(jnp.ones(3), 1)  # mistake: one argument too many
