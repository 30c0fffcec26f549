"""Trains a small network to read handwritten digits, and shows the test images that surprise it most.

    ./bazelw run //examples:train_digits -- --plot=/tmp/digits.png

The data are the 1797 scanned digits of 8 by 8 pixels that come with scikit-learn. The loss is written for one image;
`vmap` makes it the loss of a batch, `value_and_grad` differentiates it, `jit` compiles the training step, and at the end
`vmap(grad(...))` gives the gradient of each single test image: where it is long, the network would have to change most
to get the image right.
"""

import numpy as np
from absl import app, flags
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import laminax as lx
import laminax.numpy as jnp

flags.DEFINE_integer("epochs", 25, "How often to go through the training images.", lower_bound=1)
flags.DEFINE_integer("batch_size", 64, "Images per training step.", lower_bound=1)
flags.DEFINE_multi_integer("hidden", [128, 64], "Size of a hidden layer; give it once per layer.")
flags.DEFINE_float("learning_rate", 2e-3, "Adam's step size.", lower_bound=0.0)
flags.DEFINE_integer("seed", 0, "Seed of the weights, the order of the images, and the choice of the test images.")
flags.DEFINE_string("plot", None, "File to draw the learning curve and the most surprising test images to (PNG, PDF or SVG).")
FLAGS = flags.FLAGS


# The model


def init_params(key, sizes):
    """Random weights and zero biases of a multilayer perceptron; `sizes` are those of its layers, input included."""
    keys = lx.random.split(key, len(sizes) - 1)
    return [
        {"weights": lx.random.normal(k, (m, n)) * np.sqrt(2 / m), "biases": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:])
    ]


def logits(params, image):
    """Scores of the ten digits, for one image (a vector of 64 pixels) or several (one per row)."""
    *hidden, last = params
    x = image
    for layer in hidden:
        x = lx.nn.relu(x @ layer["weights"] + layer["biases"])
    return x @ last["weights"] + last["biases"]


def loss(params, image, label):
    """The cross-entropy of one image: minus the logarithm of the probability given to the right digit, in nats."""
    return -lx.nn.log_softmax(logits(params, image))[label]


def batch_loss(params, images, labels):
    return jnp.mean(lx.vmap(loss, in_axes=(None, 0, 0))(params, images, labels))


# Training


def init_adam(params):
    zeros = lx.tree.map(jnp.zeros_like, params)
    return {"step": 0, "mean": zeros, "square": zeros}


def adam(params, grads, state, learning_rate, decay=0.9, square_decay=0.999, epsilon=1e-8):
    """One step of Adam (Kingma and Ba, ICLR 2015, algorithm 1): the new parameters and the new state."""
    step = state["step"] + 1
    mean = lx.tree.map(lambda m, g: decay * m + (1 - decay) * g, state["mean"], grads)
    square = lx.tree.map(lambda s, g: square_decay * s + (1 - square_decay) * g**2, state["square"], grads)

    def update(p, m, s):
        m_unbiased, s_unbiased = m / (1 - decay**step), s / (1 - square_decay**step)
        return p - learning_rate * m_unbiased / (jnp.sqrt(s_unbiased) + epsilon)

    return lx.tree.map(update, params, mean, square), {"step": step, "mean": mean, "square": square}


@lx.jit
def train_step(params, state, images, labels, learning_rate):
    value, grads = lx.value_and_grad(batch_loss)(params, images, labels)
    return *adam(params, grads, state, learning_rate), value


@lx.jit
def predict(params, images):
    """The digit with the highest score, for each image."""
    return jnp.argmax(logits(params, images), axis=-1)


@lx.jit
def evaluate(params, images, labels):
    """The mean loss, and the share of the images that are read right."""
    return batch_loss(params, images, labels), jnp.mean(predict(params, images) == labels)


def minibatches(key, count, size):
    """The numbers below `count` in random order, in rows of `size`; the rest that fills no row is left out."""
    order = np.asarray(lx.random.permutation(key, count))
    return order[: count // size * size].reshape(-1, size)


def train(key, train_data, test_data, *, hidden, epochs, batch_size, learning_rate):
    """Trains a network; returns its parameters, and what was measured in each epoch."""
    images, labels = train_data
    batch_size = min(batch_size, len(images))
    init_key, order_key = lx.random.split(key)
    params = init_params(init_key, [images.shape[1], *hidden, 10])
    state = init_adam(params)
    history = {"train_loss": [], "test_loss": [], "test_accuracy": []}
    progress = tqdm(lx.random.split(order_key, epochs), unit="epoch")
    for epoch_key in progress:
        losses = []
        for batch in minibatches(epoch_key, len(images), batch_size):
            params, state, value = train_step(params, state, images[batch], labels[batch], learning_rate)
            losses.append(value)
        test_loss, test_accuracy = evaluate(params, *test_data)
        history["train_loss"].append(np.mean(losses))
        history["test_loss"].append(float(test_loss))
        history["test_accuracy"].append(float(test_accuracy))
        progress.set_postfix(loss=f"{history['train_loss'][-1]:.4f}", test_accuracy=f"{test_accuracy:.3f}", refresh=False)
    return params, history


# What surprises the network


@lx.jit
def gradient_norms(params, images, labels):
    """The length of each image's own gradient: how strongly it alone would pull at the parameters."""
    grads = lx.vmap(lx.grad(loss), in_axes=(None, 0, 0))(params, images, labels)
    return jnp.sqrt(sum(jnp.sum(g**2, axis=tuple(range(1, g.ndim))) for g in lx.tree.leaves(grads)))


def plot(path, history, images, labels, predictions, norms):
    """Draws the learning curve, and the given images with what the network made of them."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(12, 5.5), layout="constrained")
    curves, gallery = figure.subfigures(1, 2, width_ratios=[1, 1.15])
    curves.suptitle("Learning curve")
    above, below = curves.subplots(2, 1, sharex=True)
    epochs = np.arange(1, len(history["train_loss"]) + 1)
    above.semilogy(epochs, history["train_loss"], label="training images, mean over the epoch")
    above.semilogy(epochs, history["test_loss"], label="test images, after the epoch")
    above.set_ylabel("cross-entropy [nats per image]")
    above.legend()
    below.plot(epochs, 100 * np.asarray(history["test_accuracy"]), color="tab:orange")
    below.set_ylabel("test images read right [%]")
    below.set_xlabel("epoch")
    for axes in (above, below):
        axes.grid(alpha=0.3)

    gallery.suptitle("The most surprising test images: the digit, and what the network read")
    for axes, image, label, prediction, norm in zip(gallery.subplots(3, 4).flat, images, labels, predictions, norms):
        axes.imshow(image.reshape(8, 8), cmap="gray_r")
        axes.set_title(f"{label} read as {prediction}", color="black" if label == prediction else "tab:red")
        axes.set_xlabel(f"gradient norm {norm:.1f}")
        axes.set_xticks([])
        axes.set_yticks([])
    figure.savefig(path, dpi=150)


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"unexpected arguments: {' '.join(argv[1:])}")
    digits = load_digits()
    images = (digits.data / 16).astype(np.float32)  # pixels are 0 to 16
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, digits.target, test_size=0.25, random_state=FLAGS.seed, stratify=digits.target)

    params, history = train(
        lx.random.key(FLAGS.seed), (train_images, train_labels), (test_images, test_labels), hidden=FLAGS.hidden,
        epochs=FLAGS.epochs, batch_size=FLAGS.batch_size, learning_rate=FLAGS.learning_rate)
    print(f"test accuracy: {history['test_accuracy'][-1]:.4f} ({len(test_images)} images)")

    norms = np.asarray(gradient_norms(params, test_images, test_labels))
    predictions = np.asarray(predict(params, test_images))
    most = np.argsort(norms)[::-1][:12]
    print("most surprising test images, by the norm of their gradient:")
    for i in most:
        print(f"  image {i:3}: a {test_labels[i]}, read as {predictions[i]}, gradient norm {norms[i]:.1f}")
    if FLAGS.plot:
        plot(FLAGS.plot, history, test_images[most], test_labels[most], predictions[most], norms[most])
        print(f"drawn to {FLAGS.plot}")


if __name__ == "__main__":
    app.run(main)
