"""Optimizers of pytrees as triples of functions. A table of contents: names load on first use.

An optimizer is a triple (init_fun, update_fun, get_params). `init_fun(params)` returns a state,
`update_fun(step, grads, state)` the next one, `get_params(state)` the parameters in it.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.example_libraries.optimizer_states": """
        Array InitFn JoinPoint Optimizer OptimizerState Params ParamsFn State Step UpdateFn Updates optimizer pack_optimizer_state
        unpack_optimizer_state""",
    "numerics.example_libraries.update_rules": """
        adagrad adam adamax clip_grads l2_norm momentum nesterov rmsprop rmsprop_momentum sgd sm3""",
    "numerics.example_libraries.schedules": """
        Schedule constant exponential_decay inverse_time_decay make_schedule piecewise_constant polynomial_decay""",
})
