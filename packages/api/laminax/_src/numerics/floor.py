"""The names that the numerics take from the api's core: their only door to the rooms above them.

| name | is |
|---|---|
| `fused` | decorator: a function of arrays as one compiled program, inlined where it is traced |
| `compiled_function` | a function of values that runs compiled, whatever trace is current |
| `as_array` | a concrete value as an array |
| `split_result`, `takes_out_sharding`, `open_zeros` | the parameter `out_sharding` |
| `jit`, `make_jaxpr`, `eval_shape` | tracing, and what it is for |
| `device_put`, `block_until_ready` | transfers |

Besides these the numerics import `laminax_ir`, derivatives and `vmap` of `laminax_transforms`, and the array type and transfers
of `laminax_runtime`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax._src.compiling.eager import as_array, compiled_function
from laminax._src.compiling.fusion import fused
from laminax._src.parallel.out_shardings import open_zeros, split_result, takes_out_sharding

if TYPE_CHECKING:
    from laminax._src.compiling.abstract_calls import eval_shape, make_jaxpr
    from laminax._src.compiling.jit import jit
    from laminax._src.parallel.transfers import block_until_ready, device_put

__all__ = [
    "as_array", "block_until_ready", "compiled_function", "device_put", "eval_shape", "fused", "jit", "make_jaxpr", "open_zeros",
    "split_result", "takes_out_sharding",
]


def __getattr__(name: str) -> Any:
    """The names that few modules of the numerics take: the modules behind them are loaded with the first of these."""
    if name in ("eval_shape", "make_jaxpr"):
        from laminax._src.compiling import abstract_calls
        return getattr(abstract_calls, name)
    if name in ("block_until_ready", "device_put"):
        from laminax._src.parallel import transfers
        return getattr(transfers, name)
    if name == "jit":
        from laminax._src.compiling.jit import jit
        return jit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
