"""Calls, and functions with rules of their own that say what their operations' rules would."""

from __future__ import annotations

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.elementwise import add, cos, mul, sin, square
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_transforms import checkpoint, checkpoint_name, checkpoint_policies, custom_jvp, custom_vjp
from laminax_transforms.batching.batch_axes import broadcast_batch
from laminax_transforms.custom.custom_batching import custom_vmap

from .case import Case


def jit(fun):
    """A staged call, as the api's jit makes it inside of a trace."""
    def call(*args):
        return call_jaxpr(stage(lambda *xs: [fun(*xs)], [get_aval(x) for x in args]), *args, name="f")[0]
    return call


def wave(x, y):
    return mul(sin(mul(x, y)), y)


@custom_jvp
def with_jvp(x, y):
    return wave(x, y)


@with_jvp.defjvp
def _with_jvp_rule(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    inner = mul(mul(cos(mul(x, y)), y), add(mul(x_dot, y), mul(x, y_dot)))
    return with_jvp(x, y), add(inner, mul(sin(mul(x, y)), y_dot))


@custom_vjp
def with_vjp(x, y):
    return wave(x, y)


def _with_vjp_bwd(residuals, ct):
    x, y = residuals
    slope = mul(mul(cos(mul(x, y)), y), ct)
    return mul(slope, y), add(mul(slope, x), mul(sin(mul(x, y)), ct))


with_vjp.defvjp(lambda x, y: (wave(x, y), (x, y)), _with_vjp_bwd)


@custom_vmap
def with_vmap(x, y):
    return wave(x, y)


@with_vmap.def_vmap
def _with_vmap_rule(size, mapped, x, y):
    x, y = [a if is_mapped else broadcast_batch(a, size, 0) for a, is_mapped in zip((x, y), mapped)]
    return wave(x, y), True


NAMED = checkpoint_policies.save_only_these_names("inner")

CASES = {
    "jit": Case(jit(wave)), "call of a call": Case(lambda x, y: jit(lambda a, b: mul(jit(wave)(a, b), jit(wave)(b, a)))(x, y)),
    "checkpoint": Case(checkpoint(wave)), "checkpoint of a call": Case(checkpoint(jit(wave))),
    "name": Case(checkpoint(lambda x, y: square(checkpoint_name(wave(x, y), "inner")), policy=NAMED)),
    "custom_jvp_call": Case(with_jvp), "staged custom_jvp_call": Case(jit(with_jvp)),
    "custom_vmap_call": Case(with_vmap), "staged custom_vmap_call": Case(jit(with_vmap)),
}
REVERSE_ONLY = {"custom_vjp_call": Case(with_vjp), "staged custom_vjp_call": Case(jit(with_vjp)),
                "checkpointed custom_vjp_call": Case(checkpoint(with_vjp))}
