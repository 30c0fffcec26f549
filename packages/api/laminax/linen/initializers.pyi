# Written by tools/stubs.py.
"""Initializers of parameters: functions `init(key, shape, dtype)` that return arrays, and functions that make them."""

from laminax._src.numerics.nn.initializers import Initializer as _Initializer
from laminax._src.numerics.nn.initializers import Initializer as Initializer
from laminax.nn.initializers import constant as constant
from laminax.nn.initializers import delta_orthogonal as delta_orthogonal
from laminax.nn.initializers import glorot_normal as glorot_normal
from laminax.nn.initializers import glorot_uniform as glorot_uniform
from laminax.nn.initializers import he_normal as he_normal
from laminax.nn.initializers import he_uniform as he_uniform
from laminax.nn.initializers import kaiming_normal as kaiming_normal
from laminax.nn.initializers import kaiming_uniform as kaiming_uniform
from laminax.nn.initializers import lecun_normal as lecun_normal
from laminax.nn.initializers import lecun_uniform as lecun_uniform
from laminax.nn.initializers import normal as normal
from laminax.nn.initializers import ones as ones
from laminax.nn.initializers import orthogonal as orthogonal
from laminax.nn.initializers import truncated_normal as truncated_normal
from laminax.nn.initializers import uniform as uniform
from laminax.nn.initializers import variance_scaling as variance_scaling
from laminax.nn.initializers import xavier_normal as xavier_normal
from laminax.nn.initializers import xavier_uniform as xavier_uniform
from laminax.nn.initializers import zeros as zeros

__all__: list[str]

def ones_init() -> _Initializer:
    """The initializer `ones`, for code that calls what makes initializers."""
def zeros_init() -> _Initializer:
    """The initializer `zeros`, for code that calls what makes initializers."""
