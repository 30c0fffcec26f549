"""The gallery's programs run in a short form, do what they say they do, and draw their pictures."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from absl import flags

FOLDER = pathlib.Path(__file__).parent
SHORT = {
    "character_transformer": ["--steps=60", "--batch_size=8", "--context=32", "--width=32", "--layers=2", "--length=10"],
    "neural_ode": ["--steps=150", "--batch_size=8", "--hidden=16"],
    "hamiltonian_monte_carlo": ["--chains=4", "--draws=300", "--warmup=300"],
    "equilibrium_layer": ["--steps=100", "--width=12"],
    "reaction_diffusion": ["--size=64", "--steps=50"],
    "data_cleaning": ["--steps=15", "--images=100"],
}


def run(name, *options):
    return subprocess.run([sys.executable, FOLDER / f"{name}.py", *options], capture_output=True, text=True, check=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LAMINAX_PLATFORMS": "cpu"}).stdout


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Name to what the program printed, each run once, when it is asked for; its picture is looked at too."""
    folder, known = tmp_path_factory.mktemp("pictures"), {}

    def output(name):
        if name not in known:
            picture = folder / f"{name}.png"
            known[name] = run(name, *SHORT[name], f"--plot={picture}")
            assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000
        return known[name]

    return output


def module(name):
    for flag in [f for f in flags.FLAGS if flags.FLAGS.find_module_defining_flag(f) == "importlib._bootstrap"]:
        delattr(flags.FLAGS, flag)  # of another program
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_the_transformer_does_better_than_guessing(outputs):
    loss, guessing = numbers(re.search("loss of the last steps.*", outputs("character_transformer"))[0])
    assert loss < guessing - 1


def test_the_law_of_motion_is_learned(outputs):
    first, last = numbers(outputs("neural_ode").splitlines()[0])
    assert last < first / 2


def test_chains_mix_and_cover_the_truth(outputs):
    rows = [numbers(line) for line in outputs("hamiltonian_monte_carlo").splitlines() if "R-hat" in line]
    assert len(rows) == 4
    for mean, deviation, truth, r_hat in rows:
        assert abs(mean - truth) < 3 * deviation and r_hat < 1.1


def test_half_moons_are_told_apart(outputs):
    first, last, accuracy = numbers(outputs("equilibrium_layer"))
    assert last < first / 4 and accuracy > 0.9


def test_derivative_of_the_fixed_point(outputs):
    """The implicit derivative is that of many iterations, written out."""
    import laminax as lx
    import laminax.numpy as jnp

    example = module("equilibrium_layer")
    params = example.init_params(lx.random.key(0), 6)
    inner, x = {k: params[k] for k in "wub"}, np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)

    def unrolled(inner):
        z = jnp.zeros((4, 6))
        for _ in range(80):
            z = example.layer(inner, x, z)
        return jnp.sum(z**2)

    implicit = lx.grad(lambda inner: jnp.sum(example.fixed_point(example.layer, inner, x, jnp.zeros((4, 6))) ** 2))(inner)
    for name, expected in lx.grad(unrolled)(inner).items():
        np.testing.assert_allclose(implicit[name], expected, atol=2e-3)  # the iterations stop at changes of 1e-5


def test_eight_devices_compute_what_numpy_computes(outputs):
    assert "8 devices, each with a tile of (16, 32); 8 exchanges in a step" in outputs("reaction_diffusion")
    u, v = (x.astype(float) for x in module("reaction_diffusion").start(64))
    for _ in range(50):
        def laplacian(x):
            return sum(np.roll(x, shift, axis) for shift in (1, -1) for axis in (0, 1)) - 4 * x

        reaction = u * v**2
        u, v = u + 0.16 * laplacian(u) - reaction + 0.037 * (1 - u), v + 0.08 * laplacian(v) + reaction - 0.097 * v
    np.testing.assert_allclose(numbers(outputs("reaction_diffusion").splitlines()[1]), [v.mean(), u.mean(), v.max()], atol=2e-4)


def test_wrong_labels_are_found(outputs):
    before, after, right, wrong = numbers(outputs("data_cleaning"))[:4]
    assert after > before and wrong < right - 0.2


def test_the_hypergradient_is_the_slope(outputs):
    """Along a direction the loss after training changes as the implicit derivative says; slopes in float32 are right to a few percent."""
    import laminax as lx
    import laminax.numpy as jnp

    example = module("data_cleaning")
    train, clean, _, _ = example.problem(0, 40, 0.3)
    start = jnp.zeros((65, 10))

    def outer(scores):
        return example.cross_entropy(example.minimum(scores, *train, start), *clean).mean()

    scores = jnp.zeros(40)
    gradient = np.asarray(lx.jit(lx.grad(outer))(scores), float)
    direction = (gradient / np.linalg.norm(gradient)).astype(np.float32)
    slope = (float(outer(scores + 0.1 * direction)) - float(outer(scores - 0.1 * direction))) / 0.2
    np.testing.assert_allclose(np.linalg.norm(gradient), slope, rtol=0.05)
