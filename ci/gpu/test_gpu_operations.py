"""On a GPU: every operation of the IR against what it means in NumPy, and programs that train against the CPU."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import training_programs
from operation_cases import CASES, program

import laminax_runtime as runtime
from laminax_ir.reference.evaluate import evaluate
from laminax_lowering import lower

import laminax
from laminax._src.compiling.executables import lowering_platform

# Relative to the largest number of a result. float32: products of GPUs are rounded to 10 bits (TF32) unless asked otherwise.
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-3, "complex64": 3e-3, "float64": 1e-9, "complex128": 1e-9}
# Whose results are not determined, or which need what no test of one program has.
NOT_COMPARED = {"svd": "vectors up to a sign", "eigh": "vectors up to a sign", "eig": "vectors up to a factor",
                "random_bits": "a generator of the device",
                "rng_bit_generator": "a generator of the device", "rng_uniform": "a generator of the device", "empty": "any values",
                "ffi_call": "a function that nobody registered", "dim_as_value": "a size without a number",
                "tridiagonal": "vectors up to a sign", "geqrf": "vectors up to a sign", "householder_product": "of the former",
                "lu_pivots_to_permutation": "needs pivots", "buffer_callback": "writes nothing",
                "custom_vjp_tangent": "stands for an error",
                "device_put": "over a mesh", "sharding_constraint": "over a mesh", "shard_map": "over a mesh",
                "call_exported": "has no meaning in NumPy", "random_seed": "returns keys", "random_wrap": "returns keys",
                "random_clone": "takes keys", "random_fold_in": "takes keys", "random_split": "takes keys", "random_unwrap": "takes keys",
                **dict.fromkeys(("all_gather", "all_gather_reduced", "all_to_all", "axis_index", "pmax", "pmin", "ppermute", "preduced",
                                 "psum", "psum_shared", "reduce_scatter", "reduced_vary_cast", "unreduced_psum",
                                 "unreduced_reduce_scatter", "vary_unreduced_cast"), "between devices"),
                "hessenberg": "is on CPUs only", "schur": "is on CPUs only"}


@pytest.fixture(scope="module")
def device():
    return laminax.devices()[0]


def drawn(aval, rng):
    """Values in which most functions are defined: between 0 and 1, or small numbers."""
    shape, dtype = aval.shape, aval.dtype
    if dtype.kind in "iu":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "c":
        return (rng.uniform(0.1, 0.9, shape) + 1j * rng.uniform(0.1, 0.9, shape)).astype(dtype)
    values = rng.uniform(0.1, 0.9, shape)
    if len(shape) >= 2 and shape[-1] == shape[-2]:  # a positive definite matrix, for the factorizations
        values = values @ values.swapaxes(-1, -2) + np.eye(shape[-1])
    return values.astype(dtype)


def inputs_of(closed):
    rng = np.random.default_rng(0)
    return [drawn(aval, rng) for aval in closed.in_avals]


@pytest.mark.parametrize("name", sorted(set(CASES) - set(NOT_COMPARED)))
def test_an_operation_computes_what_it_means(name, device):
    closed = program(CASES[name], name)
    module = lower(closed, platform=lowering_platform(device))
    inputs = inputs_of(closed)
    with np.errstate(all="ignore"), contextlib.redirect_stdout(None):
        expected = evaluate(closed, *inputs)
    executable = runtime.compile_module(module.text, module.convention, name=name, devices=[device])
    out = executable([*map(runtime.device_put, closed.consts), *map(runtime.device_put, inputs)])
    for found, wanted in zip(out, expected, strict=True):
        found, wanted = np.asarray(found), np.asarray(wanted)
        if wanted.dtype.kind in "biu" or not wanted.size:
            np.testing.assert_array_equal(found, wanted)
            continue
        tolerance = TOLERANCES.get(wanted.dtype.name, 0.1)
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        found, wanted = found.astype(wide), wanted.astype(wide)
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1e-6)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("name", ["chain200", "gru8", "mixer12", "resnet12"])
def test_a_program_trains_as_on_the_cpu(name, device):
    training = training_programs.PROGRAMS[name]
    losses = []
    for place in (device, laminax.devices("cpu")[0]):
        params, *data = laminax.device_put(training.arguments(), place)
        step = training.step(laminax)
        seen = []
        for _ in range(3):
            params, loss = step(params, *data)
            seen.append(float(loss))
        losses.append(seen)
    np.testing.assert_allclose(losses[0], losses[1], rtol=2e-2)
    assert np.isfinite(losses).all()
