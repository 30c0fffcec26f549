"""One module for several platforms: it takes the number of the one that runs it, and chooses by it where rules differ."""

import numpy as np
import pytest
from operation_cases import AXES, CASES, program
from stablehlo_runner import run_text, verify_text

from laminax_ir.ops import callbacks, linalg, reduction
from laminax_ir.ops import elementwise as el
from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.control_flow import platform_dependent, switch
from laminax_ir.ops.loops import scan
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_lowering import lower

PLATFORMS = ("cpu", "cuda", "tpu")
# What `choose` does on each, with its derivative.
NUMPY = ((np.sin, np.cos), (np.tan, lambda x: 1 + np.tan(x) ** 2), (np.cos, np.sin))
F32 = ShapedArray((4,), np.dtype(np.float32))
X = np.linspace(0.1, 0.6, 4, dtype=np.float32)  # tan of tan of tan of 0.9 is near the zero at pi: no bound means anything there
# Each of the compiler's sin, cos and tan is at most this far off, relatively: they are documented to be within half a unit in
# the last place (one in older releases), and older glibc's, which they may call, within one.
ACCURACY = 1.5 * np.finfo(np.float32).eps


def choose(x):
    return platform_dependent(x, cpu=el.sin, tpu=el.cos, default=el.tan)


CHOOSES = stage(lambda x: [choose(x)], [F32], "chooses")


def text_of(fun, *avals, platforms=PLATFORMS):
    return lower(stage(lambda *xs: [fun(*xs)], avals), platform=platforms, keep_unused=True).text


def on_each(fun, *args):
    """The results of each platform's part, as the CPU computes them."""
    text = text_of(fun, *map(get_aval, args))
    return [run_text(text, [np.int32(i), *args])[0] for i in range(len(PLATFORMS))]


@pytest.mark.parametrize("fun, times", [
    (choose, 1),
    (lambda x: choose(choose(x)), 2),
    (lambda x: scan(lambda c, _: (choose(c), None), x, None, length=3)[0], 3),
    (lambda x: call_jaxpr(CHOOSES, *call_jaxpr(CHOOSES, x, name="chooses"), name="chooses")[0], 2),  # a function of its own
    (lambda x: switch(np.int32(1), [el.neg, choose], x), 1),
])
def test_the_platform_that_runs_it_chooses(fun, times):
    for result, (f, derivative) in zip(on_each(fun, X), NUMPY, strict=True):
        expected, error = X.astype(np.float64), 0.0
        for _ in range(times):  # an error of x is one of f(x) times the condition number, and then comes f's own
            error = error * np.abs(expected * derivative(expected) / f(expected)) + ACCURACY
            expected = f(expected)
        assert (error < 10 * ACCURACY).all()  # the operands are such that the bound means something
        np.testing.assert_array_less(np.abs(result - expected), error * np.abs(expected))


def test_rules_that_differ_are_branches():
    text = text_of(lambda x: linalg.cholesky(x), ShapedArray((3, 3), np.dtype(np.float32)))
    assert text.count('"stablehlo.case"(%platform_index)') == 1
    assert 'func.func public @main(%platform_index: tensor<i32> {jax.global_constant = "_platform_index"}, %arg0' in text
    assert text.index("lapack_spotrf_ffi") < text.index("cusolver_potrf_ffi") < text.index('"stablehlo.cholesky"')
    a = np.float32([[4, 2, 0], [2, 5, 3], [0, 3, 6]])
    np.testing.assert_allclose(run_text(with_constant_index(text, 0), [a])[0], np.linalg.cholesky(a), rtol=1e-6)


def with_constant_index(text, index):
    """What callers of the module make of it: the compiler does not meet the other platforms' kernels then."""
    argument = '%platform_index: tensor<i32> {jax.global_constant = "_platform_index"}, '
    head, found, body = text.partition(argument)
    assert found and body.count(") {\n") >= 1
    constant = f'%platform_index = "stablehlo.constant"() {{value = dense<{index}> : tensor<i32>}} : () -> tensor<i32>'
    return head + body.replace(") {\n", f") {{\n{constant}\n", 1)


def test_rules_that_do_not_differ_are_written_once():
    text = text_of(lambda x: el.sin(el.add(x, x)), F32)
    assert "stablehlo.case" not in text and text.count("stablehlo.sine") == 1
    (result,) = run_text(text, [np.int32(2), X])
    np.testing.assert_allclose(result, np.sin(X + X), rtol=1e-6)


def test_a_branch_is_lowered_for_its_platform_only():
    """So that what a platform lacks may be done in another way there."""
    def eigenvalues(x):
        return platform_dependent(x, tpu=lambda x: linalg.eigh(x)[1], default=lambda x: el.real(linalg.eig(x)[0]))

    text = text_of(eigenvalues, ShapedArray((3, 3), np.dtype(np.float32)))
    assert [text.count(name) for name in ('"lapack_sgeev_ffi"', '"cuhybrid_eig_real"', '"Eigh"')] == [1, 1, 1]
    with pytest.raises(NotImplementedError, match="eig is not supported on tpu"):
        text_of(lambda x: linalg.eig(x)[0], ShapedArray((3, 3), np.dtype(np.float32)))
    with pytest.raises(NotImplementedError, match="not found for platform cuda: .* cpu, tpu"):
        text_of(lambda x: platform_dependent(x, cpu=el.sin, tpu=el.cos), F32)


def test_ordered_effects_go_through_the_branches():
    def fun(x):
        y = callbacks.io_callback(np.sin, F32, x, ordered=True)
        return callbacks.io_callback(np.sin, F32, y, ordered=True)

    module = lower(stage(lambda x: [fun(x)], [F32]), platform=("cpu", "cuda"))
    verify_text(module.text)
    assert len(module.convention.host_callbacks) == 4  # one per platform and call
    first, second = [line for line in module.text.splitlines() if '"stablehlo.case"' in line]
    assert first.partition(":2 =")[0] and second.partition(":2 =")[0]  # the token and the result


def test_a_reduction_cannot_choose():
    fun = lambda x: reduction.reduce((x,), (np.float32(0),), lambda a, b: (platform_dependent(  # noqa: E731
        a[0], b[0], cpu=el.add, default=el.max),), (0,))[0]
    with pytest.raises(NotImplementedError, match="platform_index is lowered differently for cpu, tpu, which the computation of a red"):
        text_of(fun, F32, platforms=("cpu", "tpu"))


@pytest.mark.parametrize("platform, message", [
    (("cpu", "gpu"), "unknown platform 'gpu'; expected one of cpu, cuda, rocm, tpu"),
    ((), r"expected one platform or several different ones, got \(\)"), (("cpu", "cpu"), "several different ones"),
])
def test_wrong_platforms(platform, message):
    with pytest.raises(ValueError, match=message):
        text_of(el.sin, F32, platforms=platform)


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_operation_for_several_platforms(name):
    """Where each platform has it; `test_every_platform` lists those."""
    closed, options = program(CASES[name], name), {"axis_env": dict(AXES), "num_replicas": 8}
    lowered = {}
    for platform in ("cpu", "cuda", "rocm", "tpu"):
        try:
            lowered[platform] = lower(closed, platform=platform, **options)
        except (NotImplementedError, TypeError):
            continue
    if len(lowered) > 1:
        verify_text(lower(closed, platform=tuple(lowered), **options).text)
