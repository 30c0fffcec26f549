"""StableHLO text becomes executables that compute what NumPy computes."""

import ml_dtypes  # noqa: F401  (registers the narrow dtypes' names)
import numpy as np
import pytest
from stablehlo_modules import aval, binary, compile_text, module, tensor, unary

import laminax_runtime as runtime
from laminax_ir.programs.calling_conventions import CallingConvention
from laminax_runtime import DeletedArrayError, XlaRuntimeError, device_put
from laminax_runtime.base import options


def compile_unary(op, a, **options):
    return compile_text(unary(op, a), in_avals=[a], out_avals=[a], **options)


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int4", "uint8", "int32", "complex64"])
def test_add(rng, shape, dtype):
    a = aval(shape, dtype)
    x, y = (np.asarray(rng.integers(0, 3, size=shape)).astype(dtype) for _ in range(2))
    (out,) = compile_text(binary("add", a), in_avals=[a, a], out_avals=[a]).execute([x, y])
    assert out.aval is a
    np.testing.assert_array_equal(np.asarray(out), x + y)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "uint2", "bool"])
def test_narrow_types_pass_through(dtype):
    a = aval((5,), dtype)
    x = np.array([0, 1, 1, 0, 1], dtype)
    (out,) = compile_text(module([a], [a], ["%arg0"]), in_avals=[a], out_avals=[a]).execute([x])
    np.testing.assert_array_equal(np.asarray(out), x)


def test_several_outputs_and_weak_types():
    a, weak = aval((2,)), aval((), "int32", weak_type=True)
    t = tensor(a)
    text = module([a, weak], [a, weak, a], [f'%0 = "stablehlo.negate"(%arg0) : ({t}) -> {t}', "%0, %arg1, %arg0"])
    executable = compile_text(text, in_avals=[a, weak], out_avals=[a, weak, a])
    first, second, third = executable.execute([np.array([1, 2], np.float32), 7])
    assert first.tolist() == [-1, -2] and third.tolist() == [1, 2]
    assert int(second) == 7 and second.weak_type and second.aval is weak


def test_no_arguments_and_no_results():
    a = aval((), "int32")
    text = module([], [a], ['%0 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>', "%0"])
    (five,) = compile_text(text, in_avals=[], out_avals=[a]).execute([])
    assert int(five) == 5
    assert compile_text(module([a], [], [""]), in_avals=[a], out_avals=[]).execute([5]) == []


def test_dropped_arguments():
    a = aval((2,))
    executable = compile_text(unary("negate", a), in_avals=[a, a, a], out_avals=[a], kept=[False, True, False])
    (out,) = executable.execute([None, np.ones(2, np.float32), None])
    assert out.tolist() == [-1, -1]
    with pytest.raises(TypeError, match="double takes 3 arrays, got 1"):
        compile_text(
            unary("negate", a), in_avals=[a, a, a], out_avals=[a], kept=[False, True, False], name="double"
        ).execute([1])


@pytest.mark.parametrize("attribute", ["{tf.aliasing_output = 0 : i32}", "{jax.buffer_donor = true}"])
def test_donation_deletes_the_argument(attribute):
    a = aval((4,))
    executable = compile_text(binary("add", a, {0: attribute}), in_avals=[a, a], out_avals=[a], name="step")
    x, y = device_put(np.ones(4, np.float32)), device_put(np.ones(4))
    pointer = x.unsafe_buffer_pointer()
    (out,) = executable.execute([x, y])
    assert out.tolist() == [2, 2, 2, 2]
    assert out.unsafe_buffer_pointer() == pointer
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises(DeletedArrayError, match=r"Array has been deleted with shape=float32\[4\].*donated"):
        executable.execute([x, y])


def test_looking_inside():
    a = aval((8,))
    executable = compile_unary("negate", a, name="flip")
    assert executable.cost_analysis()["flops"] == 8
    assert executable.memory_analysis().output_size_in_bytes == 32
    assert "HloModule" in executable.as_text() and "negate" in executable.as_text()
    assert "negate" in executable.hlo_modules()[0].to_string()
    assert executable.fingerprint == compile_unary("negate", a).fingerprint
    assert executable.fingerprint != compile_unary("abs", a).fingerprint
    assert repr(executable) == "<Executable flip on cpu:0>"
    assert executable.in_shardings == executable.out_shardings
    assert len(executable.serialize()) > 100


def test_results_are_committed_with_their_arguments():
    a = aval((2,))
    executable = compile_unary("negate", a)
    device = runtime.devices()[0]
    assert not executable.execute([device_put(np.ones(2))])[0].committed
    assert executable.execute([device_put(np.ones(2), device)])[0].committed
    assert compile_unary("negate", a, is_pinned=True).execute([np.ones(2, np.float32)])[0].committed


def test_compiler_options():
    a = aval((2,))
    compile_unary("negate", a, compiler_options={"xla_cpu_enable_fast_math": True, "xla_backend_optimization_level": 1})
    compile_unary("negate", a, compiler_options={"memory_fitting_level": 9, "optimization_level": 19})
    with pytest.raises(TypeError):  # these are no strings, as XLA's debug options may be
        compile_unary("negate", a, compiler_options={"optimization_level": "one"})
    with pytest.raises(XlaRuntimeError, match="No such compile option: 'xla_nonsense'"):
        compile_unary("negate", a, compiler_options={"xla_nonsense": True})


def test_invalid_modules():
    with pytest.raises(XlaRuntimeError, match="custom op 'nonsense' is unknown") as error:
        compile_text("nonsense", in_avals=[], out_avals=[], name="train_step")
    assert "compiling train_step for cpu:0" in error.value.__notes__[0]
    a, b = aval((2,)), aval((3,))
    wrong = f'%0 = "stablehlo.add"(%arg0, %arg1) : ({tensor(a)}, {tensor(b)}) -> {tensor(a)}'
    with pytest.raises(XlaRuntimeError, match="op requires the same shape for all operands"):
        compile_text(module([a, b], [a], [wrong, "%0"]), in_avals=[a, b], out_avals=[a])


def test_lapack_is_there_when_a_program_names_it(rng):
    """Cholesky through jaxlib's kernel: L @ L.T gives the matrix back."""
    a, info = aval((3, 3)), aval((), "int32")
    t, i = tensor(a), tensor(info)
    layout, scalar = "dense<[0, 1]> : tensor<2xindex>", "dense<> : tensor<0xindex>"
    call = (
        '%0:2 = "stablehlo.custom_call"(%arg0) {call_target_name = "lapack_spotrf_ffi", api_version = 4 : i32, '
        f"operand_layouts = [{layout}], result_layouts = [{layout}, {scalar}], backend_config = {{uplo = 76 : ui8}}}} "
        f": ({t}) -> ({t}, {i})"
    )
    root = rng.normal(size=(3, 3)).astype(np.float32)
    matrix = root @ root.T + 3 * np.eye(3, dtype=np.float32)
    executable = compile_text(module([a], [a, info], [call, "%0#0, %0#1"]), in_avals=[a], out_avals=[a, info],
                              call_targets=["lapack_spotrf_ffi"])
    factor, status = executable.execute([matrix])
    lower = np.tril(np.asarray(factor))
    assert int(status) == 0
    np.testing.assert_allclose(lower @ lower.T, matrix, rtol=1e-5)  # float32 rounding of three products


def test_programs_with_host_callbacks_and_tokens():
    """They take ways of their own into jaxlib; that these are open is what is tested here."""
    a = aval((2,))
    executable = compile_unary("negate", a, host_callbacks=[lambda x: x])
    assert executable.execute([np.ones(2, np.float32)])[0].tolist() == [-1, -1]
    (out,), token = executable.execute_with_token([np.ones(2, np.float32)])
    token.block_until_ready()
    assert out.is_ready() and out.tolist() == [-1, -1]


def test_failures_while_running_are_raised_where_the_value_is_needed():
    a = aval((), "int32")
    text = module(
        [a],
        [a],
        [f'%0 = "stablehlo.custom_call"(%arg0) {{call_target_name = "nobody"}} : ({tensor(a)}) -> {tensor(a)}', "%0"],
    )
    with pytest.raises(XlaRuntimeError, match="nobody"):
        compile_text(text, in_avals=[a], out_avals=[a]).execute([1])[0].block_until_ready()


def test_modules_are_left_in_a_folder(tmp_path):
    with options.dump_ir_to(tmp_path / "dump"):
        for name in ("step", "a/b"):
            compile_unary("negate", aval((4,)), name=name)
    compile_unary("negate", aval((4,)))
    first, second = sorted((tmp_path / "dump").iterdir())
    assert first.name.endswith("-step.mlir") and second.name.endswith("-a_b.mlir")
    assert first.read_text() == unary("negate", aval((4,)))


def test_layouts_are_looked_at_where_the_convention_says_so_and_not_where_the_text_has_the_word(monkeypatch):
    """An argument of this name was enough to slow down every later call: the module's text was searched for the attribute."""
    import laminax_runtime.compiling.compile as compiling

    in_use: set[str] = set()
    monkeypatch.setattr(compiling, "layouts_in_use", in_use)
    a = aval((2,))
    text = unary("negate", a).replace("%arg0: tensor<2xf32>", '%arg0: tensor<2xf32> loc("x[\'mhlo.layout_mode\']")', 1)
    assert "mhlo.layout_mode" in text
    compile_text(text, in_avals=[a], out_avals=[a])
    assert not in_use
    compile_text(unary("negate", a), in_avals=[a], out_avals=[a], has_layouts=True)
    assert in_use


def test_a_convention_has_flags_for_each_argument():
    a = aval((2,))
    with pytest.raises(ValueError,
                       match=r"2 arguments, but 1 flags in kept and 2 in donated\. Give one per argument, the constants included"):
        CallingConvention((a, a), (a,), (True,), (False, False))
