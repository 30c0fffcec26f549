"""Arrays split over explicit mesh axes that functions refuse, where they would have to move elements between devices unasked."""

import numpy as np
import pytest
from meshes import DEVICES

import laminax
import laminax.numpy as jnp
from laminax import lax, nn
from laminax.errors import ShardingTypeError
from laminax.sharding import AxisType, Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

MESH = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"), axis_types=AxisType.Explicit)
A = np.arange(32.0, dtype=np.float32).reshape(8, 4)
I = np.arange(8, dtype=np.int32) % 4


def put(value, *entries, **sums):
    return laminax.device_put(value, NamedSharding(MESH, P(*entries, **sums)))


@pytest.mark.parametrize("call, message", [
    (lambda: jnp.roll(put(A, "x"), 1, 0), "`a` cannot be sharded on the axis being rolled over.*8@x,4"),
    (lambda: jnp.roll(put(A, None, "y"), put(I[:1]), axis=1), "`a` cannot be sharded on the axis being rolled over"),
    (lambda: jnp.unstack(put(A, "x")), "unstack operand cannot be sharded on the unstacking axis, which is 0"),
    (lambda: jnp.cumsum(put(A, None, "y")), "The input should be fully replicated when axis is not specified to cumsum"),
    (lambda: jnp.bincount(put(I, "x"), length=4, out_sharding=P("x")), "only be fully replicated or fully unreduced"),
    (lambda: nn.one_hot(put(I, "x"), 4, out_sharding=P("y", None)), "input part of spec in out_sharding should match the spec of `x`"),
    (lambda: nn.one_hot(put(I, "x"), 4, axis=0, out_sharding=P("x", None)), "input part of spec in out_sharding should match"),
    (lambda: put(A)[put(I, "x")], r"Use `.at\[...\].get\(out_sharding=\)`"),
    (lambda: jnp.histogram(put(A[:, 0], "x"), 4, (0, 8)), r"Use `.at\[...\].get\(out_sharding=\)`"),
    (lambda: jnp.einsum("bi,bi->b", put(A, "x"), put(A, reduced={"x"})),
     "requires lhs batch dimensions and rhs batch dimensions to have the same sharding"),
], ids=str)
@pytest.mark.parametrize("wrap", [lambda f: f(), lambda f: laminax.jit(f)()], ids=["eager", "jit"])
def test_splits_that_functions_refuse(call, message, wrap):
    with laminax.set_mesh(MESH), pytest.raises(ShardingTypeError, match=message):
        wrap(call)


def test_what_is_asked_for_is_given():
    """The same functions, asked to: their values are NumPy's."""
    with laminax.set_mesh(MESH):
        rows = put(A).at[put(I, "x")].get(out_sharding=P("x", "y"))
        assert rows.sharding.spec == P("x", "y")
        np.testing.assert_array_equal(np.asarray(rows), A[I])
        hot = nn.one_hot(put(I, "x"), 4, out_sharding=P("x", "y"))
        assert hot.sharding.spec == P("x", "y")
        np.testing.assert_array_equal(np.asarray(hot), np.eye(4)[I])
        np.testing.assert_array_equal(np.asarray(jnp.bincount(put(I, "x"), length=4, out_sharding=P())), np.bincount(I))
        np.testing.assert_array_equal(np.asarray(jnp.roll(put(A, "x"), 1, 1)), np.roll(A, 1, 1))
        np.testing.assert_array_equal(np.asarray(jnp.cumsum(put(A))), np.cumsum(A))


def test_values_that_a_vmap_does_not_map():
    """Each device has some of the examples: what they share must be whole along the mesh axes that deal them out."""
    with laminax.set_mesh(MESH):
        batch, shared = put(A, "x"), put(A[0], "y")
        product = laminax.vmap(jnp.multiply, in_axes=(0, None))
        assert product(batch, shared).sharding.spec == P("x", "y")
        with pytest.raises(ValueError, match=r"vmap.*Unmapped values passed to vmap cannot be sharded.*4@x.*'x'"):
            product(batch, put(A[0], "x"))


def test_broadcasts_to_what_is_split_otherwise():
    like = put(A, "x")
    with laminax.set_mesh(MESH):
        assert lax.broadcast_like(put(A[0]), like).sharding.spec == P("x", None)
        with pytest.raises(ValueError, match="Incompatible types for broadcasting"):
            lax.broadcast_like(put(A[0], "y"), like)


def test_a_program_runs_on_one_number_of_devices():
    def f(x):
        with Mesh(np.array(DEVICES[:1]), "x"):
            return x * 2

    with MESH, pytest.raises(ValueError, match="cannot change the size of the mesh while a function is traced.*has 1 devices.*has 8"):
        laminax.jit(f)(A)
    with MESH, Mesh(np.array(DEVICES[:1]), "x"):  # between programs it can
        pass
    split = NamedSharding(MESH.abstract_mesh, P("x", "y"))
    with pytest.raises(ValueError, match="Length of device assignment, 1, is not equal to the size of the mesh, 8"):
        laminax.jit(lambda key: laminax.random.normal(key, (8, 4), out_sharding=split))(laminax.random.key(0))


def test_empty_meshes():
    with pytest.raises(ValueError, match="jit: out_shardings got an empty NamedSharding"):
        laminax.jit(lambda x: x, out_shardings=NamedSharding(laminax.sharding.get_mesh(), P()))
