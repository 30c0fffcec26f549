"""Schedules: step sizes as functions of the number of the step, a number or a traced integer, from 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax._src.numerics.example_libraries.optimizer_states import Step
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

Schedule = Callable[[Step], float]


def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """A schedule of itself, or the constant one of a scalar.

    Raises:
      TypeError: if it is neither.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if np.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(f"make_schedule: a step size must be a scalar or a function of the step, got {type(scalar_or_schedule)} of shape "
                    f"{np.shape(scalar_or_schedule)}")


def constant(step_size: ArrayLike) -> Schedule:
    """The same step size at each step."""
    return lambda i: step_size


def exponential_decay(step_size: float, decay_steps: int, decay_rate: float) -> Schedule:
    """step_size * decay_rate ** (i / decay_steps)."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: float, decay_steps: int, decay_rate: float, staircase: bool = False) -> Schedule:
    """step_size / (1 + decay_rate * i / decay_steps); with `staircase`, i / decay_steps is rounded down."""
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(step_size: float, decay_steps: int, final_step_size: float, power: float = 1.0) -> Schedule:
    """From step_size to final_step_size within decay_steps, as (1 - i / decay_steps) ** power falls from 1 to 0."""
    def schedule(i: ArrayLike) -> Any:
        rest = (1 - jnp.minimum(i, decay_steps) / decay_steps) ** power
        return rest * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """values[n] at the steps beyond n of the boundaries.

    Args:
      boundaries: [n], ascending; the step of a boundary belongs to what is before it.
      values: [n + 1].

    Raises:
      ValueError: if they are no vectors of such lengths.

    Example:
      >>> [float(piecewise_constant([2, 4], [1., .1, .01])(i)) for i in (0, 2, 3, 5)]
      [1.0, 1.0, 0.10000000149011612, 0.009999999776482582]
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError(f"piecewise_constant: boundaries and values must be sequences of numbers, got shapes {boundaries.shape} and "
                         f"{values.shape}")
    if len(values) != len(boundaries) + 1:
        raise ValueError(f"piecewise_constant: boundaries length must be one shorter than values length, got {len(boundaries)} boundaries "
                         f"and {len(values)} values")
    return lambda i: values[jnp.sum(i > boundaries)]
