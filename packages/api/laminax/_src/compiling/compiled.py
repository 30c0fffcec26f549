"""Compiled functions as values: what `jit(f).lower(...).compile()` returns, and what the stages before it have in common with it.

A compiled function takes arguments of the types that it was compiled for, and nothing else; it never traces.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable, Sequence

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.options.records import Record
from laminax_ir.pytrees.pytree import PyTreeDef, structure_errors, tree_flatten, tree_structure, tree_unflatten
from laminax_ir.refs.refs import Ref, check_aliases
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.array_layouts import Format
from laminax_ir.types.array_layouts import in_use as layouts_in_use
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

from laminax._src.compiling.checking.checked_results import check_results, is_checking
from laminax._src.compiling.executables import (
    Program,
    check_none_deleted,
    deleted_argument_error,
    note_largest_buffers,
    raise_if_out_of_memory,
)
from laminax._src.placement.partitioning import committed_sharding

if TYPE_CHECKING:
    from laminax_runtime.running.dispatch import FastpathData

    from laminax._src.compiling.hi_calls import HiTypeUse
    from laminax._src.compiling.ref_calls import RefUse


class ArgInfo(Record):
    """The type of an argument, and whether its buffer may be overwritten."""

    _aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The argument's shape."""
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        """The argument's dtype, of NumPy or extended."""
        return self._aval.dtype


class Signature(Record):
    """The signature of a traced function: for each leaf of the arguments its type, donation and name; and the types of the results."""

    name: str
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_structs: tuple[ShapeDtypeStruct, ...]
    donated: tuple[bool, ...]
    namer: Callable[[int], str]


class Stage:
    """The base class of the stages: what each of them knows of the function's arguments and results."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of the arguments, as that of the pair (args, kwargs) without static arguments."""
        return self._signature.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result."""
        return self._signature.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments: a pair of a tuple for positional arguments and a dict for keyword arguments."""
        return tree_unflatten(self.in_tree, self._signature.in_avals)

    @property
    def args_info(self) -> Any:
        """The arguments' types, and whether they are donated, in the structure of `in_avals`."""
        signature = self._signature
        return tree_unflatten(self.in_tree, [ArgInfo(aval, bool(d)) for aval, d in zip(signature.in_avals, signature.donated)])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The numbers of the donated arguments, counting leaves."""
        return tuple(i for i, is_donated in enumerate(self._signature.donated) if is_donated)

    @property
    def out_info(self) -> Any:
        """Shape and dtype of each result: a pytree like the result, of `ShapeDtypeStruct`."""
        return tree_unflatten(self.out_tree, self._signature.out_structs)


class Compiled(Stage):
    """A compiled function; called with arguments of the types it was compiled for, the static ones left out."""

    def __init__(self, signature: Signature, program: Program, ref_use: RefUse | HiTypeUse | None = None) -> None:
        super().__init__(signature)
        self._program = program
        self._ref_use = ref_use

    @property
    def has_objects(self) -> bool:
        """Whether there are references or values of users' types among what it takes, closes over or returns."""
        return self._ref_use is not None

    def __reduce__(self) -> tuple[type[Any], tuple[Signature, Program]]:
        """Pickled for the same version of jaxlib, on the same kind of machine."""
        signature = self._signature
        if self.has_objects:
            raise TypeError(f"cannot pickle the compiled {self._name}, which has references to arrays of this process")
        names = [signature.namer(i) for i in range(len(signature.in_avals))]
        structs = tuple(ShapeDtypeStruct(s.shape, s.dtype, weak_type=s.weak_type) for s in signature.out_structs)
        return Compiled, (signature.replace(namer=names.__getitem__, out_structs=structs), self._program)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._dispatch(*args, **kwargs)
        except runtime.DeletedArrayError:
            raise
        except ValueError:  # jaxlib 0.10.2 raises ValueError for a deleted argument, and does not name the argument
            leaves = tree_flatten((args, kwargs))[0]
            try:
                check_none_deleted(leaves)
            except runtime.DeletedArrayError as error:
                raise deleted_argument_error(error, f"the compiled {self._name}", leaves, self._path) from None
            raise

    @cached_property
    def _dispatch(self) -> Callable[..., Any]:
        """Runs a call; C++ runs later calls with arguments of the same types. On several devices each call is checked here."""
        name, executable = self._signature.name, self._program.executable
        return (runtime.make_eager_function(name, self._miss) if len(executable.devices) == 1
                else lambda *args, **kwargs: self._run(args, kwargs)[0])

    def _miss(self, *args: Any, **kwargs: Any) -> tuple[Any, FastpathData | None, bool]:
        outs, flat_outs, leaves = self._run(args, kwargs)
        return outs, None if self._ref_use is not None else self._program.fastpath(self.out_tree, flat_outs, leaves), False

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any], list[Any]]:
        """The results, the flat results and the flat arguments."""
        leaves = self._checked_leaves(args, kwargs)
        values, use = leaves, self._ref_use
        if use is not None:
            check_aliases(self._name, "jit", leaves, use.closed_over, self._path)
            values = use.values(leaves, donates=True)
        self._check_shardings(values)
        if layouts_in_use:
            self._check_layouts(values)
        try:
            outs = self._program.run(values)
            raise_if_out_of_memory(self._program, outs)
            if is_checking():
                check_results(outs, f"the compiled {self._name}")
            return tree_unflatten(self.out_tree, outs if use is None else use.write_back(leaves, outs)), outs, leaves
        except runtime.DeletedArrayError as error:
            raise deleted_argument_error(error, f"the compiled {self._name}", leaves, self._path) from None
        except runtime.XlaRuntimeError as error:
            note_largest_buffers(error, f"the compiled {self._name}", self._program, self._path, len(leaves))
            raise

    def _checked_leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The flat arguments of a call.

        Raises:
          TypeError: if their structure or their types are not those that the function was compiled for, or one is a tracer.
        """
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(self._describe_structure(args, kwargs))
        wrong = []
        for i, (leaf, expected) in enumerate(zip(leaves, self._signature.in_avals)):
            if isinstance(leaf, Tracer):
                raise TypeError("Cannot apply JAX transformations to a function lowered and compiled for a particular signature. "
                                f"Detected argument of Tracer type {type(leaf)}: {self._path(i)} of {self._name} is {leaf!r}. "
                                f"Transform {self._name} itself, or its jit, instead.")
            if not is_array_like(leaf) and not isinstance(leaf, Ref):
                raise TypeError(f"the compiled {self._name}: argument {self._path(i)} is not an array: {leaf!r}")
            aval = get_aval(leaf)
            if aval is not expected and _is_another_type(aval, expected):
                wrong.append(f"Argument '{self._path(i)}' compiled with {expected.str_short(short_dtypes=False)} and called with "
                             f"{aval.str_short(short_dtypes=False)}")
        if wrong:
            raise TypeError("\n".join([
                f"Argument types differ from the types for which this computation was compiled, {self._name}. The mismatches are:", *wrong,
                "Convert the arguments, or lower and compile for these types (enable_x64 changes types too)."]))
        return leaves

    def _check_layouts(self, leaves: Sequence[Any]) -> None:
        """Arrays must have the layouts for which the program was compiled."""
        wrong = []
        for i, (leaf, wanted) in enumerate(zip(leaves, self._flat_input_formats)):
            if isinstance(leaf, runtime.ArrayImpl) and leaf.committed and not leaf.is_deleted() and wanted.layout is not None:
                found = leaf.format.layout
                if found != wanted.layout:
                    wrong.append(f"Argument {self._path(i)} with shape {get_aval(leaf).str_short(short_dtypes=False)}:\n  Passed layout: "
                                 f"{found}\n  Required layout: {wanted.layout}")
        if wrong:
            raise ValueError("\n".join([
                f"Computation was compiled for input layouts that disagree with the layouts of arguments passed to it, {self._name}. Here "
                f"are the {len(wrong)} mismatches:", *wrong,
                "Bring them there with device_put(x, format), or lower and compile for these layouts."]))

    def _check_shardings(self, leaves: Sequence[Any]) -> None:
        """Committed arguments of a program over several devices must be where it expects them."""
        if len(self._program.executable.devices) == 1:
            return
        wrong = []
        for i, (leaf, wanted) in enumerate(zip(leaves, self._flat_input_shardings)):
            found = committed_sharding(leaf)
            if found is not None and wanted is not None and not found.is_equivalent_to(wanted, physical_aval(get_aval(leaf)).ndim):
                wrong.append(f"  {self._path(i)}, {get_aval(leaf).str_short()}, is {found}, and must be {wanted}")
        if wrong:
            raise ValueError("\n".join([
                ("Computation was compiled for input shardings that disagree with the shardings of arguments passed to it. "
                 f"Here are the mismatches, of the arguments of {self._name}:"),
                *wrong, "Move them with device_put, or lower and compile for these shardings."]))

    @cached_property
    def _flat_input_shardings(self) -> list[Any]:
        """One sharding per argument; None for an argument that the program does not take."""
        executable = self._program.executable
        found = iter(executable.in_shardings)
        per_parameter = [next(found) if is_kept else None for is_kept in executable.kept]
        return per_parameter[len(self._program.const_args):]

    @property
    def input_shardings(self) -> Any:
        """The shardings of the arguments: a tuple for positional and a dict for keyword arguments; None for an unused argument."""
        return tree_unflatten(self.in_tree, self._flat_input_shardings)

    @property
    def output_shardings(self) -> Any:
        """The shardings of the results: a pytree like the result."""
        return tree_unflatten(self.out_tree, self._program.executable.out_shardings)

    @property
    def input_formats(self) -> Any:
        """The `Format`s (sharding and layout) of the arguments: a pair as in `input_shardings`; None for an unused argument."""
        return tree_unflatten(self.in_tree, self._flat_input_formats)

    @cached_property
    def _flat_input_formats(self) -> list[Format]:
        executable = self._program.executable
        found = iter(map(runtime.layout_from_jaxlib, executable.parameter_layouts))
        layouts = [next(found) if is_kept else None for is_kept in executable.kept][len(self._program.const_args):]
        return [Format(layout, sharding) for layout, sharding in zip(layouts, self._flat_input_shardings, strict=True)]

    @property
    def output_formats(self) -> Any:
        """The `Format`s (sharding and layout) of the results: a pytree like the result."""
        executable = self._program.executable
        return tree_unflatten(self.out_tree, [Format(runtime.layout_from_jaxlib(layout), sharding) for layout, sharding in
                                              zip(executable.result_layouts, executable.out_shardings, strict=True)])

    @property
    def out_info(self) -> Any:
        """Shape, dtype and sharding of each result: a pytree like the result, of `ShapeDtypeStruct`."""
        return tree_unflatten(self.out_tree, [s.update(sharding=sharding) for s, sharding in
                                              zip(self._signature.out_structs, self._program.executable.out_shardings)])

    @property
    def _name(self) -> str:
        return self._signature.name

    def _path(self, position: int) -> str:
        return self._signature.namer(position)

    def _describe_structure(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> str:
        """The message for a call whose arguments have another structure than those that the function was compiled for."""
        if (len(args), sorted(kwargs)) != (shape := self._shape_of_arguments()):
            found = f"{len(args)} positional arguments and the keywords {sorted(kwargs)}"
            detail = f"it takes {shape[0]} positional arguments and the keywords {shape[1]}, and was called with {found}"
        else:
            mismatch = next(iter(structure_errors(self.in_tree, (args, kwargs), exact=True)), None)
            detail = str(mismatch("arguments", "compiled", "called")) if mismatch else \
                f"it was compiled for {self.in_tree}, and called with {tree_structure((args, kwargs))}"
        return (f"Function compiled with input pytree does not match the input pytree it was called with, {self._name}: "
                f"{detail.rstrip('.')}. Static arguments are left out.")

    def _shape_of_arguments(self) -> tuple[int, list[str]]:
        """The number of positional arguments and the keywords that the function was compiled for."""
        args, kwargs = self.in_tree.children()
        _, keywords = kwargs.node_data() or (dict, ())
        return len(args.children()), sorted(keywords)

    def as_text(self) -> str:
        """The optimised HLO as text."""
        return self._program.executable.as_text()

    def cost_analysis(self) -> dict[str, Any]:
        """XLA's estimates for the optimised program, by name: "flops", "bytes accessed" and others."""
        return self._program.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """The bytes of arguments, results, temporaries and code: jaxlib's object, such as `.temp_size_in_bytes`."""
        return self._program.executable.memory_analysis()

    def runtime_executable(self) -> Any:
        """jaxlib's loaded executable."""
        return self._program.executable.loaded


def _is_another_type(aval: Any, expected: Any) -> bool:
    """Whether an argument's type differs in kind, shape or dtype from the expected one; values of users' types must have an equal type."""
    return (type(aval) is not type(expected) or isinstance(expected, HiType) or aval.shape != expected.shape
            or aval.dtype != expected.dtype)
