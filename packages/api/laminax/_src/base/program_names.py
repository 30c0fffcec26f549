"""The names of traced programs, and the facts about the functions that they were traced from."""

from __future__ import annotations

import inspect
from typing import Any, Callable
from weakref import ref

from laminax_ir.pytrees.pytree import PyTreeDef

from laminax._src.base.leaf_names import argument_names, result_names


class ProgramName(str):
    """The name of a program in messages, `jit(f)`; its other attributes are computed when they are read.

    Attributes:
      traced_for: the transformation, "jit".
      func_name: the function's name.
      function: the function while it lives, or None.
      func_src_info: the same with its place, "f at model.py:12".
      arg_names: the names of the program's arguments, from the function's parameters while the function lives.
      result_paths: the names of its results.
    """

    traced_for: str
    func_name: str
    _code: Any
    _arguments: tuple[PyTreeDef, tuple[int, ...]]
    _out_tree: Any
    _fun: Callable[[], Callable | None]

    def __new__(cls, traced_for: str, func_name: str, fun: Callable, in_tree: PyTreeDef, static_positions: tuple[int, ...],
                out_tree: Any) -> ProgramName:
        self = super().__new__(cls, f"{traced_for}({func_name})")
        self.traced_for = traced_for
        self.func_name = func_name
        self._code = function_code(fun)
        self._arguments = in_tree, static_positions
        self._out_tree = out_tree
        try:
            self._fun = ref(fun)
        except TypeError:  # such functions cannot be held weakly
            self._fun = lambda: None
        return self

    def __reduce__(self) -> tuple[Any, ...]:  # the function stays here
        return SavedProgramName, (str(self), self.traced_for, self.func_name, self.func_src_info, self.arg_names, self.result_paths)

    @property
    def function(self) -> Callable | None:
        """The function itself, while it lives."""
        return self._fun()

    @property
    def func_src_info(self) -> str:
        return source_info(self.func_name, self._code)

    @property
    def arg_names(self) -> tuple[str, ...]:
        return tuple(argument_names(self._fun(), *self._arguments))

    @property
    def result_paths(self) -> tuple[str, ...]:
        return tuple(result_names(self._out_tree))


class SavedProgramName(str):
    """The name of a program that was pickled, with the attributes that it had."""

    traced_for: str
    func_name: str
    func_src_info: str
    arg_names: tuple[str, ...]
    result_paths: tuple[str, ...]

    def __new__(cls, name: str, traced_for: str, func_name: str, func_src_info: str, arg_names: tuple[str, ...],
                result_paths: tuple[str, ...]) -> SavedProgramName:
        self = super().__new__(cls, name)
        self.traced_for, self.func_name, self.func_src_info = traced_for, func_name, func_src_info
        self.arg_names, self.result_paths = arg_names, result_paths
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return SavedProgramName, (str(self), self.traced_for, self.func_name, self.func_src_info, self.arg_names, self.result_paths)


def function_code(fun: Callable) -> Any:
    """The code object of a function, behind `partial` and decorators; None if it has none in Python."""
    fun = getattr(fun, "func", fun)
    return getattr(inspect.unwrap(fun) if hasattr(fun, "__wrapped__") else fun, "__code__", None)


def source_info(name: str, code: Any) -> str:
    """`f at model.py:12`, or the name alone where the place is not known."""
    return name if code is None else f"{name} at {code.co_filename}:{code.co_firstlineno}"
