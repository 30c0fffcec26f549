"""Names of JAX that are not supported, with what to use in their place: they can be imported, and say so when they are called."""

from __future__ import annotations

from typing import Any, Callable, NoReturn


def _refuse(name: str, why: str) -> NoReturn:
    raise NotImplementedError(f"{name} is not supported: {why}")


def names_of_module(module: str, why: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module of which nothing is supported: any name can be imported, and refuses to be called.

    Args:
      module: the module's name below `laminax`.
      why: what to do instead, for the message.
    """
    def find(name: str) -> _Unsupported:
        if name.startswith("__"):  # Python's own questions to a module
            raise AttributeError(f"module 'laminax.{module}' has no attribute {name!r}")
        return _Unsupported(f"{module}.{name}", why)
    return find


class _Unsupported:
    """Stands for a function, a class or a module."""

    def __init__(self, name: str, why: str) -> None:
        self._name, self._why = name, why

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(self._name, self._why)

    def __getattr__(self, name: str) -> _Unsupported:
        if name.startswith("__"):
            raise AttributeError(f"laminax.{self._name} is not supported, and has no attribute {name!r}")
        return _Unsupported(f"{self._name}.{name}", self._why)

    def __or__(self, other: Any) -> _Unsupported:  # in annotations: a class, or None
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<laminax.{self._name}, which is not supported>"


# --- jaxlib's tables ---


def clear_backends() -> NoReturn:
    """Not supported: the clients of platforms live as long as the process, because arrays refer to them.

    Raises:
      NotImplementedError: always.
    """
    _refuse("backend.clear_backends", "clients live as long as the process. laminax.clear_caches() forgets compiled programs; for other "
            "platforms or numbers of devices start another process.")


def register_backend_cache(cache: Any, for_what: str) -> NoReturn:
    """Not supported: there is no moment at which such caches would be cleared, see `clear_backends`.

    Raises:
      NotImplementedError: always.
    """
    _refuse("backend.register_backend_cache", f"the cache for {for_what!r} would be cleared with the clients, which live as long as the "
            "process. Leave the call out.")


def register_backend_factory(name: str, factory: Any, *, priority: int = 0, fail_quietly: bool = True, experimental: bool = False,
                             make_topology: Any = None, c_api: Any = None) -> NoReturn:
    """Not supported: platforms come from PJRT plugins.

    Raises:
      NotImplementedError: always.
    """
    _refuse("backend.register_backend_factory", f"a platform comes from a PJRT plugin. Set PJRT_NAMES_AND_LIBRARY_PATHS={name}:<path of "
            "its library> before the first computation.")


def get_compile_options(num_replicas: int, num_partitions: int, device_assignment: Any = None, env_options_overrides: Any = None,
                        fdo_profile: Any = None, detailed_logging: bool = True, backend: Any = None) -> NoReturn:
    """Not supported: XLA's options are given by name.

    Raises:
      NotImplementedError: always.
    """
    _refuse("backend.get_compile_options", "programs are not compiled through jaxlib's own interface. Give XLA's options by name: "
            "jit(f, compiler_options={...}), or jit(f).lower(...).compile({...}).")


# --- programs ---


class AbstractToken:
    """Not supported: programs hold no tokens.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self) -> None:
        _refuse("core.AbstractToken", "programs hold nothing for tokens, which are pytrees without leaves: no value in one has this type.")
