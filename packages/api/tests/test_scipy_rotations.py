"""laminax.scipy.spatial.transform against SciPy in float64."""

import itertools

import numpy as np
import pytest
import scipy.spatial.transform

import laminax
import laminax.numpy as jnp
from laminax.scipy.spatial.transform import Rotation, Slerp

RNG = np.random.default_rng(0)
QUATS = np.concatenate([RNG.normal(size=(6, 4)), [[0, 0, 0, 1.0], [0, 0, 0, -1], [1, 0, 0, 0], [0, -1, 0, 0], [1e-9, 0, 0, 1]]])
VECTOR = np.array([1.0, -2, 0.5])


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


@pytest.fixture
def both():
    return Rotation.from_quat(QUATS), scipy.spatial.transform.Rotation.from_quat(QUATS)


def test_forms(both):
    mine, theirs = both
    close(mine.as_quat(), theirs.as_quat())
    close(mine.as_quat(canonical=True, scalar_first=True), theirs.as_quat(canonical=True, scalar_first=True))
    for form in ("matrix", "rotvec", "mrp"):
        close(getattr(mine, f"as_{form}")(), getattr(theirs, f"as_{form}")())
        values = getattr(theirs[:7], f"as_{form}")()  # of half turns both signs are right
        close(getattr(Rotation, f"from_{form}")(values).as_matrix(), theirs[:7].as_matrix())
    close(mine[2].as_rotvec(degrees=True), theirs[2].as_rotvec(degrees=True))
    close(Rotation.from_rotvec(VECTOR * 40, degrees=True).as_matrix(),
          scipy.spatial.transform.Rotation.from_rotvec(VECTOR * 40, degrees=True).as_matrix())
    close(Rotation.from_matrix(theirs.as_matrix()).as_matrix(), theirs.as_matrix())


def test_euler_angles(both):
    mine, theirs = both[0][:6], both[1][:6]
    angles = RNG.uniform(-3, 3, size=(4, 3))
    for i, (a, b, c) in enumerate(itertools.product("xyz", repeat=3)):
        if a != b and b != c:
            seq = (a + b + c).upper() if i % 2 else a + b + c
            close(Rotation.from_euler(seq, angles).as_matrix(), scipy.spatial.transform.Rotation.from_euler(seq, angles).as_matrix())
            close(mine.as_euler(seq), theirs.as_euler(seq))
    for one in (90.0, np.array([[10.0], [20.0]])):
        expected = scipy.spatial.transform.Rotation.from_euler("y", one, degrees=True).as_matrix()
        with laminax.numpy_dtype_promotion("strict"):
            close(Rotation.from_euler("y", one, degrees=True).as_matrix(), expected)
        assert not Rotation.from_euler("y", one, degrees=True).quat.weak_type
    close(Rotation.from_euler("y", np.array([0.1, 0.2])).as_matrix()[1], Rotation.from_euler("y", 0.2).as_matrix())
    close(mine[0].as_euler("ZXZ", degrees=True), theirs[0].as_euler("ZXZ", degrees=True))


@pytest.mark.parametrize("seq, angles", [("xyz", [0.3, np.pi / 2, 0.4]), ("ZYX", [0.3, -np.pi / 2, 0.4]), ("zxz", [0.3, 0.0, 0.4]),
                                         ("XYX", [0.3, np.pi, 0.2])])
def test_locked_angles_mean_the_same_rotation(seq, angles):
    rotation = Rotation.from_euler(seq, np.array(angles))
    found = rotation.as_euler(seq)
    assert found[2] == 0
    np.testing.assert_allclose(Rotation.from_euler(seq, found).as_matrix(), rotation.as_matrix(), atol=1e-6)


def test_what_rotations_do(both):
    mine, theirs = both
    close(mine.apply(VECTOR), theirs.apply(VECTOR))
    close(mine.apply(VECTOR, inverse=True), theirs.apply(VECTOR, inverse=True))
    close((mine * mine[::-1]).as_matrix(), (theirs * theirs[::-1]).as_matrix())
    close((mine[0] * mine).as_matrix(), (theirs[0] * theirs).as_matrix())
    close(mine.inv().as_matrix(), theirs.inv().as_matrix())
    close(mine.magnitude(), theirs.magnitude())
    weights = np.arange(1.0, len(QUATS) + 1)
    close(mine[:4].mean(weights[:4]).as_matrix(), theirs[:4].mean(weights[:4]).as_matrix())
    close(mine[:3].mean().as_matrix(), theirs[:3].mean().as_matrix())
    assert len(mine) == len(QUATS) and mine[0].single and len(Rotation.concatenate([mine[:2], mine[3]])) == 3
    close(Rotation.identity().apply(VECTOR), VECTOR)
    assert Rotation.identity(2).quat.shape == (2, 4)


def test_interpolation(both):
    mine, theirs = both[0][:4], both[1][:4]
    times, where = np.array([0.0, 1, 3, 4]), np.array([0.0, 0.3, 1.0, 2.7, 4.0])
    expected = scipy.spatial.transform.Slerp(times, theirs)(where)
    close(Slerp.init(times, mine)(where).as_matrix(), expected.as_matrix())
    close(Slerp.init(times, mine)(0.3).as_matrix(), expected[1].as_matrix())
    with laminax.numpy_rank_promotion("raise"):
        close(Slerp.init(times, mine)(where[1:2]).inv().as_matrix(), expected[1:2].inv().as_matrix())


def test_transformations():
    key = laminax.random.key(0)
    drawn = Rotation.random(key, 3)
    close(jnp.linalg.det(drawn.as_matrix()), np.ones(3))
    close(laminax.jit(lambda r: (r * r).as_matrix())(drawn), (drawn * drawn).as_matrix())
    close(laminax.vmap(lambda r: r.apply(VECTOR))(drawn), drawn.apply(VECTOR))
    gradient = laminax.jacobian(lambda v: Rotation.from_rotvec(v).as_matrix())(np.zeros(3))
    close(gradient[2, 1], [1, 0, 0])  # a small turn about x moves y towards z
    assert Rotation.random(key).single


@pytest.mark.parametrize("call, error, message", [
    (lambda: Rotation.from_quat(np.ones(3)), ValueError, r"Rotation.from_quat: expected \[4\] or \[n, 4\], got f64\[3\]"),
    (lambda: Rotation.from_matrix(np.ones(3)), ValueError, r"expected \[3, 3\]"),
    (lambda: Rotation.from_euler("xyq", np.ones(3)), ValueError, "seq must be one to three of 'xyz', or of 'XYZ', got 'xyq'"),
    (lambda: Rotation.from_euler("xy", np.ones(3)), ValueError, r"the angles about 'xy' must be \[2\]"),
    (lambda: Rotation.identity().as_euler("xxz"), ValueError, "neighbours different; got 'xxz'"),
    (lambda: Rotation.identity()[0], TypeError, "not subscriptable"),
    (lambda: len(Rotation.identity()), TypeError, "has no len"),
    (lambda: Slerp.init(np.ones(2), np.ones((2, 4))), TypeError, "rotations must be a Rotation"),
    (lambda: Slerp.init(np.ones(2), Rotation.identity(3)), ValueError, "a time for each"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
