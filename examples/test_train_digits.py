"""train_digits: it learns, its pieces are right one by one, and the program does what its options say."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import laminax as lx

PROGRAM = pathlib.Path(__file__).with_name("train_digits.py")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("train_digits", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def problem(example, rng):
    """A small network, eight random images, and labels."""
    params = example.init_params(lx.random.key(0), [64, 16, 10])
    return params, rng.uniform(size=(8, 64)).astype(np.float32), rng.integers(0, 10, size=8)


def run(*options):
    return subprocess.run([sys.executable, PROGRAM, *options], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def test_the_program_learns_and_draws(tmp_path):
    picture = tmp_path / "digits.png"
    output = run(f"--plot={picture}").stdout
    accuracy = float(output.partition("test accuracy: ")[2].split()[0])
    assert accuracy >= 0.96
    assert output.count("gradient norm") == 12
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000


def test_help_names_the_options():
    result = subprocess.run([sys.executable, PROGRAM, "--help"], capture_output=True, text=True,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    for option in ("epochs", "batch_size", "hidden", "learning_rate", "seed", "plot"):
        assert f"--{option}" in result.stdout or f"--[no]{option}" in result.stdout


def test_the_loss_is_the_cross_entropy(example, problem):
    params, images, labels = problem
    (w1, b1), (w2, b2) = [(np.asarray(p["weights"], float), np.asarray(p["biases"], float)) for p in params]
    scores = np.maximum(images @ w1 + b1, 0) @ w2 + b2
    expected = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(8), labels]
    # float32: a few units in the last of seven digits
    np.testing.assert_allclose(example.batch_loss(params, images, labels), expected.mean(), rtol=1e-5)


def test_gradient_norms_are_those_of_single_images(example, problem):
    params, images, labels = problem
    norms = example.gradient_norms(params, images, labels)
    for norm, image, label in zip(norms, images, labels):
        leaves = lx.tree.leaves(lx.grad(example.loss)(params, image, label))
        expected = np.sqrt(sum(np.sum(np.square(leaf, dtype=float)) for leaf in map(np.asarray, leaves)))
        np.testing.assert_allclose(norm, expected, rtol=1e-5)


def test_gradients_point_uphill(example, problem, rng):
    """Along a random direction, the loss changes as its gradient says."""
    params, images, labels = problem
    direction = lx.tree.map(lambda p: rng.normal(size=p.shape).astype(np.float32), params)
    grads = lx.grad(example.batch_loss)(params, images, labels)
    slope = sum(np.vdot(g, d) for g, d in zip(lx.tree.leaves(grads), lx.tree.leaves(direction)))

    def loss_at(t):
        moved = lx.tree.map(lambda p, d: p + np.float32(t) * d, params, direction)
        return float(example.batch_loss(moved, images, labels))

    step = 2e-3  # float32: errors of rounding and of curvature are both near 1e-3 of the slope here
    np.testing.assert_allclose(slope, (loss_at(step) - loss_at(-step)) / (2 * step), rtol=2e-2)


def test_adam_is_algorithm_1_of_its_paper(example):
    params, grads = {"x": lx.numpy.asarray([1.0, -2.0])}, [np.array([0.5, -0.1]), np.array([-0.2, 0.3])]
    x, m, v, state = np.array([1.0, -2.0]), 0, 0, example.init_adam(params)
    for t, g in enumerate(grads, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        x = x - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        params, state = example.adam(params, {"x": lx.numpy.asarray(g)}, state, 0.01)
        np.testing.assert_allclose(params["x"], x, rtol=1e-5)


def test_minibatches_visit_each_image_at_most_once(example):
    rows = example.minibatches(lx.random.key(0), 103, 10)
    assert rows.shape == (10, 10)
    assert len(set(rows.ravel().tolist())) == 100 and set(rows.ravel().tolist()) <= set(range(103))
