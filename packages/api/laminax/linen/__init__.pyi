# Written by tools/stubs.py.
"""Modules of neural networks, as Flax's `linen` has them. A table of contents: names load on first use."""

from collections.abc import Callable, Iterator
from laminax._src.linen.calls import F
from laminax._src.linen.filters import Filter
from laminax._src.linen.functional import Captured
from laminax._src.linen.module import Module as _Module
from typing import Any
from laminax._src.linen.filters import DenyList as DenyList
from laminax._src.linen.frozen_dict import FrozenDict as FrozenDict
from laminax._src.linen.module import Module as Module
from laminax._src.linen.scope import Variable as Variable

__all__: list[str]

def apply(fn: Callable[..., Any], module: _Module, mutable: Filter = False, capture_intermediates: Captured = False) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of the variables: `apply(fn, module)(variables, *args, rngs=...)`."""
def compact(fun: F) -> F:
    """Marks a method in which submodules and parameters are made where they are used. A class has at most one."""
def compact_name_scope(fun: F) -> F:
    """Marks a compact method whose submodules and variables lie below its own name, so that a class may have several."""
def disable_named_call() -> None:
    """Leaves the names of modules out of profiles and programs."""
def enable_named_call() -> None:
    """Has methods' operations named after their modules in profiles and programs, as is the default."""
def init(fn: Callable[..., Any], module: _Module, mutable: Filter = ..., capture_intermediates: Captured = False) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of keys: `init(fn, module)(rngs, *args)` gives the variables."""
def init_with_output(
    fn: Callable[..., Any],
    module: _Module,
    mutable: Filter = ...,
    capture_intermediates: Captured = False,
) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of keys: `init_with_output(fn, module)(rngs, *args)` gives its result and the variables."""
def intercept_methods(interceptor: Callable[..., Any]) -> Iterator[None]:
    """A context in which calls of methods go through `interceptor(next_function, args, kwargs, context)`, the innermost first."""
def merge_param(name: str, a: Any, b: Any) -> Any:
    """The one of two values that is not None: that of a field, or that of a call's argument."""
def nowrap(fun: F) -> F:
    """Marks a method that is called as it is: it makes no submodules, and nothing happens around its calls."""
def override_named_call(enable: bool = True) -> Iterator[None]:
    """A context in which operations are named after their modules, or are not."""
def unbox(tree: Any) -> Any:
    """The tree with values in place of the boxes around them."""
