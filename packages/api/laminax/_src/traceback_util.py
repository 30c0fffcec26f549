"""Which files' frames libraries want left out of tracebacks.

laminax shows tracebacks whole. The module exists because flax and equinox import it by this name; what they register is
kept out of the source positions of equations, and `include_frame` tells it to those who format stacks themselves.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, Callable, TypeVar

from laminax_ir import source

F = TypeVar("F", bound=Callable[..., Any])
_exclude_paths: list[str] = []


def register_exclusion(path: str) -> None:
    """Marks a file as a library's own, and the lines of its folder as never the user's.

    Args:
      path: the file, such as `__file__`.
    """
    _exclude_paths.append(path)
    source.register_internal_folder(path)


def include_frame(frame: FrameType) -> bool:
    """Whether a frame belongs to none of the registered files."""
    return not frame.f_code.co_filename.startswith(tuple(_exclude_paths))


def api_boundary(fun: F | None = None, **options: Any) -> Any:
    """Decorator that marks where a library's interface begins; the function itself, since tracebacks are not cut here.

    Args:
      fun: the function; left out when options are given.
      **options: `repro_api_name` and the like, which have no meaning here.
    """
    return fun if fun is not None else lambda f: f
