# Written by tools/stubs.py.
"""Optimizers of pytrees as triples of functions. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax._array import Array as _Array
from laminax._src.numerics.example_libraries.optimizer_states import (
    Optimizer as _Optimizer,
    OptimizerState as _OptimizerState,
    State as _State,
    Step as _Step,
)
from laminax._src.numerics.example_libraries.schedules import Schedule as _Schedule
from laminax.typing import ArrayLike
from typing import Any
from laminax._src.numerics.example_libraries.optimizer_states import Array as Array
from laminax._src.numerics.example_libraries.optimizer_states import InitFn as InitFn
from laminax._src.numerics.example_libraries.optimizer_states import JoinPoint as JoinPoint
from laminax._src.numerics.example_libraries.optimizer_states import Optimizer as Optimizer
from laminax._src.numerics.example_libraries.optimizer_states import Params as Params
from laminax._src.numerics.example_libraries.optimizer_states import ParamsFn as ParamsFn
from laminax._src.numerics.example_libraries.optimizer_states import State as State
from laminax._src.numerics.example_libraries.optimizer_states import Step as Step
from laminax._src.numerics.example_libraries.optimizer_states import UpdateFn as UpdateFn
from laminax._src.numerics.example_libraries.optimizer_states import Updates as Updates
from laminax._src.numerics.example_libraries.schedules import Schedule as Schedule

__all__: list[str]

OptimizerState: type[Any]
def adagrad(step_size: _Schedule | float, momentum: float = 0.9) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Adagrad: gradients divided by the root of the sum of their squares so far, with momentum."""
def adam(
    step_size: _Schedule | float,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-08,
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Adam: running means of gradients, divided by the root of those of their squares."""
def adamax(
    step_size: _Schedule | float,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-08,
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """AdaMax: Adam with a decaying maximum of the gradients' sizes instead of the mean of their squares."""
def clip_grads(grad_tree: Any, max_norm: ArrayLike) -> dict[str, Any]:
    """A pytree of gradients, all scaled by one factor so that their `l2_norm` is at most max_norm."""
def constant(step_size: ArrayLike) -> _Schedule:
    """The same step size at each step."""
def exponential_decay(step_size: float, decay_steps: int, decay_rate: float) -> _Schedule:
    """step_size * decay_rate ** (i / decay_steps)."""
def inverse_time_decay(step_size: float, decay_steps: int, decay_rate: float, staircase: bool = False) -> _Schedule:
    """step_size / (1 + decay_rate * i / decay_steps); with `staircase`, i / decay_steps is rounded down."""
def l2_norm(tree: Any) -> _Array:
    """The square root of the sum of the squares of all elements in a pytree of arrays."""
def make_schedule(scalar_or_schedule: float | _Schedule) -> _Schedule:
    """A schedule of itself, or the constant one of a scalar."""
def momentum(step_size: _Schedule | float, mass: float) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Gradient descent with momentum: steps go along a sum of the gradients so far, each of which weighs `mass` times as much as the
    next."""
def nesterov(step_size: _Schedule | float, mass: float) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Gradient descent with Nesterov's momentum, which looks one step ahead. Args and Returns as of `momentum`."""
def optimizer(
    opt_maker: Callable[..., tuple[Callable[[_Array], _State], Callable[[_Step, _Array, _State], _State], Callable[[_State], _Array]]],
) -> Callable[..., _Optimizer]:
    """A decorator that makes an optimizer of pytrees of one of arrays."""
def pack_optimizer_state(marked_pytree: Any) -> _OptimizerState:
    """The inverse of `unpack_optimizer_state`."""
def piecewise_constant(boundaries: Any, values: Any) -> _Schedule:
    """values[n] at the steps beyond n of the boundaries."""
def polynomial_decay(step_size: float, decay_steps: int, final_step_size: float, power: float = 1.0) -> _Schedule:
    """From step_size to final_step_size within decay_steps, as (1 - i / decay_steps) ** power falls from 1 to 0."""
def rmsprop(
    step_size: _Schedule | float,
    gamma: float = 0.9,
    eps: float = 1e-08,
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """RMSProp: gradients divided by the root of a running mean of their squares."""
def rmsprop_momentum(
    step_size: _Schedule | float,
    gamma: float = 0.9,
    eps: float = 1e-08,
    momentum: float = 0.9,
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """RMSProp with momentum: along the sum of its steps, each `momentum` times the one after it."""
def sgd(step_size: _Schedule | float) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Stochastic gradient descent."""
def sm3(step_size: _Schedule | float, momentum: float = 0.9) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """SM3: like Adagrad, but in place of the sums of squares it keeps upper bounds of them, one vector per axis."""
def unpack_optimizer_state(opt_state: _OptimizerState) -> Any:
    """The parameters' pytree, with a `JoinPoint` that holds the state's pytree for each leaf: a form to save."""
