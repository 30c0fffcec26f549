# Written by tools/stubs.py.
"""Functions with a stack of transformations, of flat arguments. A table of contents: names load on first use."""

from collections.abc import Callable, Hashable
from laminax_ir.tracing.wrapped_functions import WrappedFun as _WrappedFun
from typing import Any
from laminax_ir.tracing.wrapped_functions import Store as Store
from laminax_ir.tracing.wrapped_functions import StoreException as StoreException
from laminax_ir.tracing.wrapped_functions import WrappedFun as WrappedFun

__all__: list[str]

def cache(call: Callable[..., Any], *, explain: None = None) -> Callable[..., Any]:
    """Remembers what `call(fun, *args)` gave for equal functions, transformations and arguments, as long as the function lives."""
def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Whether the first of two stores was filled, or else the second, and the value of the one that was."""
def transformation(gen: Callable[..., Any], fun: _WrappedFun | None = None, *gen_static_args: Hashable) -> Any:
    """As `transformation2`, of a generator: it yields `(args, kwargs)`, is sent the result, and yields its own result."""
def transformation2(gen: Callable[..., Any], fun: _WrappedFun | None = None, *gen_static_args: Hashable) -> Any:
    """The function with `gen(fun, *gen_static_args, *args)` around it."""
def transformation_with_aux(gen: Callable[..., Any], fun: _WrappedFun | None = None, *gen_static_args: Hashable) -> Any:
    """As `transformation_with_aux2`, of a generator, whose last value is the pair of result and auxiliary value."""
def transformation_with_aux2(
    gen: Callable[..., Any],
    fun: _WrappedFun | None = None,
    *gen_static_args: Hashable,
    use_eq_store: bool = False,
    unk_names: bool = False,
) -> Any:
    """The function with `gen(fun, store, *gen_static_args, *args)` around it, and the function that reads the store."""
def wrap_init(f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None) -> _WrappedFun:
    """A function without transformations."""
