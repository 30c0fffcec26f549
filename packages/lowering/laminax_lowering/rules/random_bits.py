"""Random bits: keys are the tensors of their words, and the operations on keys run the programs of `generators`.

Each distinct program is a private function, so that a module with many draws holds the hash once per shape.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops import random_bits as op
from laminax_ir.programs.primitive import Primitive
from laminax_ir.random.generators import threefry_program, word_program
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, exceeds
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.planning.outlining import KEEP_CALL
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value

if TYPE_CHECKING:
    from laminax_ir.ops.random_bits import RandomAlgorithm

LEAST_APART, MOST_APART = 256, 4096  # words
LEAST_APART_IN_LOOPS, MOST_APART_IN_LOOPS = 4, 1 << 20

_UINT64 = np.dtype(np.uint64)
_ALGORITHMS = {op.RandomAlgorithm.RNG_DEFAULT: "DEFAULT", op.RandomAlgorithm.RNG_THREE_FRY: "THREE_FRY",
               op.RandomAlgorithm.RNG_PHILOX: "PHILOX"}


@lowering_rule(op.threefry2x32_p)
def _lower_threefry2x32(ctx: FunctionWriter, *operands: Value) -> list[Value]:
    aval = ctx.avals_out[0]
    full = [x if x.shape == aval.shape else ctx.broadcast_to(x, aval.shape) for x in operands]
    words = ctx.call_program(threefry_program(aval.shape), "threefry2x32", full, ctx.avals_out)
    if ctx.platforms == ("cpu",) and aval.ndim and _is_apart(aval, ctx.module.loop_depth > 0):
        # The CPU compiler vectorizes rows of 3 or 4 numbers in a way of its own: in one kernel with the hash it would compute the
        # logarithms of normal samples by other instructions than where the words come out of memory, as JAX's do, and round otherwise.
        # Of a few numbers, the hash in a kernel of its own compiles faster than one with what reads it, once or several times: a thousand
        # normal samples in 108 ms instead of 154, of Poisson's distribution in 551 and not 1227; of a million a step takes longer. In a
        # loop the step is faster too: paths of Brownian motion in 10,000 places 11 ms -> 8.5, their gradient 17 -> 11, compiled in 236 ms
        # and not 431. Hamiltonian Monte Carlo in four dimensions compiles in 268 ms and not 431, for a step of 0.09 ms and not 0.08; of
        # fewer than four numbers the step is slower and the rest the same.
        words = ctx.emit("stablehlo.optimization_barrier", words, results=ctx.avals_out)
    return words


def _is_apart(aval: ShapedArray, in_loop: bool) -> bool:
    size = math.prod(aval.shape)
    least, most = (LEAST_APART_IN_LOOPS, MOST_APART_IN_LOOPS) if in_loop else (LEAST_APART, MOST_APART)
    return type(size) is int and least <= size <= most or aval.ndim >= 2 and aval.shape[-1] in (3, 4)


@lowering_rule(op.iota_2x32_shape_p)
def _lower_iota_2x32_shape(ctx: FunctionWriter, *, shape: tuple[int, ...]) -> list[Value]:
    """The index of an element is the sum of its coordinates times strides: the partitioner splits that, not a reshape."""
    words = ShapedArray(shape, op.UINT32)
    if not exceeds(math.prod(shape), 2**32):
        return [ctx.constant(0, op.UINT32, shape), _row_major_index(ctx, words)]
    index = _row_major_index(ctx, ShapedArray(shape, _UINT64))
    shift = ctx.constant(32, _UINT64, shape)
    high = ctx.emit("stablehlo.shift_right_logical", [index, shift], results=[index.aval])
    return [ctx.convert(high, op.UINT32), ctx.convert(index, op.UINT32)]


def _row_major_index(ctx: FunctionWriter, aval: ShapedArray) -> Value:
    total = None
    for axis, size in enumerate(aval.shape):
        stride = math.prod(aval.shape[axis + 1:])
        term = ctx.emit("stablehlo.iota", [], attributes={"iota_dimension": f"{axis} : i64"}, results=[aval])
        if stride != 1:
            factor = ctx.constant(stride, aval.dtype, aval.shape) if type(stride) is int else \
                ctx.broadcast_to(ctx.convert(ctx.size_value(stride), aval.dtype), aval.shape)
            term = ctx.emit("stablehlo.multiply", [term, factor], results=[aval])
        total = term if total is None else ctx.emit("stablehlo.add", [total, term], results=[aval])
    return total if total is not None else ctx.constant(0, aval.dtype)


@lowering_rule(op.rng_bit_generator_p)
def _lower_rng_bit_generator(ctx: FunctionWriter, state: Value, *, shape: tuple[int, ...], dtype: np.dtype, algorithm: RandomAlgorithm,
                             out_sharding: Any = None) -> list[Value]:
    """StableHLO's state is u64[2]; ours may be the same bits as u32[4], to need no 64-bit integers above."""
    state_aval, bits_aval = ctx.avals_out
    wide, pairs = ShapedArray((2,), _UINT64), ShapedArray((2, 2), op.UINT32)
    if state.dtype == op.UINT32:
        state = ctx.emit("stablehlo.reshape", [state], results=[pairs])
        state = ctx.emit("stablehlo.bitcast_convert", [state], results=[wide])
    new_state, bits = ctx.emit(
        "stablehlo.rng_bit_generator", [state], results=[wide, bits_aval],
        attributes={"rng_algorithm": f"#stablehlo<rng_algorithm {_ALGORITHMS[algorithm]}>"})
    if state_aval.dtype == op.UINT32:
        new_state = ctx.emit("stablehlo.bitcast_convert", [new_state], results=[pairs])
        new_state = ctx.emit("stablehlo.reshape", [new_state], results=[state_aval])
    return [new_state, bits]


@lowering_rule(op.rng_uniform_p)
def _lower_rng_uniform(ctx: FunctionWriter, a: Value, b: Value, *, shape: tuple[int, ...]) -> Value:
    sizes = ctx.shape_value(shape) if any(type(size) is SymbolicDim for size in shape) else ctx.constant(np.array(shape, np.int64))
    return ctx.emit("stablehlo.rng", [a, b, sizes], attributes={"rng_distribution": "#stablehlo<rng_distribution UNIFORM>"})


# Keys


@lowering_rule(op.random_wrap_p, op.random_unwrap_p, op.random_clone_p)
def _lower_same_words(ctx: FunctionWriter, x: Value, **_params: Any) -> Value:
    return Value(x.name, ctx.avals_out[0])


def _lower_by_words(primitive: Primitive) -> Callable:
    def rule(ctx: FunctionWriter, *operands: Value, **params: Any) -> Any:
        program = word_program(primitive, ctx.avals_in, params)
        words = [Value(x.name, physical_aval(x.aval)) for x in operands]
        aval = ctx.avals_out[0]
        if program.consts:  # arrays that a generator of the user's closes over
            (result,) = ctx.run(program, words)
        else:
            attributes = ""
            if primitive is op.random_fold_in_p and _is_kernel_of_its_own(ctx):
                words[1] = ctx.emit("stablehlo.optimization_barrier", [words[1]], results=[words[1].aval])
                attributes = KEEP_CALL
            (result,) = ctx.call_program(program, str(program.jaxpr.debug_info), words, [physical_aval(aval)], attributes)
        if primitive in _MAKE_KEYS:
            result = ctx.emit("stablehlo.optimization_barrier", [result], results=[result.aval])
        return Value(result.name, aval)
    return rule


def _is_kernel_of_its_own(ctx: FunctionWriter) -> bool:
    """Whether folding a number into one key stays a call, which takes the number behind a barrier.

    The CPU compiler compiles equal kernels once, but numbers that stand in the program are part of a kernel: a model that folds
    another number into its key for every parameter had a hash to compile for each (flax.linen, 38 parameters: 5.6 s, and 3.2 with calls).
    """
    return ctx.platforms == ("cpu",) and ctx.is_top_level and not ctx.avals_in[0].shape


# XLA would compute new keys where they are used, for every draw and in every kernel once more: the code of a model's
# initialisation doubles.
_MAKE_KEYS = (op.random_split_p, op.random_fold_in_p)
for _primitive in (op.random_seed_p, op.random_split_p, op.random_fold_in_p, op.random_bits_p):
    lowering_rule(_primitive)(_lower_by_words(_primitive))
