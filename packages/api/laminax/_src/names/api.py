"""The functions that libraries take from JAX's private module of this name."""

from laminax_transforms import checkpoint, grad, hessian, jacfwd, jacrev, jvp, linear_transpose, linearize, value_and_grad, vjp, vmap

from laminax._src.compiling.abstract_calls import eval_shape, make_jaxpr, typeof
from laminax._src.compiling.jit import clear_caches, jit
from laminax._src.compiling.scopes import disable_jit, ensure_compile_time_eval, named_call, named_scope
from laminax._src.parallel.pmap import pmap
from laminax._src.parallel.transfers import (
    block_until_ready,
    copy_to_host_async,
    device_get,
    device_put,
    device_put_replicated,
    device_put_sharded,
    live_arrays,
    local_devices,
)

__all__ = [
    "block_until_ready", "checkpoint", "clear_caches", "copy_to_host_async", "device_get", "device_put", "device_put_replicated",
    "device_put_sharded", "disable_jit", "ensure_compile_time_eval", "eval_shape", "grad", "hessian", "jacfwd", "jacrev", "jit", "jvp",
    "linear_transpose", "linearize", "live_arrays", "local_devices", "make_jaxpr", "named_call", "named_scope", "pmap", "typeof",
    "value_and_grad", "vjp", "vmap",
]
