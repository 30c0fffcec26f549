"""The modules of the table, loaded."""

from functions import (
    lax_elementwise,
    lax_shapes,
    nn_and_random,
    numpy_elementwise,
    numpy_reductions,
    numpy_shapes,
    scipy_functions,
    transforms_and_matrices,
)

MODULES = (
    lax_elementwise,
    lax_shapes,
    nn_and_random,
    numpy_elementwise,
    numpy_reductions,
    numpy_shapes,
    scipy_functions,
    transforms_and_matrices,
)
