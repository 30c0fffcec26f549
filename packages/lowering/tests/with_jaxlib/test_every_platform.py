"""Every operation, lowered for every platform: jaxlib's MLIR parses and verifies each module, and XLA reads it.

What a platform does not support is listed here, and says so.
"""

import pytest
from operation_cases import AXES, CASES, primitives, program
from stablehlo_runner import verify_text

from laminax_ir.programs.jaxpr import Jaxpr, subjaxprs
from laminax_lowering import lower

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
ONLY_CPU = ("cuda", "rocm", "tpu")
UNSUPPORTED = {
    **{("schur", platform): "only LAPACK has this factorization" for platform in ONLY_CPU},
    **{("hessenberg", platform): "only LAPACK has this factorization" for platform in ONLY_CPU},
    ("eig", "tpu"): "the TPU compiler has no eigenvalues of general matrices",
    ("tridiagonal", "tpu"): "the TPU compiler has no tridiagonal form of matrices",
    ("buffer_callback", "tpu"): "callbacks on buffers are supported on cpu, cuda, rocm",
}
# These stand for what was not done before lowering; the errors say what that is.
REFUSED = {"custom_vjp_tangent": (TypeError, "can't apply forward-mode autodiff"),
           "psum_shared": (NotImplementedError, "reduce_axes over the axes .* cannot be lowered")}


def operations_of(jaxpr: Jaxpr) -> set[str]:
    inner = [operations_of(nested) for eqn in jaxpr.eqns for nested in subjaxprs(eqn)]
    return {eqn.primitive.name for eqn in jaxpr.eqns}.union(*inner)


def text(name: str, platform: str) -> str:
    return lower(program(CASES[name], name), platform=platform, axis_env=dict(AXES), num_replicas=8).text


def test_every_operation_has_a_case():
    """A new operation belongs into `operation_cases`; those on references are gone before a program is lowered."""
    on_references = {name for name, primitive in primitives().items() if primitive.family == "state"}
    assert len(on_references) == 5 and set(primitives()) - on_references == set(CASES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_operation(name):
    assert name in operations_of(program(CASES[name], name).jaxpr)
    for platform in PLATFORMS:
        if name in REFUSED:
            error, reason = REFUSED[name]
            with pytest.raises(error, match=reason):
                text(name, platform)
        elif (name, platform) in UNSUPPORTED:
            with pytest.raises(NotImplementedError, match=f"{name} is not supported on {platform}: {UNSUPPORTED[name, platform]}"):
                text(name, platform)
        else:
            verify_text(text(name, platform))
    if name not in REFUSED:
        verify_text(lower(program(CASES[name], name), axis_env=dict(AXES), cpu_kernels=True).text)


def test_the_verifier_refuses_what_is_wrong():
    good = text("sin", "cpu")
    verify_text(good)
    with pytest.raises(RuntimeError, match="tensor"):
        verify_text(good.replace("-> (tensor<3x4xf32>)", "-> (tensor<4x3xf32>)"))
    with pytest.raises(RuntimeError, match="sinus"):
        verify_text(good.replace("stablehlo.sine", "stablehlo.sinus"))
