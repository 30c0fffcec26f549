"""`pallas_call`: a kernel as a function of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.shape import full
from laminax_ir.options.records import Record
from laminax_ir.pytrees.pytree import (
    PyTreeDef,
    keystr,
    structure_errors,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)
from laminax_ir.recording.discharge import discharged
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.arguments import check_callable, function_name
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.canonical_dtypes import canonicalize_dtype
from laminax_ir.types.ref_types import AbstractRef
from laminax_runtime import default_backend

from laminax._src.compiling.jit import jit
from laminax._src.pallas.blocks import BlockSpec, GridSpec, NoBlockSpec, no_block_spec
from laminax._src.pallas.interpreting import InterpretParams, Kernel, forced_interpretation, run_kernel
from laminax._src.pallas.operands import Operand, Surroundings, captured_arrays, described, make_operand, uninitialized
from laminax._src.pallas.positions import at
from laminax._src.pallas.tpu_memory import is_semaphore


def pallas_call(kernel: Callable[..., None], out_shape: Any, *, grid_spec: GridSpec | None = None, grid: Any = (),
                in_specs: Any = no_block_spec, out_specs: Any = no_block_spec, scratch_shapes: Any = (),
                input_output_aliases: Mapping[int, int] = {}, debug: bool = False, interpret: Any = False, name: str | None = None,
                compiler_params: Any = None, cost_estimate: Any = None, metadata: dict[str, str] | None = None) -> Callable[..., Any]:
    """Makes a function of arrays of a kernel that works on blocks of them, for each step of a grid.

    Kernels are interpreted: they run as a loop over the grid, in order, on any platform. They are not compiled for GPUs and TPUs.

    Args:
      kernel: function of references, which returns nothing: to the prefetched scalars, to a block of each argument, in the arguments'
        structure, to a block of each result, and to the scratch memory. It reads the first and writes the others, as in
        `o_ref[...] = x_ref[...]`; `program_id` tells it the step.
      out_shape: the results' types, a pytree of `ShapeDtypeStruct`s or arrays; a tuple or list for a tuple of results.
      grid_spec: a `GridSpec`, in the place of the four parameters that follow.
      grid, in_specs, out_specs, scratch_shapes: as for `GridSpec`.
      input_output_aliases: from the number of a flat argument to that of a flat result, which begins with the argument's value.
      debug: whether to print the traced kernel.
      interpret: True, or an `InterpretParams`. False raises an error when the function is called, unless `force_tpu_interpret_mode` is on.
      name: the function's name in programs; the kernel's by default.
      compiler_params, cost_estimate, metadata: for compilers of kernels; without effect on interpreted ones.

    Returns:
      A function of the arguments, with one more axis of blocks under `vmap`, and derivatives in both directions. What no step writes is
      NaN, the least integer or False.

    Raises:
      ValueError: if grid_spec is given beside grid and the others, or in_specs is no sequence; by the call, if specifications do not have
        the structure of the arguments or results, a block not the array's number of axes, an index map returns something else than one
        integer per axis, the kernel returns something or closes over an array, or an alias names no argument or result of the same type.
      TypeError: if the kernel is not callable or does not take so many references.
      NotImplementedError: by the call, for interpret=False on a platform other than the CPU.

    Source: the interface is that of Pallas, https://docs.jax.dev/en/latest/pallas/.

    Example:
      >>> def add_one(x_ref, o_ref):
      ...     o_ref[...] = x_ref[...] + 1
      >>> x = laminax.numpy.arange(4)
      >>> pallas_call(add_one, ShapeDtypeStruct((4,), "int32"), grid=(2,), in_specs=[BlockSpec((2,), lambda i: i)],
      ...             out_specs=BlockSpec((2,), lambda i: i), interpret=True)(x)
      Array([1, 2, 3, 4], dtype=int32)
    """
    check_callable("pallas_call", kernel)
    if grid_spec is None:
        grid_spec = GridSpec(grid, in_specs, out_specs, scratch_shapes)
    elif not (grid == () and isinstance(in_specs, NoBlockSpec) and isinstance(out_specs, NoBlockSpec) and scratch_shapes == ()):
        raise ValueError("pallas_call: grid_spec says what grid, in_specs, out_specs and scratch_shapes say; give it or them, not both")
    call = _Call(kernel, tuple(out_shape) if isinstance(out_shape, list) else out_shape, grid_spec, dict(input_output_aliases), debug,
                 name or function_name(kernel))

    def interpreted(*args: Any) -> Any:
        return call.run(args, _interpretation(interpret))

    interpreted.__name__ = interpreted.__qualname__ = call.name
    return jit(interpreted, inline=True)


def _interpretation(interpret: Any) -> InterpretParams:
    """How to interpret a kernel.

    Raises:
      ValueError: if the kernel is to be compiled, on a CPU.
      NotImplementedError: likewise on other platforms.
    """
    asked = interpret or forced_interpretation.value
    if not asked:
        if default_backend() == "cpu":
            raise ValueError("Only interpret mode is supported on CPU backend. Pass interpret=True to pallas_call.")
        raise NotImplementedError("pallas_call: kernels are interpreted, and not compiled for this platform. Pass interpret=True, or "
                                  "call a compiled kernel with laminax.ffi.ffi_call.")
    params = asked if isinstance(asked, InterpretParams) else InterpretParams()
    params.check()
    return params


class _Call(Record):
    """What `pallas_call` was given."""
    kernel: Callable[..., Any]
    out_shape: Any
    grid_spec: GridSpec
    aliases: dict[int, int]
    debug: bool
    name: str

    def run(self, args: tuple[Any, ...], params: InterpretParams) -> Any:
        """The results for arguments."""
        spec = self.grid_spec
        is_zero = params.uninitialized_memory == "zero"
        count = len(tree_flatten(args[:spec.num_scalar_prefetch])[0])
        leaves = [_typed(x) for x in tree_flatten(args)[0]]
        scalars, inputs = leaves[:count], leaves[count:]
        surroundings = Surroundings(tuple([n if isinstance(n, int) else convert_element_type(n, np.int32) for n in spec.grid]),
                                    tuple([get_aval(x) for x in scalars]), tree_structure(args[:spec.num_scalar_prefetch]))
        in_operands = _operands("args", args, spec.num_scalar_prefetch, "in_specs", spec.in_specs, "inputs", surroundings)
        out_operands = _operands("outputs", self.out_shape, 0, "out_specs", spec.out_specs, "out_shape", surroundings)
        self._check_aliases(leaves, out_operands)
        memory, memory_tree = tree_flatten(spec.scratch_shapes)
        sources = {out: leaves[index] for index, out in self.aliases.items()}
        starts = [sources[i] if i in sources else full(operand.aval.shape, uninitialized(operand.aval.dtype, is_zero), operand.aval.dtype)
                  for i, operand in enumerate(out_operands)]
        traced = self._traced(args, [*in_operands, *out_operands], surroundings, memory, memory_tree)
        results = run_kernel(traced, surroundings, scalars, list(zip(in_operands, inputs)), list(zip(out_operands, starts)),
                             [_scratch(x, is_zero) for x in memory], is_zero)
        return tree_unflatten(tree_structure(self.out_shape), results)

    def _check_aliases(self, leaves: Sequence[Any], outputs: Sequence[Operand]) -> None:
        for index, out in self.aliases.items():
            mapping = f"input_output_aliases contains the mapping '{index}:{out}'"
            if not 0 <= index < len(leaves):
                raise ValueError(f"{mapping} with input index {index} outside the range [0, {len(leaves)})")
            if not 0 <= out < len(outputs):
                raise ValueError(f"{mapping} with output index {out} outside the range [0, {len(outputs)})")
            given, wanted = get_aval(leaves[index]), outputs[out].aval
            if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
                raise ValueError(f"{mapping} referring to input[{index}] with abstract value {given.str_short(short_dtypes=False)} and to "
                                 f"output[{out}] with a different abstract value {wanted.str_short(short_dtypes=False)}.")

    def _traced(self, args: tuple[Any, ...], operands: Sequence[Operand], surroundings: Surroundings, memory: Sequence[Any],
                memory_tree: PyTreeDef) -> Kernel:
        """The kernel traced for references to blocks of the operands."""
        spec = self.grid_spec
        avals = [*[operand.block_aval for operand in operands], *map(_scratch_aval, memory)]
        in_tree, out_tree = tree_structure(args[spec.num_scalar_prefetch:]), tree_structure(self.out_shape)

        def flat(*values: Any) -> list[Any]:
            position, scalars, refs = surroundings.split(values)
            count, last = in_tree.num_leaves, len(refs) - len(memory)
            outputs = tree_unflatten(out_tree, refs[count:last])
            scratch = tree_unflatten(memory_tree, refs[last:])
            positional = [*scalars, *tree_unflatten(in_tree, refs[:count]),
                          *(outputs if isinstance(self.out_shape, tuple) else [outputs])]
            named = scratch if isinstance(scratch, dict) else {}
            if not isinstance(scratch, dict):
                positional += scratch if isinstance(scratch, (tuple, list)) else [scratch]
            axes = [(axis, n) for axis, n in zip(spec.grid_names, spec.grid) if axis is not None and isinstance(n, int)]
            with at(position), extend_axis_env(*axes):
                result = self.kernel(*positional, **named)
            if result is not None:
                raise ValueError(f"{self._title()} should return None. It returns a value of the structure {tree_structure(result)}: write "
                                 "results to the references of the outputs.")
            return []

        refs: list[Any] = [AbstractRef(aval) for aval in avals]
        program = stage(flat, [*surroundings.avals, *refs], name=self.name, keeps_refs=True)
        if captured := captured_arrays(self.kernel, program):
            raise ValueError(f"{self._title()} captures constants {captured}. You should pass them as inputs.")
        if self.debug:
            print(f"The kernel of the pallas_call {self.name}:\n{program.jaxpr}")
        pure = discharged(program)
        return Kernel(pure.closed, pure.written[len(surroundings.sizes) + len(surroundings.dynamic):])

    def _title(self) -> str:
        return f"The kernel function in the pallas_call {described(self.kernel)}"


def _operands(root: str, tree: Any, skipped: int, what: str, specs: Any, whose: str, surroundings: Surroundings) -> list[Operand]:
    """The operands for the arguments or the results.

    Args:
      root: "args" or "outputs".
      tree: the arguments, or the results' types.
      skipped: how many elements of the tree at its top have no specification.
      what, whose: the names of the specifications and of the tree, for messages.
      surroundings: what index maps are traced for.
    """
    found = tree_flatten_with_path(tree)[0]
    paths = found[len(tree_flatten(tree[:skipped])[0]):] if skipped else found
    if isinstance(specs, NoBlockSpec):
        flat: list[Any] = [None] * len(paths)
    else:
        flat = _flat_specs(what, tuple(specs) if isinstance(specs, list) else specs, whose, tree[skipped:] if skipped else tree)
    return [make_operand(root + keystr(path), _array_type(root + keystr(path), leaf), block, surroundings)
            for (path, leaf), block in zip(paths, flat)]


def _typed(x: Any) -> Any:
    """An argument as what a reference may hold: not of weak type."""
    aval = get_aval(x)
    return convert_element_type(x, aval.dtype) if aval.weak_type else x


def _array_type(origin: str, x: Any) -> ShapedArray:
    """The type of an argument or a result, given as an array, a type, or a type of memory."""
    if isinstance(x, ShapedArray):
        return x.strip_weak_type()
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return ShapedArray(tuple(x.shape), canonicalize_dtype(x.dtype))
    try:
        return get_aval(x).strip_weak_type()
    except TypeError:
        raise TypeError(f"pallas_call: {origin} must be an array or say a shape and a dtype, as ShapeDtypeStruct does; got {x!r} of type "
                        f"{type(x).__name__}") from None


def _scratch_aval(x: Any) -> ShapedArray:
    return _array_type("an item of scratch_shapes", x)


def _scratch(x: Any, is_zero: bool) -> Any:
    aval = _scratch_aval(x)
    return full(aval.shape, uninitialized(aval.dtype, is_zero or is_semaphore(x)), aval.dtype)


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, (BlockSpec, NoBlockSpec))


def _flat_specs(what: str, specs: Any, whose: str, tree: Any) -> list[Any]:
    """The specifications of the leaves of a tree.

    Raises:
      ValueError: if the structures differ.
    """
    flat, structure = tree_flatten(specs, is_leaf=_is_spec)
    if errors := structure_errors(structure, tree, exact=True):
        lines = "\n".join(f"    * at {keystr(e.path) or 'the root'}, `{what}` is {_in_words(e.prefix)} but `{whose}` is {_in_words(e.full)}"
                          for e in errors)
        raise ValueError(f"Pytree for `{what}` and `{whose}` do not match. There are {len(errors)} mismatches, including:\n{lines}\n"
                         "Give each array its BlockSpec, or None for whole arrays.")
    return flat


def _in_words(side: str) -> str:
    return "a pytree leaf" if side == "a leaf" else side
