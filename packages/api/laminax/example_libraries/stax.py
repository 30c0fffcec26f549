"""Neural networks as pairs of functions. A table of contents: names load on first use.

A layer is a pair (init_fun, apply_fun). `init_fun(key, input_shape)` returns (output_shape, params);
`apply_fun(params, inputs, **kwargs)` returns the outputs, and takes a key as `rng` where the layer is random.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.example_libraries.layers": """
        BatchNorm Conv Conv1DTranspose ConvTranspose Dense Dropout Elu Exp Flatten Gelu GeneralConv GeneralConvTranspose LeakyRelu
        LogSoftmax Relu Selu Sigmoid Softmax Softplus Tanh elementwise glorot logsoftmax randn""",
    "numerics.example_libraries.pooling": "AvgPool MaxPool SumPool",
    "numerics.example_libraries.combinators": "FanInConcat FanInSum FanOut Identity parallel serial shape_dependent",
    "numerics.nn.activations": "elu gelu leaky_relu relu selu sigmoid softplus",
    "numerics.nn.normalization": "log_softmax softmax standardize",
    "numerics.nn.initializers": "glorot_normal normal ones zeros",
})
