"""Lowering rules that make objects of MLIR's Python bindings, as libraries on top of JAX write them."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import export
from laminax.extend.core import Primitive
from laminax.extend.mlir import ir
from laminax.extend.mlir.dialects import stablehlo as hlo
from laminax.interpreters import mlir

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def primitive(name, rule, out=lambda *avals, **params: avals[0], **options):
    made = Primitive(name)
    made.def_abstract_eval(out)
    mlir.register_lowering(made, rule, **options)
    return made


def test_a_rule_makes_operations_by_builders():
    multiply_add_p = primitive("multiply_add_mlir", lambda ctx, x, y, z: [hlo.AddOp(hlo.MulOp(x, y), z).result])
    found = laminax.jit(lambda x, y, z: multiply_add_p.bind(jnp.sin(x), y, z) * 2)(X, 3 * X, X + 1)
    np.testing.assert_allclose(found, 2 * (np.sin(X) * 3 * X + X + 1), rtol=1e-6)
    np.testing.assert_allclose(multiply_add_p.bind(X, X, X), X * X + X, rtol=1e-6)


def test_an_operation_that_stands_twice_and_in_a_loop():
    twice_p = primitive("twice_mlir", lambda ctx, x: hlo.add(x, x))  # a value instead of a sequence
    def four_times(x):
        return twice_p.bind(twice_p.bind(x))
    np.testing.assert_array_equal(laminax.jit(four_times)(X), 4 * X)
    np.testing.assert_array_equal(laminax.lax.fori_loop(0, 5, lambda _, x: twice_p.bind(x), jnp.asarray(X)), 32 * X)


def test_parameters_types_and_constants():
    def rule(ctx, x, *, by, axes):
        (aval,), (out,) = ctx.avals_in, ctx.avals_out
        assert x.type == mlir.aval_to_ir_type(aval) and str(mlir.dtype_to_ir_type(aval.dtype)) == "f32"
        factors = mlir.ir_constant(np.full(aval.shape, by, np.float32))
        scaled = hlo.multiply(x, factors)
        total = hlo.ReduceOp([mlir.aval_to_ir_type(out)], [scaled], [mlir.ir_constant(np.float32(0))], mlir.dense_int_array(axes))
        element = ir.RankedTensorType.get([], mlir.dtype_to_ir_type(np.dtype("float32")))
        block = total.regions[0].blocks.append(element, element)
        with ir.InsertionPoint(block):
            hlo.ReturnOp([hlo.add(*block.arguments)])
        return total.results

    total_p = primitive("total_mlir", rule, lambda x, *, by, axes: laminax.core.ShapedArray(
        [n for i, n in enumerate(x.shape) if i not in axes], x.dtype))
    np.testing.assert_allclose(laminax.jit(lambda x: total_p.bind(x, by=2.5, axes=(1,)))(X), 2.5 * X.sum(1), rtol=1e-6)


def test_several_results_and_operands_given_back():
    pair_p = Primitive("pair_mlir")
    pair_p.multiple_results = True
    pair_p.def_abstract_eval(lambda x, y: (x, y, x))
    mlir.register_lowering(pair_p, lambda ctx, x, y: [hlo.subtract(x, y), x, hlo.NegOp(y)])
    for found, expected in zip(laminax.jit(pair_p.bind)(X, X + 1), (np.full_like(X, -1), X, -X - 1), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_functions_of_arrays_inside_a_rule():
    def rule(ctx, x):
        sine = mlir.lower_fun(jnp.sin, multiple_results=False)
        (first,) = sine(ctx, x)  # of the rule's operand
        (second,) = sine(ctx, hlo.add(first, x))  # of what an operation made
        (third,) = sine(ctx, hlo.subtract(second, second))  # the same function again
        return [hlo.add(hlo.multiply(first, second), third)]

    mixed_p = primitive("mixed_mlir", rule)
    np.testing.assert_allclose(laminax.jit(mixed_p.bind)(X), np.sin(X) * np.sin(np.sin(X) + X), rtol=1e-5)


def test_a_function_of_arrays_with_such_an_operation_in_it():
    inner_p = primitive("inner_mlir", lambda ctx, x: hlo.add(x, x))
    sine_p = primitive("sine_by_function", mlir.lower_fun(jnp.sin, multiple_results=False))
    outer_p = primitive("outer_mlir", lambda ctx, x: mlir.lower_fun(
        lambda x: sine_p.bind(inner_p.bind(x)), multiple_results=False)(ctx, hlo.negate(x)))
    np.testing.assert_allclose(laminax.jit(outer_p.bind)(X), np.sin(-2 * X), rtol=1e-6)


def test_the_writer_of_text_and_builders_take_the_same_operands():
    both_p = Primitive("both_mlir")
    both_p.multiple_results = True
    both_p.def_abstract_eval(lambda x: (x, x))
    mlir.register_lowering(both_p, lambda ctx, x: [ctx.emit("stablehlo.add", [x, x], results=[x.aval]), hlo.multiply(x, x)])
    twice, square = laminax.jit(both_p.bind)(X)
    np.testing.assert_array_equal(twice, 2 * X)
    np.testing.assert_array_equal(square, X * X)


def test_a_custom_call_is_known_to_an_exported_program():
    def rule(ctx, x):
        return mlir.custom_call("nobody_has_registered_this", result_types=[mlir.aval_to_ir_type(ctx.avals_out[0])], operands=[x],
                                api_version=4, backend_config={"axis": mlir.i64_attr(1), "name": mlir.ir_attribute("n")},
                                operand_layouts=[[0, 1]], result_layouts=[[1, 0]], operand_output_aliases={0: 0}).results

    called_p = primitive("called_mlir", rule)
    text = laminax.jit(called_p.bind).lower(X).as_text()
    assert "@nobody_has_registered_this" in text and "axis = 1 : i64" in text
    with pytest.raises(ValueError, match="nobody_has_registered_this"):
        export.export(laminax.jit(called_p.bind))(X)
    checks = [export.DisabledSafetyCheck.custom_call("nobody_has_registered_this")]
    assert "nobody_has_registered_this" in export.export(laminax.jit(called_p.bind), disabled_checks=checks)(X).mlir_module()


def test_attributes():
    with mlir.make_ir_context(), ir.Location.unknown():
        assert str(mlir.ir_attribute([True, 2, 0.5, "a", np.float32(1.5), np.arange(2, dtype=np.int32), {"b": np.dtype("int8")}])) == (
            '[true, 2, 5.000000e-01, "a", 1.500000e+00 : f32, dense<[0, 1]> : tensor<2xi32>, {b = i8}]')
        assert str(mlir.dense_int_elements([1, 2])) == "dense<[1, 2]> : tensor<2xi64>"
        assert str(mlir.i32_attr(3)) == "3 : i32" and str(mlir.token_type()) == "!stablehlo.token"
        module = ir.Module.parse("module { func.func @main() { return } }")
        assert "func.func @main" in mlir.module_to_string(module)
        assert str(ir.Module.parse(mlir.module_to_bytecode(module))) == str(module)
        with pytest.raises(TypeError, match="ir_attribute: a object"):
            mlir.ir_attribute(object())


def test_a_rule_and_a_shape_rule_that_disagree():
    wrong_p = primitive("wrong_mlir", lambda ctx, x: [hlo.transpose(x, [1, 0])])
    with pytest.raises(TypeError, match="wrong_mlir returned a value of type tensor<3x2xf32>.*tensor<2x3xf32>"):
        laminax.jit(wrong_p.bind)(X)
    short_p = primitive("short_mlir", lambda ctx, x: [])
    with pytest.raises(TypeError, match="short_mlir returned 0 values; the operation has 1"):
        laminax.jit(short_p.bind)(X)


def test_layouts_and_shapes_that_do_not_fit():
    def rule(ctx, x, **options):
        return mlir.custom_call("f", result_types=[x.type], operands=[x], **options).results

    called_p = primitive("misfit_mlir", lambda ctx, x: rule(ctx, x, operand_layouts=[[0], [0]]))
    with pytest.raises(ValueError, match="custom_call f: 2 operand_layouts for 1 values"):
        laminax.jit(called_p.bind)(X)
    config_p = primitive("config_mlir", lambda ctx, x: rule(ctx, x, backend_config={}))
    with pytest.raises(ValueError, match="api_version=4 takes"):
        laminax.jit(config_p.bind)(X)


def test_a_rule_for_one_platform():
    far_p = primitive("far_mlir", lambda ctx, x: [hlo.negate(x)], platform="tpu")
    mlir.register_lowering(far_p, lambda ctx, x: [hlo.add(x, x)], platform="cpu")
    np.testing.assert_array_equal(laminax.jit(far_p.bind)(X), 2 * X)
    both = laminax.jit(far_p.bind).trace(X).lower(lowering_platforms=("cpu", "tpu")).as_text()
    assert "stablehlo.negate" in both and "stablehlo.case" in both


def test_sizes_that_are_expressions():
    twice_p = primitive("symbolic_mlir", lambda ctx, x: [hlo.add(x, x)])
    exported = export.export(laminax.jit(twice_p.bind))(laminax.ShapeDtypeStruct(export.symbolic_shape("n, 2*n"), np.float32))
    assert "tensor<?x?xf32>" in exported.mlir_module()
    np.testing.assert_array_equal(exported.call(np.ones((3, 6), np.float32)), np.full((3, 6), 2, np.float32))


def test_the_bindings_have_their_names():
    from laminax.extend.mlir import dialects, passmanager
    assert "AddOp" in dir(dialects.stablehlo) and hasattr(passmanager, "PassManager") and "FuncOp" in dir(dialects.func)
    space = {}
    exec("from laminax.extend.mlir.dialects.arith import *", space)
    assert "ConstantOp" in space
