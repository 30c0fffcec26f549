"""Calls of native functions as equations: what they hold, and what is refused. Running them takes a compiler."""

import numpy as np
import pytest

from laminax_ir.ops.ffi import ffi_call, hashable_attribute
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

S3, S23 = ShapeDtypeStruct((3,), np.float32), ShapeDtypeStruct((2, 3), np.float32)
X = np.ones(3, np.float32)


def equation(results=S3, args=(X,), attributes=None, **options):
    """The equation of one call."""
    def flat(*xs):
        out = ffi_call("native", results, **options)(*xs, **(attributes or {}))
        return out if isinstance(out, list) else [out]

    closed = stage(flat, [get_aval(x) for x in args])
    (eqn,) = closed.eqns
    return eqn


def test_the_equation_holds_what_was_asked_for():
    eqn = equation([S3, S23], (np.ones((2, 3), np.float32), X), input_layouts=[(1, 0), None], output_layouts=[None, (1, 0)],
                   input_output_aliases={1: 0}, vmap_method="expand_dims")
    assert [v.aval.shape for v in eqn.outvars] == [(3,), (2, 3)] and not eqn.effects
    assert eqn.params["input_layouts"] == ((1, 0), (0,)) and eqn.params["output_layouts"] == ((0,), (1, 0))
    assert eqn.params["input_output_aliases"] == ((1, 0),) and eqn.params["target_name"] == "native"
    assert [str(effect) for effect in equation(has_side_effect=True).effects] == ["FFI"]
    assert equation(S23, output_layouts=(1, 0)).params["output_layouts"] == ((1, 0),)


def test_attributes_are_hashable_and_tell_equal_numbers_apart():
    values = [1, 1.0, True, np.int32(1), np.float32(1), np.uint8(1), np.bool_(True), np.array(1), np.array([1]), "1", (1,),
              {"a": 1}, {"a": 1.0}]
    kept = [hashable_attribute("a", value) for value in values]
    assert len(set(kept)) == len(values)
    assert kept == [hashable_attribute("a", value) for value in values]
    mutable = np.zeros(2)
    before = hashable_attribute("a", mutable)
    mutable[0] = 1
    assert before == hashable_attribute("a", np.zeros(2)) != hashable_attribute("a", mutable)


@pytest.mark.parametrize("value", [None, object(), 1j, [1, 2], ("a",), (True,), np.array(["a"]), {"a": None}])
def test_attributes_that_xla_has_not(value):
    with pytest.raises(TypeError, match="ffi_call: the attribute .* cannot be handed to a native function.*pass anything else as an array"):
        hashable_attribute("a", value)


@pytest.mark.parametrize("options, error, message", [
    ({"vmap_method": "often"}, ValueError, "vmap_method must be one of the allowed methods"),
    ({"input_layouts": [(0,), (0,)]}, ValueError, r"number of input arguments \(1\) must equal the number of input layouts \(2\)"),
    ({"output_layouts": [None, None]}, ValueError, r"number of outputs \(1\) must equal the number of output layouts \(2\)"),
    ({"input_layouts": [(1,)]}, ValueError, r"layout \(1,\) of input argument 0, f32\[3\], must list its 1 axes once each"),
    ({"input_output_aliases": {1: 0}}, ValueError, r"'1:0' with input index 1 outside the range \[0, 1\)"),
    ({"input_output_aliases": {0: 2}}, ValueError, r"'0:2' with output index 2 outside"),
    ({"results": S23, "input_output_aliases": {0: 0}}, ValueError, r"abstract value f32\[3\] and an output .* f32\[2,3\]"),
    ({"legacy_backend_config": "text"}, ValueError, "requires custom_call_api_version < 4; got 4"),
    ({"custom_call_api_version": 2, "attributes": {"a": 1}}, ValueError, "attributes requires a custom call API version of at least 4"),
    ({"results": "f32"}, ValueError, "All elements of result_shape_dtypes must have .shape. and .dtype. attributes.*position 0"),
])
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        equation(**options)


def test_a_result_may_have_64_bits_without_x64():
    assert equation(ShapeDtypeStruct((2,), np.int64)).outvars[0].aval.dtype == np.int64


def test_aliases_of_a_value_that_varies_over_devices():
    def flat(x):
        return [ffi_call("native", S3, input_output_aliases={0: 0})(x)]

    (eqn,) = stage(flat, [ShapedArray((3,), np.float32, named_shape={"i": 4})]).eqns
    assert eqn.params["input_output_aliases"] == ((0, 0),)
