"""Initial values and results of layers as Flax's, which were recorded with flax 0.12.12 under jax 0.12.0.1.

Of each array one number was recorded, the sum of its elements times the cosines of 1, 2, ..., to which all elements and their
order contribute.
"""

from __future__ import annotations

import numpy as np
import pytest

import laminax as lx
from laminax import linen as nn
from laminax import numpy as jnp


def inputs(*shapes):
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.normal(size=shape).astype(np.float32)) for shape in shapes]


SEQUENCE, IMAGE, MATRIX, TENSOR = (3, 6, 4), (2, 8, 8, 4), (4, 5), (2, 4, 6)
INITS = nn.initializers
EVAL, STATS = {"use_running_average": False}, {"mutable": ["batch_stats"]}
LENGTHS = np.array([3, 6, 1])

# for each name: the layer, the shapes of the inputs, and keyword arguments of `init` and `apply`
CASES = {
    "dense": (lambda: nn.Dense(7), [MATRIX]),
    "dense_bfloat16": (lambda: nn.Dense(3, dtype=jnp.bfloat16, bias_init=INITS.normal()), [MATRIX]),
    "dense_half_parameters": (lambda: nn.Dense(3, param_dtype=jnp.float16, use_bias=False, kernel_init=INITS.xavier_uniform()), [MATRIX]),
    "dense_general": (lambda: nn.DenseGeneral((3, 2), axis=(1, -1), bias_init=INITS.normal()), [TENSOR]),
    "dense_general_batch": (lambda: nn.DenseGeneral(3, batch_dims=(0,), bias_init=INITS.normal()), [TENSOR]),
    "einsum": (lambda: nn.Einsum((6, 3, 5), "abc,cde->abde", bias_init=INITS.normal()), [TENSOR]),
    "conv": (lambda: nn.Conv(8, (3, 3), strides=2, bias_init=INITS.normal()), [IMAGE]),
    "conv_circular": (lambda: nn.Conv(8, (3, 4), padding="CIRCULAR"), [IMAGE]),
    "conv_causal": (lambda: nn.Conv(5, 3, padding="CAUSAL", kernel_dilation=2), [SEQUENCE]),
    "conv_groups": (lambda: nn.Conv(8, (3, 3), feature_group_count=2, padding=(1, (2, 0))), [IMAGE]),
    "conv_local": (lambda: nn.ConvLocal(5, (3,), padding="VALID", bias_init=INITS.normal()), [SEQUENCE]),
    "conv_transpose": (lambda: nn.ConvTranspose(5, (3, 3), strides=(2, 2)), [IMAGE]),
    "conv_transpose_circular": (lambda: nn.ConvTranspose(5, (6, 6), strides=(2, 2), padding="CIRCULAR", transpose_kernel=True), [IMAGE]),
    "layer_norm": (lambda: nn.LayerNorm(scale_init=INITS.normal(1.0), bias_init=INITS.normal()), [IMAGE]),
    "layer_norm_axes": (lambda: nn.LayerNorm(reduction_axes=(1, 2), feature_axes=(2, -1), use_fast_variance=False), [IMAGE]),
    "rms_norm": (lambda: nn.RMSNorm(scale_init=INITS.normal(1.0)), [IMAGE]),
    "group_norm": (lambda: nn.GroupNorm(num_groups=2), [IMAGE]),
    "instance_norm": (lambda: nn.InstanceNorm(dtype=jnp.bfloat16), [IMAGE]),
    "batch_norm": (lambda: nn.BatchNorm(momentum=0.9, scale_init=INITS.normal(1.0)), [IMAGE], EVAL, {**EVAL, **STATS}),
    "batch_norm_eval": (lambda: nn.BatchNorm(use_running_average=True), [IMAGE]),
    "spectral_norm": (lambda: nn.SpectralNorm(nn.Dense(6)), [TENSOR], {"update_stats": False}, {"update_stats": True, **STATS}),
    "weight_norm": (lambda: nn.WeightNorm(nn.Dense(6), scale_init=INITS.normal()), [TENSOR]),
    "dropout": (lambda: nn.Dropout(0.3, broadcast_dims=(1,)), [IMAGE], {"deterministic": True},
                {"deterministic": False, "rngs": {"dropout": lx.random.key(5)}}),
    "prelu": (lambda: nn.PReLU(), [MATRIX]),
    "attention": (lambda: nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8), [SEQUENCE, (3, 7, 4)]),
    "attention_options": (lambda: nn.MultiHeadAttention(
        num_heads=2, normalize_qk=True, dropout_rate=0.3, deterministic=False, out_kernel_init=INITS.normal(), use_bias=False,
        out_features=5), [SEQUENCE], {"rngs": {"params": lx.random.key(0), "dropout": lx.random.key(1)}},
        {"rngs": {"dropout": lx.random.key(4)}}),
    "lstm_cell": (lambda: nn.LSTMCell(5, bias_init=INITS.normal()), [((3, 5), (3, 5)), (3, 4)]),
    "optimized_lstm_cell": (lambda: nn.OptimizedLSTMCell(5, bias_init=INITS.normal()), [((3, 5), (3, 5)), (3, 4)]),
    "gru_cell": (lambda: nn.GRUCell(5, bias_init=INITS.normal()), [(3, 5), (3, 4)]),
    "mgu_cell": (lambda: nn.MGUCell(5), [(3, 5), (3, 4)]),
    "simple_cell": (lambda: nn.SimpleCell(5, residual=True), [(3, 5), (3, 4)]),
    "conv_lstm_cell": (lambda: nn.ConvLSTMCell(2, (3, 3)), [((2, 6, 6, 2), (2, 6, 6, 2)), (2, 6, 6, 3)]),
    "rnn": (lambda: nn.RNN(nn.LSTMCell(5)), [SEQUENCE], {}, {"return_carry": True, "seq_lengths": LENGTHS, "reverse": True}),
    "bidirectional": (lambda: nn.Bidirectional(nn.RNN(nn.GRUCell(5)), nn.RNN(nn.OptimizedLSTMCell(5))), [SEQUENCE], {},
                      {"seq_lengths": LENGTHS}),
    "sequential": (lambda: nn.Sequential([nn.Dense(6), nn.relu, nn.Sequential([nn.Dense(3), nn.gelu])]), [MATRIX]),
}


def drawn(shapes):
    """Arrays in the place of shapes; a tuple of shapes is a tuple of arrays."""
    flat = iter(inputs(*[shape for group in shapes for shape in (group if isinstance(group[0], tuple) else [group])]))
    return [tuple(next(flat) for _ in group) if isinstance(group[0], tuple) else next(flat) for group in shapes]


def leaves(tree, path=""):
    if hasattr(tree, "items"):
        return {k: v for key, value in tree.items() for k, v in leaves(value, f"{path}/{key}").items()}
    if isinstance(tree, (tuple, list)):
        return {k: v for i, value in enumerate(tree) for k, v in leaves(value, f"{path}/{i}").items()}
    return {path: np.asarray(tree)}


def fingerprint(x):
    return float(np.sum(x.astype(np.float64).ravel() * np.cos(np.arange(1, x.size + 1))))


def computed(name):
    make, shapes, *options = CASES[name]
    at_init, at_apply = options or ({}, {})
    args = drawn(shapes)
    at_init = dict(at_init)
    variables = make().init(at_init.pop("rngs", lx.random.key(42)), *args, **at_init)
    return leaves({"init": variables, "apply": make().apply(variables, *args, **at_apply)})


RECORDED = {
    "dense": {
        "/init/params/kernel": ((5, 7), "float32", -2.507939), "/init/params/bias": ((7,), "float32", 0),
        "/apply": ((4, 7), "float32", 0.5437096),},
    "dense_bfloat16": {
        "/init/params/kernel": ((5, 3), "float32", -1.983459), "/init/params/bias": ((3,), "float32", 0.01111486),
        "/apply": ((4, 3), "bfloat16", 4.907134),},
    "dense_half_parameters": {
        "/init/params/kernel": ((5, 3), "float16", 1.63404), "/apply": ((4, 3), "float32", -0.6515205),},
    "dense_general": {
        "/init/params/kernel": ((4, 6, 3, 2), "float32", -0.5343122), "/init/params/bias": ((3, 2), "float32", -0.01519039),
        "/apply": ((2, 3, 2), "float32", -3.678375),},
    "dense_general_batch": {
        "/init/params/kernel": ((2, 6, 3), "float32", -1.59415), "/init/params/bias": ((2, 3), "float32", -0.01519039),
        "/apply": ((2, 4, 3), "float32", 2.010244),},
    "einsum": {
        "/init/params/kernel": ((6, 3, 5), "float32", -1.458142), "/init/params/bias": ((3, 5), "float32", 0.03037154),
        "/apply": ((2, 4, 3, 5), "float32", 1.212003),},
    "conv": {
        "/init/params/kernel": ((3, 3, 4, 8), "float32", -0.711054), "/init/params/bias": ((8,), "float32", -0.02058239),
        "/apply": ((2, 4, 4, 8), "float32", 16.96303),},
    "conv_circular": {
        "/init/params/kernel": ((3, 4, 4, 8), "float32", -1.778931), "/init/params/bias": ((8,), "float32", 0),
        "/apply": ((2, 8, 8, 8), "float32", -31.81586),},
    "conv_causal": {
        "/init/params/kernel": ((3, 4, 5), "float32", -1.110172), "/init/params/bias": ((5,), "float32", 0),
        "/apply": ((3, 6, 5), "float32", -7.110647),},
    "conv_groups": {
        "/init/params/kernel": ((3, 3, 2, 8), "float32", -0.6169705), "/init/params/bias": ((8,), "float32", 0),
        "/apply": ((2, 8, 8, 8), "float32", -20.74976),},
    "conv_local": {
        "/init/params/kernel": ((4, 12, 5), "float32", -0.1608022), "/init/params/bias": ((4, 5), "float32", 0.01522696),
        "/apply": ((3, 4, 5), "float32", -4.197756),},
    "conv_transpose": {
        "/init/params/kernel": ((3, 3, 4, 5), "float32", 0.608698), "/init/params/bias": ((5,), "float32", 0),
        "/apply": ((2, 16, 16, 5), "float32", -14.38924),},
    "conv_transpose_circular": {
        "/init/params/kernel": ((6, 6, 5, 4), "float32", -2.028635), "/init/params/bias": ((5,), "float32", 0),
        "/apply": ((2, 16, 16, 5), "float32", 26.10368),},
    "layer_norm": {
        "/init/params/scale": ((4,), "float32", -0.257272), "/init/params/bias": ((4,), "float32", -0.0005696165),
        "/apply": ((2, 8, 8, 4), "float32", -19.10798),},
    "layer_norm_axes": {
        "/init/params/scale": ((8, 4), "float32", 0.4218016), "/init/params/bias": ((8, 4), "float32", 0),
        "/apply": ((2, 8, 8, 4), "float32", 8.49367),},
    "rms_norm": {
        "/init/params/scale": ((4,), "float32", -0.257272), "/apply": ((2, 8, 8, 4), "float32", -14.77364),},
    "group_norm": {
        "/init/params/scale": ((4,), "float32", -1.519481), "/init/params/bias": ((4,), "float32", 0),
        "/apply": ((2, 8, 8, 4), "float32", 8.587471),},
    "instance_norm": {
        "/init/params/scale": ((4,), "float32", -1.519481), "/init/params/bias": ((4,), "float32", 0),
        "/apply": ((2, 8, 8, 4), "bfloat16", 8.501144),},
    "batch_norm": {
        "/init/batch_stats/mean": ((4,), "float32", 0), "/init/batch_stats/var": ((4,), "float32", -1.519481),
        "/init/params/scale": ((4,), "float32", -0.257272), "/init/params/bias": ((4,), "float32", 0),
        "/apply/0": ((2, 8, 8, 4), "float32", -12.61615), "/apply/1/batch_stats/mean": ((4,), "float32", 0.01411004),
        "/apply/1/batch_stats/var": ((4,), "float32", -1.539909),},
    "batch_norm_eval": {
        "/init/batch_stats/mean": ((4,), "float32", 0), "/init/batch_stats/var": ((4,), "float32", -1.519481),
        "/init/params/scale": ((4,), "float32", -1.519481), "/init/params/bias": ((4,), "float32", 0),
        "/apply": ((2, 8, 8, 4), "float32", 8.702974),},
    "spectral_norm": {
        "/init/batch_stats/layer_instance/kernel/u": ((1, 6), "float32", 0.3976837),
        "/init/batch_stats/layer_instance/kernel/sigma": ((), "float32", 0.5403023),
        "/init/params/layer_instance/bias": ((6,), "float32", 0), "/init/params/layer_instance/kernel": ((6, 6), "float32", -1.575535),
        "/apply/0": ((2, 4, 6), "float32", -0.607705), "/apply/1/batch_stats/layer_instance/kernel/u": ((1, 6), "float32", 0.1391295),
        "/apply/1/batch_stats/layer_instance/kernel/sigma": ((), "float32", 0.5403024),},
    "weight_norm": {
        "/init/params/layer_instance/kernel/scale": ((6,), "float32", 0.003976837),
        "/init/params/layer_instance/bias": ((6,), "float32", 0), "/init/params/layer_instance/kernel": ((6, 6), "float32", -0.007927658),
        "/apply": ((2, 4, 6), "float32", 0.006328854),},
    "dropout": {
        "/apply": ((2, 8, 8, 4), "float32", 3.936489),},
    "prelu": {
        "/init/params/negative_slope": ((), "float32", 0.005403023), "/apply": ((4, 5), "float32", 1.435639),},
    "attention": {
        "/init/params/query/kernel": ((4, 2, 4), "float32", -0.5337841), "/init/params/query/bias": ((2, 4), "float32", 0),
        "/init/params/key/kernel": ((4, 2, 4), "float32", 3.5392), "/init/params/key/bias": ((2, 4), "float32", 0),
        "/init/params/value/kernel": ((4, 2, 4), "float32", -2.142128), "/init/params/value/bias": ((2, 4), "float32", 0),
        "/init/params/out/kernel": ((2, 4, 4), "float32", 0.1155017), "/init/params/out/bias": ((4,), "float32", 0),
        "/apply": ((3, 6, 4), "float32", 3.438256),},
    "attention_options": {
        "/init/params/query/kernel": ((4, 2, 2), "float32", 0.6494007), "/init/params/key/kernel": ((4, 2, 2), "float32", 1.805384),
        "/init/params/value/kernel": ((4, 2, 2), "float32", -0.8716621), "/init/params/query_ln/scale": ((2,), "float32", 0.1241555),
        "/init/params/key_ln/scale": ((2,), "float32", 0.1241555), "/init/params/out/kernel": ((2, 2, 5), "float32", 0.004049972),
        "/apply": ((3, 6, 5), "float32", 0.2259697),},
    "lstm_cell": {
        "/init/params/ii/kernel": ((4, 5), "float32", 1.920146), "/init/params/hi/kernel": ((5, 5), "float32", 0.8824495),
        "/init/params/hi/bias": ((5,), "float32", -7.809548e-05), "/init/params/if/kernel": ((4, 5), "float32", 0.01344227),
        "/init/params/hf/kernel": ((5, 5), "float32", 3.328399), "/init/params/hf/bias": ((5,), "float32", -0.008124063),
        "/init/params/ig/kernel": ((4, 5), "float32", -0.6739704), "/init/params/hg/kernel": ((5, 5), "float32", -1.161009),
        "/init/params/hg/bias": ((5,), "float32", -0.009153069), "/init/params/io/kernel": ((4, 5), "float32", -0.06337049),
        "/init/params/ho/kernel": ((5, 5), "float32", 1.955269), "/init/params/ho/bias": ((5,), "float32", -0.001744564),
        "/apply/0/0": ((3, 5), "float32", -0.1811416), "/apply/0/1": ((3, 5), "float32", 0.08717844),
        "/apply/1": ((3, 5), "float32", 0.08717844),},
    "optimized_lstm_cell": {
        "/init/params/ii/kernel": ((4, 5), "float32", 1.920146), "/init/params/hi/kernel": ((5, 5), "float32", 0.8824495),
        "/init/params/hi/bias": ((5,), "float32", -7.809548e-05), "/init/params/if/kernel": ((4, 5), "float32", 0.01344227),
        "/init/params/hf/kernel": ((5, 5), "float32", 3.328399), "/init/params/hf/bias": ((5,), "float32", -0.008124063),
        "/init/params/ig/kernel": ((4, 5), "float32", -0.6739704), "/init/params/hg/kernel": ((5, 5), "float32", -1.161009),
        "/init/params/hg/bias": ((5,), "float32", -0.009153069), "/init/params/io/kernel": ((4, 5), "float32", -0.06337049),
        "/init/params/ho/kernel": ((5, 5), "float32", 1.955269), "/init/params/ho/bias": ((5,), "float32", -0.001744564),
        "/apply/0/0": ((3, 5), "float32", -0.1811416), "/apply/0/1": ((3, 5), "float32", 0.08717844),
        "/apply/1": ((3, 5), "float32", 0.08717844),},
    "gru_cell": {
        "/init/params/ir/kernel": ((4, 5), "float32", 2.516236), "/init/params/ir/bias": ((5,), "float32", -0.0154288),
        "/init/params/hr/kernel": ((5, 5), "float32", 0.5897771), "/init/params/iz/kernel": ((4, 5), "float32", 1.648026),
        "/init/params/iz/bias": ((5,), "float32", -0.002529276), "/init/params/hz/kernel": ((5, 5), "float32", -0.9291629),
        "/init/params/in/kernel": ((4, 5), "float32", 2.947099), "/init/params/in/bias": ((5,), "float32", -0.0003297534),
        "/init/params/hn/kernel": ((5, 5), "float32", -2.488762), "/init/params/hn/bias": ((5,), "float32", -0.008544948),
        "/apply/0": ((3, 5), "float32", 1.216006), "/apply/1": ((3, 5), "float32", 1.216006),},
    "mgu_cell": {
        "/init/params/if/kernel": ((4, 5), "float32", 0.01344227), "/init/params/if/bias": ((5,), "float32", -1.235818),
        "/init/params/hf/kernel": ((5, 5), "float32", 3.328399), "/init/params/hn/kernel": ((5, 5), "float32", -2.488762),
        "/init/params/hn/bias": ((5,), "float32", 0), "/init/params/in/kernel": ((4, 5), "float32", 2.947099),
        "/init/params/in/bias": ((5,), "float32", 0), "/apply/0": ((3, 5), "float32", 1.372448),
        "/apply/1": ((3, 5), "float32", 1.372448),},
    "simple_cell": {
        "/init/params/i/kernel": ((4, 5), "float32", 0.7739534), "/init/params/i/bias": ((5,), "float32", 0),
        "/init/params/h/kernel": ((5, 5), "float32", -2.562569), "/apply/0": ((3, 5), "float32", -0.6450317),
        "/apply/1": ((3, 5), "float32", -0.6450317),},
    "conv_lstm_cell": {
        "/init/params/ih/kernel": ((3, 3, 3, 8), "float32", -2.081867), "/init/params/ih/bias": ((8,), "float32", 0),
        "/init/params/hh/kernel": ((3, 3, 2, 8), "float32", -1.221235), "/init/params/hh/bias": ((8,), "float32", 0),
        "/apply/0/0": ((2, 6, 6, 2), "float32", 0.4318649), "/apply/0/1": ((2, 6, 6, 2), "float32", -0.5801766),
        "/apply/1": ((2, 6, 6, 2), "float32", -0.5801766),},
    "rnn": {
        "/init/params/cell/hf/bias": ((5,), "float32", 0), "/init/params/cell/hf/kernel": ((5, 5), "float32", -0.5601557),
        "/init/params/cell/hg/bias": ((5,), "float32", 0), "/init/params/cell/hg/kernel": ((5, 5), "float32", 0.4462467),
        "/init/params/cell/hi/bias": ((5,), "float32", 0), "/init/params/cell/hi/kernel": ((5, 5), "float32", 0.5344785),
        "/init/params/cell/ho/bias": ((5,), "float32", 0), "/init/params/cell/ho/kernel": ((5, 5), "float32", -0.4957677),
        "/init/params/cell/if/kernel": ((4, 5), "float32", -0.5189301), "/init/params/cell/ig/kernel": ((4, 5), "float32", 1.795867),
        "/init/params/cell/ii/kernel": ((4, 5), "float32", 3.179625), "/init/params/cell/io/kernel": ((4, 5), "float32", 0.8644813),
        "/apply/0/0": ((3, 5), "float32", 0.9128015), "/apply/0/1": ((3, 5), "float32", 0.4680274),
        "/apply/1": ((3, 6, 5), "float32", -0.6711802),},
    "bidirectional": {
        "/init/params/forward_rnn/cell/hn/bias": ((5,), "float32", 0),
        "/init/params/forward_rnn/cell/hn/kernel": ((5, 5), "float32", -0.3080565),
        "/init/params/forward_rnn/cell/hr/kernel": ((5, 5), "float32", -0.1287945),
        "/init/params/forward_rnn/cell/hz/kernel": ((5, 5), "float32", -1.653396),
        "/init/params/forward_rnn/cell/in/bias": ((5,), "float32", 0),
        "/init/params/forward_rnn/cell/in/kernel": ((4, 5), "float32", 2.855589),
        "/init/params/forward_rnn/cell/ir/bias": ((5,), "float32", 0),
        "/init/params/forward_rnn/cell/ir/kernel": ((4, 5), "float32", 0.01738301),
        "/init/params/forward_rnn/cell/iz/bias": ((5,), "float32", 0),
        "/init/params/forward_rnn/cell/iz/kernel": ((4, 5), "float32", 1.61997),
        "/init/params/backward_rnn/cell/hf/bias": ((5,), "float32", 0),
        "/init/params/backward_rnn/cell/hf/kernel": ((5, 5), "float32", -0.8489952),
        "/init/params/backward_rnn/cell/hg/bias": ((5,), "float32", 0),
        "/init/params/backward_rnn/cell/hg/kernel": ((5, 5), "float32", 0.6140069),
        "/init/params/backward_rnn/cell/hi/bias": ((5,), "float32", 0),
        "/init/params/backward_rnn/cell/hi/kernel": ((5, 5), "float32", 1.743377),
        "/init/params/backward_rnn/cell/ho/bias": ((5,), "float32", 0),
        "/init/params/backward_rnn/cell/ho/kernel": ((5, 5), "float32", -1.006235),
        "/init/params/backward_rnn/cell/if/kernel": ((4, 5), "float32", -2.44817),
        "/init/params/backward_rnn/cell/ig/kernel": ((4, 5), "float32", 0.8354266),
        "/init/params/backward_rnn/cell/ii/kernel": ((4, 5), "float32", -2.098094),
        "/init/params/backward_rnn/cell/io/kernel": ((4, 5), "float32", 1.372255), "/apply": ((3, 6, 10), "float32", 1.913426),},
    "sequential": {
        "/init/params/layers_0/kernel": ((5, 6), "float32", -2.596505), "/init/params/layers_0/bias": ((6,), "float32", 0),
        "/init/params/layers_2/layers_0/kernel": ((6, 3), "float32", 0.8659512),
        "/init/params/layers_2/layers_0/bias": ((3,), "float32", 0), "/apply": ((4, 3), "float32", 0.083195),},
}


@pytest.mark.parametrize("name", CASES)
def test_initial_values_and_results_are_those_of_flax(name):
    arrays = computed(name)
    assert arrays.keys() == RECORDED[name].keys()
    for path, x in arrays.items():
        shape, dtype, expected = RECORDED[name][path]
        assert (x.shape, x.dtype.name) == (shape, dtype), path
        # on the machine where these were recorded all bits are equal, on others the last ones depend on its vector instructions
        tolerance = {"bfloat16": 2**-7, "float16": 2**-10}.get(dtype, 2e-6) * max(1, np.sqrt(x.size)) * np.abs(x.astype(np.float64)).max()
        assert abs(fingerprint(x) - expected) <= tolerance, path
