"""Classifies images of digits with a convolutional network of Flax and an optimiser of optax, which run on laminax.

    ./bazelw run //examples:flax_images -- --plot=/tmp/flax.png

`import laminax.experimental.as_jax` comes first: from then on whoever says `import jax`, as Flax and optax do, gets
laminax.
"""

import laminax.experimental.as_jax  # noqa: F401, I001

import flax.linen as nn
import laminax
import laminax.numpy as jnp
import numpy as np
import optax
from absl import app, flags
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

flags.DEFINE_integer("epochs", 15, "How often to go through the training images.", lower_bound=1)
flags.DEFINE_integer("batch_size", 64, "Images per training step.", lower_bound=1)
flags.DEFINE_integer("channels", 16, "Channels of the first convolution; the second has twice as many.", lower_bound=1)
flags.DEFINE_float("learning_rate", 3e-3, "The largest step size of adamw.", lower_bound=0.0)
flags.DEFINE_integer("seed", 0, "Seed of the weights, the order of the images and what dropout leaves out.")
flags.DEFINE_string("plot", None, "File to draw the learning curve and what the first layer sees to (PNG, PDF or SVG).")
FLAGS = flags.FLAGS


class Reader(nn.Module):
    """Two convolutions, each with normalisation over groups, and a layer for the ten digits."""
    channels: int

    @nn.compact
    def __call__(self, images, train):
        x = images[..., None]
        for number in range(2):
            x = nn.Conv(self.channels * 2**number, (3, 3), name=f"conv{number}")(x)
            x = nn.relu(nn.GroupNorm(num_groups=1)(x))
            self.sow("intermediates", f"features{number}", x)
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = nn.Dropout(0.3, deterministic=not train)(x.reshape(len(x), -1))
        return nn.Dense(10)(x)


def main(argv):
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, digits.target, test_size=0.25, random_state=FLAGS.seed, stratify=digits.target)
    model = Reader(FLAGS.channels)
    key = laminax.random.key(FLAGS.seed)
    params = model.init(key, images[:1], train=False)["params"]
    batches = len(train_images) // FLAGS.batch_size
    optimizer = optax.adamw(optax.cosine_decay_schedule(FLAGS.learning_rate, FLAGS.epochs * batches))
    state = optimizer.init(params)

    @laminax.jit
    def step(params, state, images, labels, key):
        def loss(params):
            scores = model.apply({"params": params}, images, train=True, rngs={"dropout": key})
            return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()

        value, grads = laminax.value_and_grad(loss)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    @laminax.jit
    def accuracy(params):
        return jnp.mean(model.apply({"params": params}, test_images, train=False).argmax(axis=-1) == test_labels)

    history = []
    for epoch_key in tqdm(laminax.random.split(key, FLAGS.epochs), unit="epoch"):
        order = np.asarray(laminax.random.permutation(epoch_key, len(train_images)))[:batches * FLAGS.batch_size].reshape(batches, -1)
        losses = []
        for number, batch in enumerate(order):
            params, state, value = step(params, state, train_images[batch], train_labels[batch], laminax.random.fold_in(epoch_key, number))
            losses.append(value)
        history.append((float(np.mean(losses)), float(accuracy(params))))
    print(f"test accuracy: {history[-1][1]:.4f} ({len(test_images)} images); loss of the last epoch {history[-1][0]:.4f}")
    if FLAGS.plot:
        _, features = model.apply({"params": params}, test_images[:1], train=False, mutable="intermediates")
        plot(FLAGS.plot, np.array(history), test_images[0], np.asarray(features["intermediates"]["features0"][0][0]))


def plot(path, history, image, features):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subfigures(1, 2)
    loss_axes = left.subplots()
    loss_axes.semilogy(history[:, 0], color="tab:blue")
    loss_axes.set(title="Learning curve", xlabel="epoch", ylabel="cross-entropy [nats per image]")
    accuracy_axes = loss_axes.twinx()
    accuracy_axes.plot(100 * history[:, 1], color="tab:orange")
    accuracy_axes.set_ylabel("test images read right [%]", color="tab:orange")
    right.suptitle("A test image, and seven channels of the first layer")
    for number, axes in enumerate(right.subplots(2, 4).flat):
        axes.imshow(image if number == 0 else features[..., number - 1], cmap="gray_r" if number == 0 else "viridis")
        axes.set_axis_off()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    app.run(main)
