"""Trains a small transformer to write documentation, one character after the other.

    ./bazelw run //examples:character_transformer -- --plot=/tmp/transformer.png

Its text are the docstrings of `laminax.numpy` and `laminax.lax`, which are there wherever laminax is. The layers are
equal and run as one `scan` over stacked parameters, so that depth costs no time to compile; `checkpoint` keeps only
what goes from layer to layer. At the end the program writes some text of its own, and draws which characters one
attention head looks at.
"""

import numpy as np
from absl import app, flags
from tqdm import tqdm

import laminax as lx
import laminax.numpy as jnp
from laminax import lax

flags.DEFINE_integer("steps", 600, "Training steps.", lower_bound=1)
flags.DEFINE_integer("batch_size", 16, "Pieces of text per step.", lower_bound=1)
flags.DEFINE_integer("context", 64, "Characters per piece.", lower_bound=2)
flags.DEFINE_integer("width", 96, "Numbers per character and layer; a multiple of the number of heads.", lower_bound=8)
flags.DEFINE_integer("layers", 3, "Blocks of attention and a small network.", lower_bound=1)
flags.DEFINE_integer("heads", 4, "Attention heads of a block.", lower_bound=1)
flags.DEFINE_float("learning_rate", 3e-3, "Adam's largest step size.", lower_bound=0.0)
flags.DEFINE_integer("length", 200, "Characters to write at the end.", lower_bound=0)
flags.DEFINE_integer("seed", 0, "Seed of everything random.")
flags.DEFINE_string("plot", None, "File to draw the learning curve and an attention map to (PNG, PDF or SVG).")
FLAGS = flags.FLAGS


def corpus():
    """The text, as numbers of characters, and the characters."""
    documents = {getattr(module, name).__doc__ for module in (lx.numpy, lx.lax) for name in dir(module) if callable(getattr(module, name))}
    text = "\n\n".join(sorted(d for d in documents if d and d.isascii() and "Args:" in d))
    characters = sorted(set(text))
    return np.searchsorted(characters, list(text)).astype(np.int32), characters


def init_params(key, characters, context, width, layers):
    keys = iter(lx.random.split(key, 6))

    def matrices(*shape):
        return lx.random.normal(next(keys), shape) * shape[-2] ** -0.5

    return {
        "embedding": 0.1 * lx.random.normal(next(keys), (characters, width)),
        "position": 0.1 * lx.random.normal(next(keys), (context, width)),
        "blocks": {"qkv": matrices(layers, width, 3 * width), "out": matrices(layers, width, width) / layers,
                   "up": matrices(layers, width, 4 * width), "down": matrices(layers, 4 * width, width) / layers},
    }


def attention(qkv, heads):
    """Each character takes of those before it, and of itself, what its query asks for: f32[time, width], f32[heads, time, time]."""
    q, k, v = (part.reshape(len(qkv), heads, -1).swapaxes(0, 1) for part in jnp.split(qkv, 3, axis=-1))
    scores = q @ k.swapaxes(1, 2) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.tri(len(qkv), dtype=bool), scores, -jnp.inf)
    weights = lx.nn.softmax(scores)
    return (weights @ v).swapaxes(0, 1).reshape(len(qkv), -1), weights


def logits(params, text, heads):
    """Scores of the next character after each of a piece of text, i32[time], and the attention of each layer."""
    def block(x, p):
        mixed, weights = attention(lx.nn.standardize(x) @ p["qkv"], heads)
        x = x + mixed @ p["out"]
        return x + lx.nn.gelu(lx.nn.standardize(x) @ p["up"]) @ p["down"], weights

    x = params["embedding"][text] + params["position"][:len(text)]
    x, weights = lax.scan(lx.checkpoint(block), x, params["blocks"])
    return lx.nn.standardize(x) @ params["embedding"].T * x.shape[-1] ** -0.5 * 4, weights


def loss(params, texts, heads):
    """The mean cross-entropy of the next character, in nats; texts: i32[batch, time + 1]."""
    scores, _ = lx.vmap(lambda text: logits(params, text, heads))(texts[:, :-1])
    return -jnp.take_along_axis(lx.nn.log_softmax(scores), texts[:, 1:, None], axis=-1).mean()


def adam(params, grads, state, rate, decay=0.9, square_decay=0.99):
    """One step of Adam (Kingma and Ba, ICLR 2015)."""
    step = state["step"] + 1
    mean = lx.tree.map(lambda m, g: decay * m + (1 - decay) * g, state["mean"], grads)
    square = lx.tree.map(lambda s, g: square_decay * s + (1 - square_decay) * g**2, state["square"], grads)
    scale = rate * jnp.sqrt(1 - square_decay**step) / (1 - decay**step)
    params = lx.tree.map(lambda p, m, s: p - scale * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
    return params, {"step": step, "mean": mean, "square": square}


def train(text, params, key):
    zeros = lx.tree.map(jnp.zeros_like, params)
    state, losses = {"step": jnp.zeros((), int), "mean": zeros, "square": zeros}, []
    text, count = jnp.asarray(text), len(text) - FLAGS.context - 1

    @lx.jit
    def step(params, state, key):
        begins = lx.random.randint(key, (FLAGS.batch_size,), 0, count)
        texts = lx.vmap(lambda begin: lax.dynamic_slice_in_dim(text, begin, FLAGS.context + 1))(begins)
        value, grads = lx.value_and_grad(loss)(params, texts, FLAGS.heads)
        rate = FLAGS.learning_rate * jnp.minimum(1.0, (state["step"] + 1) / 50)
        return *adam(params, grads, state, rate), value

    progress = tqdm(lx.random.split(key, FLAGS.steps), unit="step")
    for step_key in progress:
        params, state, value = step(params, state, step_key)
        losses.append(value)
        if len(losses) % 50 == 0:
            progress.set_postfix(loss=f"{value:.3f}", refresh=False)
    return params, np.asarray(lx.device_get(losses))


def write(params, begin, length, key):
    """Continues a text, drawing each character from its probabilities."""
    @lx.jit
    def following(window, filled, key):
        scores, _ = logits(params, window, FLAGS.heads)
        return lx.random.categorical(key, scores[filled - 1] / 0.7)

    text = list(begin)
    for character_key in lx.random.split(key, length):
        window = text[-FLAGS.context:]
        padded = np.array(window + [0] * (FLAGS.context - len(window)))
        text.append(int(following(padded, len(window), character_key)))
    return text


def plot(path, losses, weights, letters):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    left.plot(losses, color="tab:blue", lw=1)
    left.set(title="Learning curve", xlabel="step", ylabel="cross-entropy [nats per character]")
    left.grid(alpha=0.3)
    right.imshow(weights, cmap="Blues")
    right.set_title("What each character (row) looks at")
    for set_ticks in (right.set_xticks, right.set_yticks):
        set_ticks(range(len(letters)), letters, fontsize=7, family="monospace")
    figure.savefig(path, dpi=100)


def main(argv):
    text, characters = corpus()
    init_key, train_key, write_key = lx.random.split(lx.random.key(FLAGS.seed), 3)
    params = init_params(init_key, len(characters), FLAGS.context, FLAGS.width, FLAGS.layers)
    params, losses = train(text, params, train_key)
    print(f"{len(text)} characters, {len(characters)} different ones")
    print(f"loss of the last steps: {losses[-20:].mean():.3f} nats per character, {np.log(len(characters)):.3f} by guessing")
    written = write(params, text[:20].tolist(), FLAGS.length, write_key)
    print("".join(characters[c] for c in written))
    if FLAGS.plot:
        begin = int(np.argmax(text == characters.index("A"))) if "A" in characters else 0
        piece = text[begin:begin + min(28, FLAGS.context)]
        _, weights = lx.jit(logits, static_argnums=2)(params, piece, FLAGS.heads)
        sharpest = np.asarray(weights[-1]).max(axis=-1).mean(axis=-1).argmax()
        plot(FLAGS.plot, losses, np.asarray(weights[-1, sharpest]), ["\\n" if characters[c] == "\n" else characters[c] for c in piece])


if __name__ == "__main__":
    app.run(main)
