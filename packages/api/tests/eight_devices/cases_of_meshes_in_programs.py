"""Programs that are made once and serve all: no mesh that was set when they were first asked for is in them."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.scipy import special
from laminax.sharding import AxisType, NamedSharding
from laminax.sharding import PartitionSpec as P

TWO = laminax.make_mesh((2,), ("x",))  # of explicit axes
FOUR = laminax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,))
FUNCTIONS = {
    "bits": lambda x: laminax.random.bits(laminax.random.key(0), x.shape).astype(np.float32),
    "rounds": lambda x: laminax.random.uniform(laminax.random.fold_in(laminax.random.key(1), 2), x.shape),
    "special": lambda x: special.i0e(x), "log2": lambda x: lax.log2(x + 1), "gamma": lambda x: special.gammainc(x + 1, x + 2),
    "polynomial": lambda x: lax.polynomial(x, [1.0, 2.0, 3.0]), "cumulative": lambda x: lax.cumlogsumexp(x),
    "svd": lambda x: jnp.linalg.svd(x, compute_uv=False)[0] * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_program_first_made_under_one_mesh_serves_another(name):
    """The compiler aborted the process where a module had constraints over another mesh."""
    shape = (2, 5) if name != "cumulative" else (7,)  # of no other test in this process
    x = np.linspace(0.1, 0.9, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    function = FUNCTIONS[name]
    with laminax.set_mesh(TWO):
        first = laminax.jit(function)(x)
    per_device = laminax.jit(laminax.shard_map(lambda x: function(x), mesh=FOUR, in_specs=P(), out_specs=P(), check_vma=False))
    text = per_device.lower(laminax.device_put(x, NamedSharding(FOUR, P()))).as_text()
    assert text.count("sdy.mesh") == 1 and "sharding_constraint" not in text
    np.testing.assert_allclose(per_device(x), first, rtol=1e-5)
