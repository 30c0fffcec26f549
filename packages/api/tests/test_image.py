"""laminax.image: against interpolation written as loops over kernels, and against identities."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import image
from laminax.image import ResizeMethod

PHOTO = np.array([[1.0, 2, 5, 3], [0, 1, 7, 2], [4, 4, 1, 0]], np.float32)


def sinc_window(radius):
    return lambda x: np.sinc(x) * np.sinc(x / radius) if abs(x) < radius else 0.0


def keys_cubic(x):
    x = abs(x)
    return 1.5 * x ** 3 - 2.5 * x ** 2 + 1 if x < 1 else -0.5 * x ** 3 + 2.5 * x ** 2 - 4 * x + 2 if x < 2 else 0.0


KERNELS = {"linear": lambda x: max(0.0, 1 - abs(x)), "cubic": keys_cubic, "lanczos3": sinc_window(3), "lanczos5": sinc_window(5)}


def resized_row(row, size, kernel, scale, shift, antialias):
    """Each new pixel is the mean of the old ones, weighted by the kernel at their distance from where it comes from."""
    result = np.zeros(size)
    stretch = max(1.0, 1 / scale) if antialias else 1.0
    for i in range(size):
        place = (i + 0.5 - shift) / scale - 0.5
        weights = np.array([kernel((place - j) / stretch) for j in range(len(row))])
        if -0.5 <= place <= len(row) - 0.5:
            result[i] = weights @ row / weights.sum()
    return result


@pytest.mark.parametrize("method", KERNELS)
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("size", [2, 7])
def test_resize_is_a_weighted_mean(method, antialias, size):
    expected = [resized_row(row, size, KERNELS[method], size / 4, 0.0, antialias) for row in PHOTO]
    np.testing.assert_allclose(image.resize(PHOTO, (3, size), method, antialias), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(image.resize(PHOTO.T, (size, 3), ResizeMethod.from_string(method), antialias), np.transpose(expected),
                               rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", KERNELS)
def test_scale_and_translate(method):
    expected = [resized_row(row, 6, KERNELS[method], 0.7, 1.3, True) for row in PHOTO]
    got = image.scale_and_translate(PHOTO, (3, 6), (1,), jnp.array([0.7]), jnp.array([1.3]), method)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    both = image.scale_and_translate(PHOTO, (3, 4), (0, 1), jnp.ones(2), jnp.array([1.0, 0.0]), method)
    np.testing.assert_allclose(both, np.concatenate([np.zeros((1, 4)), PHOTO[:2]]), atol=1e-5)  # one row down


def test_nearest_repeats_pixels():
    np.testing.assert_array_equal(image.resize(PHOTO, (6, 8), "nearest"), PHOTO.repeat(2, 0).repeat(2, 1))
    small = image.resize(np.arange(9).reshape(3, 3), (1, 3), "nearest")
    np.testing.assert_array_equal(small, [[3, 4, 5]])
    assert small.dtype == np.int32 and image.resize(np.arange(4), (8,), "linear").dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.complex64, np.bool_])
@pytest.mark.parametrize("old, new", [
    ((3, 4), (9, 4)), ((3, 4), (3, 20)), ((3, 4), (6, 12)), ((3, 4), (7, 8)), ((6, 9), (3, 3)), ((6, 9), (4, 18)), ((5,), (13,)),
    ((5,), (0,)), ((1, 7), (49, 49)), ((2, 3, 1), (2, 3, 1)), ((2, 3, 1), (4, 6, 5))])
def test_nearest_takes_the_pixel_below_the_middle_of_the_new_one(old, new, dtype):
    photo = np.random.default_rng(0).normal(size=old).astype(dtype)
    photo.flat[0] = np.nan if photo.dtype.kind in "fc" else 1
    middles = np.ix_(*[[(2 * i + 1) * m // (2 * n) for i in range(n)] for m, n in zip(old, new)])  # whole numbers do not round
    for resized in (image.resize(photo, new, "nearest"), laminax.jit(lambda x: image.resize(x, new, "nearest"))(photo)):
        assert resized.dtype == dtype
        np.testing.assert_array_equal(resized, photo[tuple([places.astype(int) for places in middles])])


@pytest.mark.parametrize("old, new", [((3, 4), (9, 8)), ((3, 4), (7, 8)), ((6, 9), (4, 18)), ((6, 9), (3, 3))])
def test_the_gradient_of_nearest_adds_what_a_pixel_was_taken_for(old, new):
    rng = np.random.default_rng(0)
    photo, weights = rng.normal(size=old).astype(np.float32), rng.normal(size=new).astype(np.float32)
    expected = np.zeros(old)
    np.add.at(expected, np.ix_(*[[(2 * i + 1) * m // (2 * n) for i in range(n)] for m, n in zip(old, new)]), weights)
    gradient = laminax.jit(laminax.grad(lambda x: (image.resize(x, new, "nearest") * weights).sum()))(photo)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
    batch = laminax.vmap(lambda x: image.resize(x, new, "nearest"))(np.stack([photo, photo + 1]))
    np.testing.assert_array_equal(batch[1], image.resize(photo + 1, new, "nearest"))


def test_areas_are_averages_of_what_a_new_pixel_covers():
    photo = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
    np.testing.assert_allclose(image.resize(photo, (3, 2), "area"), photo.reshape(3, 2, 2, 4).mean((1, 3)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(image.resize(photo, (12, 16), "area"), photo.repeat(2, 0).repeat(2, 1))
    thirds = image.resize(photo[0], (3,), "area")  # 8 pixels in 3: the third pixel is shared by two of them
    expected = [(photo[0, 0] + photo[0, 1] + photo[0, 2] * 2 / 3) * 3 / 8,
                (photo[0, 2] / 3 + photo[0, 3:5].sum() + photo[0, 5] / 3) * 3 / 8,
                (photo[0, 5] * 2 / 3 + photo[0, 6:].sum()) * 3 / 8]
    np.testing.assert_allclose(thirds, expected, rtol=1e-5)


@pytest.mark.parametrize("size", [3, 12])
def test_cubic_as_pytorch_has_it(size):
    """The kernel at a = -3/4, on an image that goes on with the pixels of its edges."""
    row = np.random.default_rng(0).normal(size=5)

    def kernel(x):
        x = abs(x)
        return 1.25 * x**3 - 2.25 * x**2 + 1 if x < 1 else -0.75 * x**3 + 3.75 * x**2 - 6 * x + 3 if x < 2 else 0.0

    places = [(i + 0.5) * 5 / size - 0.5 for i in range(size)]
    expected = [sum(kernel(place - j) * row[min(max(j, 0), 4)] for j in range(-3, 9)) for place in places]
    method = image.ResizeMethod.CUBIC_PYTORCH
    np.testing.assert_allclose(image.resize(row.astype(np.float32), (size,), method, antialias=False), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(image.resize(row, (size,), "bicubic-pytorch"), image.resize(row, (size,), "cubic"))


def test_gradients_and_batches():
    grown = lambda x: image.resize(x, (5, 6), "cubic")  # noqa: E731
    cotangent = np.arange(30, dtype=np.float32).reshape(5, 6)
    gradient = laminax.grad(lambda x: jnp.vdot(grown(x), cotangent))(PHOTO)
    np.testing.assert_allclose(jnp.vdot(gradient, PHOTO), np.vdot(grown(PHOTO), cotangent), rtol=1e-5)  # it is linear
    scales = np.array([[0.5], [2.0]], np.float32)
    mapped = laminax.vmap(lambda s: image.scale_and_translate(PHOTO, (3, 4), (1,), s, jnp.zeros(1), "linear"))(scales)
    np.testing.assert_allclose(mapped[1], image.scale_and_translate(PHOTO, (3, 4), (1,), scales[1], jnp.zeros(1), "linear"), rtol=1e-6)


@pytest.mark.parametrize("call, error, message", [
    (lambda: image.resize(PHOTO, (3, 3), "fast"), ValueError, 'Unknown resize method "fast". The names are nearest, linear'),
    (lambda: image.resize(PHOTO, (3,), "linear"), ValueError, r"got \(3,\) for f32\[3,4\]"),
    (lambda: image.resize(PHOTO, (3, 3), 1), TypeError, "must be a ResizeMethod or its name, got 1"),
    (lambda: image.scale_and_translate(PHOTO, (3, 3), (1,), np.ones(1), np.ones(1), "nearest"), ValueError, "must not be 'nearest'"),
    (lambda: image.scale_and_translate(PHOTO, (2, 4), (1,), np.ones(1), np.ones(1), "linear"), ValueError, "axis 0 is not in spatial_dims"),
    (lambda: image.scale_and_translate(PHOTO, (3, 4), (1,), np.ones(2), np.ones(1), "linear"), ValueError, "scale must have one element"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
