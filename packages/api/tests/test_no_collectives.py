"""`sharding.no_collectives`: along which mesh axes devices must not exchange data."""

from __future__ import annotations

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.errors import ForbiddenCollectiveError
from laminax.sharding import AxisType, no_collectives
from laminax.sharding import PartitionSpec as P


@pytest.fixture
def x():
    with laminax.set_mesh(laminax.make_mesh((1, 1), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)):
        yield laminax.reshard(np.arange(16, dtype=np.float32).reshape(4, 4), P("x", "y"))


CALLS = {  # the axes over which each has devices exchange data
    "sum over rows": (lambda x: jnp.sum(x, 0), "x"), "sum over columns": (lambda x: jnp.sum(x, 1), "y"),
    "maximum": (lambda x: jnp.max(x, 0), "x"), "sum": (jnp.sum, "xy"), "sine": (jnp.sin, ""), "transpose": (lambda x: x.T, ""),
    "a sum left open": (lambda x: lax.reduce_sum(x, (1,), out_sharding=P("x", unreduced={"y"})), ""),
    "a sum that is split": (lambda x: lax.reduce_sum(x, (0,), out_sharding=P("y")), "x"),
    "product": (lambda x: jnp.dot(x, jnp.ones((4, 4)), out_sharding=P("x", None)), "y"),
    "a product left open": (lambda x: jnp.dot(x, laminax.reshard(jnp.ones((4, 4)), P("y", None)),
                                              out_sharding=P("x", None, unreduced={"y"})), ""),
    "gathering columns": (lambda x: laminax.reshard(x, P("x", None)), "y"),
    "exchanging rows and columns": (lambda x: laminax.reshard(x, P("y", "x")), "xy"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("forbidden", ["x", "y", ""])
@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit], ids=["eager", "jitted"])
def test_what_is_forbidden(x, name, forbidden, wrap):
    call, axes = CALLS[name]
    call = wrap(call)
    with no_collectives(set(forbidden)):
        if set(axes) & set(forbidden):
            with pytest.raises(ForbiddenCollectiveError, match=f"Collective across axis '{forbidden}' is forbidden by `no_collectives`"):
                call(x)
        else:
            call(x)
    call(x)  # and outside it is not


@pytest.mark.parametrize("collective", [lax.psum, lax.pmax, lax.pmin, lax.all_gather,
                                        lambda x, n: lax.ppermute(x, n, [(0, 0)]),
                                        lambda x, n: lax.psum_scatter(x, n, tiled=True),
                                        lambda x, n: lax.all_to_all(x, n, 0, 0, tiled=True)])
def test_collectives_by_name(x, collective):
    mapped = laminax.shard_map(lambda x: collective(x, "x"), in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=False)
    with no_collectives({"x"}), pytest.raises(ForbiddenCollectiveError, match="acts on axis 'x'"):
        mapped(x)
    with no_collectives({"y"}):
        mapped(x)


def test_names_are_given_as_a_set():
    with pytest.raises(TypeError, match="Expected axis name.* as set or frozenset, got 'x'"):
        no_collectives("x")
