# Written by tools/stubs.py.
"""Functions that may still change: a table of contents; a name's module is imported when the name is first used."""

from collections.abc import Callable
from laminax.typing import DTypeLike
from laminax_ir.types.extended_dtypes import PrimalTangentDType
from typing import Any, NoReturn
from laminax.experimental import array_serialization as array_serialization
from laminax.experimental import as_jax as as_jax
from laminax.experimental import buffer_callback as buffer_callback
from laminax.experimental import checkify as checkify
from laminax.experimental import colocated_python as colocated_python
from laminax.experimental import compilation_cache as compilation_cache
from laminax.experimental import compute_on as compute_on
from laminax.experimental import custom_partitioning as custom_partitioning
from laminax.experimental import fused as fused
from laminax.experimental import hijax as hijax
from laminax.experimental import jet as jet
from laminax.experimental import key_reuse as key_reuse
from laminax.experimental import layout as layout
from laminax.experimental import mesh_utils as mesh_utils
from laminax.experimental import multihost_utils as multihost_utils
from laminax.experimental import ode as ode
from laminax.experimental import overlap as overlap
from laminax.experimental import pallas as pallas
from laminax.experimental import pjit as pjit
from laminax.experimental import profiler as profiler
from laminax.experimental import random as random
from laminax.experimental import rnn as rnn
from laminax.experimental import roofline as roofline
from laminax.experimental import scheduling_groups as scheduling_groups
from laminax.experimental import serialize_executable as serialize_executable
from laminax.experimental import shard_map as shard_map
from laminax.experimental import sparse as sparse
from laminax.experimental import topologies as topologies
from laminax.experimental import xla_metadata as xla_metadata

__all__: list[str]

def cur_qdd(x: Any) -> NoReturn:
    """Not supported: the contents of a value of a user's type."""
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls a Python function with side effects on the host, from a program that may be compiled: exactly once per run."""
def primal_tangent_dtype(primal_dtype: DTypeLike, tangent_dtype: DTypeLike, name: str | None = None) -> PrimalTangentDType:
    """A dtype of numbers whose tangents and cotangents have another dtype: integers, say, that are differentiated."""
