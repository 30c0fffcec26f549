"""`DebugInfo`: what a program was made from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class DebugInfo(NamedTuple):
    """The origin of a program, for messages; `linear_util.wrap_init` takes it.

    Args:
      traced_for: the transformation, "jit" and so on.
      func_src_info: the function and its place: "f at model.py:12".
      arg_names: the names of its flat arguments, if they are known.
      result_paths: those of its flat results, or a function that returns them, if they are known.

    Example:
      >>> DebugInfo("jit", "f at model.py:12", ("x",), None).func_name
      'f'
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None
    result_paths: tuple[str, ...] | Callable[[], tuple[str, ...]] | None

    @property
    def func_name(self) -> str:
        """The function's name."""
        return self.func_src_info.split(" ")[0]

    @property
    def func_filename(self) -> str | None:
        """The file that the function is in; None if it is not known."""
        return found[1] if (found := _PLACE.match(self.func_src_info)) else None

    @property
    def func_lineno(self) -> int | None:
        """The line that the function begins at; None if it is not known."""
        return int(found[2]) if (found := _PLACE.match(self.func_src_info)) else None


_PLACE = re.compile(r".* at (.+):(\d+)$")
