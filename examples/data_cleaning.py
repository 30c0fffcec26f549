"""Finds wrong labels by bilevel optimisation: how much should each training image count, so that the model it makes
reads other images well?

    ./bazelw run //examples:data_cleaning -- --plot=/tmp/cleaning.png

Inside, a linear classifier of digits is trained on weighted images to its minimum, by Newton's method with conjugate
gradients. Outside, the weights descend the loss on a small clean set. The minimum is differentiated by the implicit
function theorem: one linear system in the Hessian of the inner loss, whose products are `jvp` of `grad` (Pedregosa,
"Hyperparameter optimization with approximate gradient", ICML 2016). Images with wrong labels end with little weight.
"""

import numpy as np
from absl import app, flags
from sklearn.datasets import load_digits
from tqdm import tqdm

import laminax as lx
import laminax.numpy as jnp
from laminax import lax
from laminax.scipy.sparse.linalg import cg

flags.DEFINE_integer("steps", 60, "Outer steps.", lower_bound=1)
flags.DEFINE_integer("images", 400, "Training images.", lower_bound=10)
flags.DEFINE_float("wrong", 0.4, "The share of them that get a wrong label.", lower_bound=0.0, upper_bound=1.0)
flags.DEFINE_float("rate", 0.2, "Step size of Adam on the scores of the images.", lower_bound=0.0)
flags.DEFINE_integer("seed", 0, "Seed of the choice of images and labels.")
flags.DEFINE_string("plot", None, "File to draw the weights to (PNG, PDF or SVG).")
FLAGS = flags.FLAGS

RIDGE = 1e-2


def cross_entropy(theta, images, labels):
    """Of each image, in nats; theta: f32[pixels + 1, digits]."""
    scores = images @ theta[:-1] + theta[-1]
    return -jnp.take_along_axis(lx.nn.log_softmax(scores), labels[:, None], axis=1)[:, 0]


def inner_loss(theta, scores, images, labels):
    """Convex in theta: a weighted mean, each weight in (0, 1), and a ridge."""
    weights = lx.nn.sigmoid(scores)
    return jnp.mean(weights * cross_entropy(theta, images, labels)) + RIDGE * jnp.sum(theta**2) / 2


def hessian_solve(theta, right, *data):
    """H⁻¹ right, with H the Hessian of the inner loss at theta, which is never made."""
    gradient = lx.grad(inner_loss)
    return cg(lambda v: lx.jvp(lambda theta: gradient(theta, *data), (theta,), (v,))[1], right, maxiter=40, tol=1e-4)[0]


@lx.custom_vjp
def minimum(scores, images, labels, start):
    """The theta that minimises the inner loss."""
    def newton(_, theta):
        direction = hessian_solve(theta, lx.grad(inner_loss)(theta, scores, images, labels), scores, images, labels)
        return theta - direction

    return lax.fori_loop(0, 6, newton, start)


def _forward(scores, images, labels, start):
    theta = minimum(scores, images, labels, start)
    return theta, (theta, scores, images, labels)


def _backward(residuals, ct):
    """At the minimum the gradient is 0 for all scores: d theta / d scores = -H⁻¹ d(gradient) / d(scores)."""
    theta, scores, images, labels = residuals
    solved = hessian_solve(theta, ct, scores, images, labels)
    _, of_scores = lx.vjp(lambda scores: lx.grad(inner_loss)(theta, scores, images, labels), scores)
    return -of_scores(solved)[0], jnp.zeros_like(images), np.zeros(labels.shape, lx.float0), jnp.zeros_like(theta)


minimum.defvjp(_forward, _backward)


@lx.jit
def step(scores, state, start, train, clean, rate):
    """A step of Adam on the scores; returns the new minimum as well, from where the next search begins."""
    def outer_loss(scores):
        theta = minimum(scores, *train, start)
        return cross_entropy(theta, *clean).mean(), theta

    (value, theta), gradient = lx.value_and_grad(outer_loss, has_aux=True)(scores)
    count = state["step"] + 1
    mean, square = 0.9 * state["mean"] + 0.1 * gradient, 0.99 * state["square"] + 0.01 * gradient**2
    scale = rate * jnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
    return scores - scale * mean / (jnp.sqrt(square) + 1e-12), {"step": count, "mean": mean, "square": square}, theta, value


def problem(seed, count, share):
    """Training images of which a share has a wrong label (the mask says which), a clean set of 200, and test images."""
    digits, rng = load_digits(), np.random.default_rng(seed)
    images, order = (digits.data / 16).astype(np.float32), rng.permutation(len(digits.target))
    train, clean, test = np.split(order, [count, count + 200])
    labels, wrong = digits.target.astype(np.int32), rng.uniform(size=count) < share
    given = np.where(wrong, (labels[train] + rng.integers(1, 10, count)) % 10, labels[train]).astype(np.int32)
    return (images[train], given), (images[clean], labels[clean]), (images[test], labels[test]), wrong


def accuracy(theta, images, labels):
    return float(jnp.mean((images @ theta[:-1] + theta[-1]).argmax(axis=1) == labels))


def plot(path, weights, wrong, losses):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.hist([weights[~wrong], weights[wrong]], bins=20, range=(0, 1), stacked=True, color=["tab:blue", "tab:red"],
              label=["right label", "wrong label"])
    left.set(title="What each training image counts", xlabel="weight", ylabel="images")
    left.legend()
    right.plot(losses, color="tab:blue")
    right.set(title="Outer loss", xlabel="outer step", ylabel="cross-entropy of the clean set [nats]")
    right.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main(argv):
    train, clean, test, wrong = problem(FLAGS.seed, FLAGS.images, FLAGS.wrong)
    scores = jnp.zeros(FLAGS.images)
    state = {"step": jnp.zeros((), int), "mean": jnp.zeros_like(scores), "square": jnp.zeros_like(scores)}
    theta = jnp.zeros((train[0].shape[1] + 1, 10))
    first, losses = None, []
    for _ in tqdm(range(FLAGS.steps), unit="step"):
        scores, state, theta, value = step(scores, state, theta, train, clean, FLAGS.rate)
        first = theta if first is None else first
        losses.append(float(value))
    weights = np.asarray(lx.nn.sigmoid(scores))
    print(f"test accuracy: {accuracy(first, *test):.3f} when all images count the same, "
          f"{accuracy(theta, *test):.3f} with the weights that were found")
    if wrong.any() and not wrong.all():
        found = np.mean(weights[wrong][:, None] < weights[~wrong])
        print(f"mean weight: {weights[~wrong].mean():.3f} of right labels, {weights[wrong].mean():.3f} of wrong ones; "
              f"in {found:.1%} of the pairs the wrong one has less")
    if FLAGS.plot:
        plot(FLAGS.plot, weights, wrong, losses)


if __name__ == "__main__":
    app.run(main)
