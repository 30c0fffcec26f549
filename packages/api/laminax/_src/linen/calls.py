"""Calls of methods of modules: what happens around each.

`Module` wraps the methods of its subclasses by `wrap_method`. Before a method runs, `setup` is run if it was not; while it runs, the
module is the parent of the modules that are made; when a compact method ends, its names are free for the next call. Interceptors,
names for profiles, captured results and tables of layers hook in here too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import types
from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar

from laminax._src.compiling.scopes import named_scope
from laminax._src.linen import errors
from laminax._src.linen.base import context

if TYPE_CHECKING:
    from laminax._src.linen.module import Module

F = TypeVar("F", bound=Callable[..., Any])


def compact(fun: F) -> F:
    """Marks a method in which submodules and parameters are made where they are used. A class has at most one.

    Example:
      >>> class MLP(nn.Module):                        # doctest: +SKIP
      ...     @nn.compact
      ...     def __call__(self, x):
      ...         return nn.Dense(1)(nn.relu(nn.Dense(8)(x)))
    """
    fun.compact = True  # type: ignore[attr-defined]  # functions take attributes
    return fun


def nowrap(fun: F) -> F:
    """Marks a method that is called as it is: it makes no submodules, and nothing happens around its calls."""
    fun.nowrap = True  # type: ignore[attr-defined]  # functions take attributes
    return fun


def compact_name_scope(fun: F) -> F:
    """Marks a compact method whose submodules and variables lie below its own name, so that a class may have several."""

    @functools.wraps(fun)
    def in_name_scope(self: Module, *args: Any, **kwargs: Any) -> Any:
        return self._call_in_name_scope(fun, args, kwargs)

    in_name_scope.compact_name_scope = True  # type: ignore[attr-defined]  # functions take attributes
    return in_name_scope  # type: ignore[return-value]  # the same signature


# What hooks in.


@dataclasses.dataclass(frozen=True)
class InterceptorContext:
    """What an interceptor is told of a call.

    Attributes:
      module: the module.
      method_name: the method's name.
      orig_method: the method, bound; calling it runs no interceptors.
    """
    module: Module
    method_name: str
    orig_method: Callable[..., Any]


@contextlib.contextmanager
def intercept_methods(interceptor: Callable[..., Any]) -> Iterator[None]:
    """A context in which calls of methods go through `interceptor(next_function, args, kwargs, context)`, those of outer contexts first.

    Example:
      >>> def no_dropout(next_function, args, kwargs, context):   # doctest: +SKIP
      ...     return args[0] if isinstance(context.module, nn.Dropout) else next_function(*args, **kwargs)
      >>> with nn.intercept_methods(no_dropout):                  # doctest: +SKIP
      ...     model.apply(variables, x)
    """
    context.interceptors.append(interceptor)
    try:
        yield
    finally:
        context.interceptors.pop()


def _intercepted(method: Callable[..., Any], module: Module, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the method through the interceptors, those that were installed first outermost."""
    info = InterceptorContext(module, name, method)
    call = method
    for interceptor in reversed(context.interceptors):
        call = functools.partial(_through, interceptor, call, info)
    return call(*args, **kwargs)


def _through(interceptor: Callable[..., Any], following: Callable[..., Any], info: InterceptorContext, *args: Any, **kwargs: Any) -> Any:
    return interceptor(following, args, kwargs, info)


class _Naming:
    """Whether methods run under their names, for profiles."""
    enabled = True


def enable_named_call() -> None:
    """Has methods' operations named after their modules in profiles and programs, as is the default."""
    _Naming.enabled = True


def disable_named_call() -> None:
    """Leaves the names of modules out of profiles and programs."""
    _Naming.enabled = False


@contextlib.contextmanager
def override_named_call(enable: bool = True) -> Iterator[None]:
    """A context in which operations are named after their modules, or are not."""
    before = _Naming.enabled
    _Naming.enabled = enable
    try:
        yield
    finally:
        _Naming.enabled = before


def profiling_name(module: Module, method_name: str) -> str:
    """The name of a call in profiles, `Dense_0` or `encoder.embed`."""
    return (module.name or type(module).__name__) + ("" if method_name == "__call__" else f".{method_name}")


# The call.


def wrap_method(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The method with all that belongs to a call; one that has it already, or wants none, as it is."""
    if hasattr(fun, "nowrap") or hasattr(fun, "is_wrapped_method"):
        return fun

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        module: Any = args[0] if args else None
        if not _is_module(module):  # a function of this class's namespace that is called otherwise
            return fun(*args, **kwargs)
        return call_method(fun, module, args[1:], kwargs)

    wrapped.is_wrapped_method = True  # type: ignore[attr-defined]  # functions take attributes
    return wrapped


def _is_module(x: Any) -> bool:
    return hasattr(type(x), "_call_in_name_scope")


def call_method(fun: Callable[..., Any], module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a method of a module, by the steps that the head of this file describes."""
    name = name_of(fun)
    is_setup, is_compact = name == "setup", hasattr(fun, "compact")
    if "_state" not in module.__dict__:
        raise errors.IncorrectPostInitOverrideError()
    state = module._state
    is_nested = state.in_setup if is_setup else state.in_compact_method  # by super(), or by a lifted method
    if is_setup:
        if module.scope is None:
            raise errors.CallSetupUnboundModuleError()
        state.in_setup = True
    else:
        module._try_setup()
    if is_compact:
        if module.scope is None:
            raise errors.CallCompactUnboundModuleError()
        state.in_compact_method = True
    context.module_stack.append(module)
    try:
        return _observed(fun, name, module, args, kwargs)
    finally:
        context.module_stack.pop()
        if is_compact and module.scope is not None:
            object.__setattr__(module, "scope", module.scope.rewound())
        if (is_compact or is_setup) and not is_nested:
            state.reset()


def _observed(fun: Callable[..., Any], name: str, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the method under its name, through the interceptors, and tells its result to those who asked."""
    bound = functools.partial(fun, module)
    done = [begin(module, fun, args, kwargs) for begin in context.recorders]
    with named_scope(profiling_name(module, name)) if _Naming.enabled else contextlib.nullcontext():
        result = _intercepted(bound, module, name, args, kwargs) if context.interceptors else bound(*args, **kwargs)
    if context.capture_stack and (wanted := context.capture_stack[-1]) and wanted(module, name):
        module.sow("intermediates", name, result)
    for end in done:
        end(result)
    return result


def name_of(fun: Callable[..., Any]) -> str:
    """The name of a function, or of the one that `partial` objects hold."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", "unnamed_function")


def wrapped_descriptor(descriptor: Any) -> Any:
    """A property or other descriptor of a class, before which `setup` is run, and whose AttributeErrors are not taken for its absence."""

    class Wrapped:
        __isabstractmethod__ = getattr(descriptor, "__isabstractmethod__", False)
        is_wrapped_descriptor = True

        def __getattr__(self, name: str) -> Any:
            return getattr(descriptor, name)

        def __get__(self, module: Any, owner: Any = None) -> Any:
            if module is not None and "_state" in module.__dict__:
                module._try_setup()
            try:
                return descriptor.__get__(module, owner)
            except AttributeError as error:
                if module is None:
                    raise
                raise errors.DescriptorAttributeError() from error

        if hasattr(descriptor, "__set__"):
            def __set__(self, module: Any, value: Any) -> None:
                descriptor.__set__(module, value)

        if hasattr(descriptor, "__delete__"):
            def __delete__(self, module: Any) -> None:
                descriptor.__delete__(module)

    return Wrapped()


def is_descriptor(x: Any) -> bool:
    """Whether a class attribute is a descriptor other than a method: a property, for one."""
    by_python = isinstance(x, (types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType))
    return hasattr(type(x), "__get__") and not by_python and not callable(x)


def named_call(class_fn: F, force: bool = True) -> F:
    """A function of a module whose operations are named after the module and it, in profiles and programs.

    Args:
      class_fn: a function whose first argument is a module.
      force: whether they are also where `disable_named_call` was called.
    """
    function = wrap_method(class_fn)

    @functools.wraps(class_fn)
    def named(module: Any, *args: Any, **kwargs: Any) -> Any:
        with named_scope(profiling_name(module, name_of(class_fn))) if force or _Naming.enabled else contextlib.nullcontext():
            return function(module, *args, **kwargs)

    return named  # type: ignore[return-value]  # the same signature
