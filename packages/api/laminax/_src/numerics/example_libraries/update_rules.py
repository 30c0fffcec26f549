"""Optimizers by gradients, each written for one array: what it keeps, and how it steps; and norms of gradients.

Each takes `step_size`, a positive scalar or a schedule (a function of the number of the step), and returns an `Optimizer`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from laminax_ir.pytrees.pytree import tree_leaves, tree_map

from laminax._src.numerics.example_libraries.optimizer_states import optimizer
from laminax._src.numerics.example_libraries.schedules import Schedule, make_schedule
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def _first(state: tuple[Any, ...]) -> Any:
    return state[0]


@optimizer
def sgd(step_size: Schedule | float) -> tuple[Callable, Callable, Callable]:
    """Stochastic gradient descent.

    Args:
      step_size: a positive scalar or a schedule.

    Returns:
      An `Optimizer`.

    Example:
      >>> opt_init, opt_update, get_params = sgd(0.1)
      >>> state = opt_update(0, {"w": jnp.ones(2)}, opt_init({"w": jnp.zeros(2)}))
      >>> get_params(state)
      {'w': Array([-0.1, -0.1], dtype=float32)}
    """
    step_size = make_schedule(step_size)
    return lambda x0: x0, lambda i, g, x: x - step_size(i) * g, lambda x: x


@optimizer
def momentum(step_size: Schedule | float, mass: float) -> tuple[Callable, Callable, Callable]:
    """Gradient descent with momentum: steps go along a sum of the gradients so far, each of which weighs `mass` times as much as the next.

    Args:
      step_size: a positive scalar or a schedule.
      mass: a scalar in [0, 1).

    Returns:
      An `Optimizer`.
    """
    step_size = make_schedule(step_size)

    def update(i: ArrayLike, g: Any, state: tuple[Any, ...]) -> tuple[Any, Any]:
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * velocity, velocity

    return lambda x0: (x0, jnp.zeros_like(x0)), update, _first


@optimizer
def nesterov(step_size: Schedule | float, mass: float) -> tuple[Callable, Callable, Callable]:
    """Gradient descent with Nesterov's momentum, which looks one step ahead. Args and Returns as of `momentum`.

    Source: I. Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013.
    """
    step_size = make_schedule(step_size)

    def update(i: ArrayLike, g: Any, state: tuple[Any, ...]) -> tuple[Any, Any]:
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * (mass * velocity + g), velocity

    return lambda x0: (x0, jnp.zeros_like(x0)), update, _first


@optimizer
def adagrad(step_size: Schedule | float, momentum: float = 0.9) -> tuple[Callable, Callable, Callable]:
    """Adagrad: gradients divided by the root of the sum of their squares so far, with momentum.

    Args:
      step_size: a positive scalar or a schedule.
      momentum: the weight of what was before in the mean of the steps, in [0, 1).

    Returns:
      An `Optimizer`.

    Source: J. Duchi, E. Hazan and Y. Singer, "Adaptive Subgradient Methods", JMLR 12 (2011).
    """
    step_size = make_schedule(step_size)

    def update(i: ArrayLike, g: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, sum_of_squares, mean = state
        sum_of_squares = sum_of_squares + jnp.square(g)
        mean = (1.0 - momentum) * (g * _inverse_root(sum_of_squares)) + momentum * mean
        return x - step_size(i) * mean, sum_of_squares, mean

    return lambda x0: (x0, jnp.zeros_like(x0), jnp.zeros_like(x0)), update, _first


def _inverse_root(x: Any) -> Any:
    """1 / sqrt(x), and 0 at 0."""
    return jnp.where(x > 0, 1.0 / jnp.sqrt(x), 0.0)


@optimizer
def rmsprop(step_size: Schedule | float, gamma: float = 0.9, eps: float = 1e-8) -> tuple[Callable, Callable, Callable]:
    """RMSProp: gradients divided by the root of a running mean of their squares.

    Args:
      step_size: a positive scalar or a schedule.
      gamma: the weight of what was before in the mean, in [0, 1).
      eps: added to the mean.

    Returns:
      An `Optimizer`.

    Source: T. Hinton, "Neural Networks for Machine Learning", lecture 6e, 2012.
    """
    step_size = make_schedule(step_size)

    def update(i: ArrayLike, g: Any, state: tuple[Any, ...]) -> tuple[Any, Any]:
        x, mean_square = state
        mean_square = mean_square * gamma + jnp.square(g) * (1.0 - gamma)
        return x - step_size(i) * g / jnp.sqrt(mean_square + eps), mean_square

    return lambda x0: (x0, jnp.zeros_like(x0)), update, _first


@optimizer
def rmsprop_momentum(step_size: Schedule | float, gamma: float = 0.9, eps: float = 1e-8,
                     momentum: float = 0.9) -> tuple[Callable, Callable, Callable]:
    """RMSProp with momentum: along the sum of its steps, each `momentum` times the one after it.

    Args:
      step_size, gamma, eps: as of `rmsprop`.
      momentum: a scalar in [0, 1).

    Returns:
      An `Optimizer`.
    """
    step_size = make_schedule(step_size)

    def update(i: ArrayLike, g: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, mean_square, velocity = state
        mean_square = mean_square * gamma + jnp.square(g) * (1.0 - gamma)
        velocity = momentum * velocity + step_size(i) * g / jnp.sqrt(mean_square + eps)
        return x - velocity, mean_square, velocity

    return lambda x0: (x0, jnp.zeros_like(x0), jnp.zeros_like(x0)), update, _first


@optimizer
def adam(step_size: Schedule | float, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> tuple[Callable, Callable, Callable]:
    """Adam: running means of gradients, divided by the root of those of their squares.

    Args:
      step_size: a positive scalar or a schedule.
      b1, b2: the weights of what was before in the means of gradients and squares, in [0, 1).
      eps: added to the root.

    Returns:
      An `Optimizer`.

    Source: D. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 1.
    """
    step_size = make_schedule(step_size)

    def update(i: ArrayLike, g: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        unbiased_m, unbiased_v = m / _weight_so_far(b1, i, m), v / _weight_so_far(b2, i, m)
        return x - step_size(i) * unbiased_m / (jnp.sqrt(unbiased_v) + eps), m, v

    return lambda x0: (x0, jnp.zeros_like(x0), jnp.zeros_like(x0)), update, _first


def _weight_so_far(b: float, i: ArrayLike, mean: Any) -> Any:
    """The sum of the weights in a running mean from 0 after step i, in its dtype."""
    return 1 - jnp.asarray(b, mean.dtype) ** (i + 1)


@optimizer
def adamax(step_size: Schedule | float, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> tuple[Callable, Callable, Callable]:
    """AdaMax: Adam with a decaying maximum of the gradients' sizes instead of the mean of their squares.

    Args:
      step_size, b1, eps: as of `adam`.
      b2: what the maximum is multiplied by at each step, in [0, 1).

    Returns:
      An `Optimizer`.

    Source: D. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 2.
    """
    step_size = make_schedule(step_size)

    def update(i: ArrayLike, g: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        return x - (step_size(i) / _weight_so_far(b1, i, m)) * m / (u + eps), m, u

    return lambda x0: (x0, jnp.zeros_like(x0), jnp.zeros_like(x0)), update, _first


@optimizer
def sm3(step_size: Schedule | float, momentum: float = 0.9) -> tuple[Callable, Callable, Callable]:
    """SM3: like Adagrad, but in place of the sums of squares it keeps upper bounds of them, one vector per axis.

    Args:
      step_size: a positive scalar or a schedule.
      momentum: the weight of what was before in the mean of the steps, in [0, 1).

    Returns:
      An `Optimizer` of arrays.

    Source: R. Anil et al., "Memory-Efficient Adaptive Optimization", NeurIPS 2019, algorithm SM3-II.
    """
    step_size = make_schedule(step_size)

    def init(x0: Any) -> tuple[Array, Array, list[Array], tuple[int, ...]]:
        x = jnp.atleast_1d(x0)  # so that a scalar has an axis too
        return x, jnp.zeros_like(x), [jnp.zeros(size, x.dtype) for size in x.shape], jnp.shape(x0)

    def update(i: ArrayLike, g: Any, state: tuple[Any, ...]) -> tuple[Any, Any, list[Any], tuple[ArrayLike, ...]]:
        x, mean, bounds, shape = state
        axes = range(x.ndim)
        along = [jnp.expand_dims(bound, [other for other in axes if other != axis]) for axis, bound in enumerate(bounds)]
        sum_of_squares = functools.reduce(jnp.minimum, along) + jnp.square(g)
        mean = (1.0 - momentum) * (g * _inverse_root(sum_of_squares)) + momentum * mean
        bounds = [jnp.max(sum_of_squares, [other for other in axes if other != axis], initial=0) for axis in axes]
        return x - step_size(i) * mean, mean, bounds, shape

    def get_params(state: tuple[Any, ...]) -> Any:
        x, _, _, shape = state
        return x if shape else x.reshape(())  # the sizes in it are leaves, traced in a jit, but their number is known

    return init, update, get_params


# Norms


def l2_norm(tree: Any) -> Array:
    """The square root of the sum of the squares of all elements in a pytree of arrays."""
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: ArrayLike) -> dict[str, Any]:
    """A pytree of gradients, all scaled by one factor so that their `l2_norm` is at most max_norm.

    Args:
      grad_tree: arrays.
      max_norm: a positive scalar.

    Returns:
      A pytree like it.
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)
