"""Layers made of layers: one after the other, side by side, or made when the shape of the inputs is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax._src.numerics.example_libraries.layers import Layer, without_parameters
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random import keys as random_keys

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def serial(*layers: Layer) -> Layer:
    """Layers one after the other: each gets the outputs of the one before.

    Args:
      *layers: pairs (init_fun, apply_fun), at least one.

    Returns:
      A layer whose parameters are the list of the layers' ones. Its apply_fun splits the key `rng`, if it gets one, into one
      for each layer, and passes its other keyword arguments to all.

    Raises:
      TypeError: if an argument is no pair.
      ValueError: if there is no layer; by apply_fun, if there are not as many parameters as layers.

    Example:
      >>> init_fun, apply_fun = serial(Dense(32), Relu, Dense(10), LogSoftmax)
      >>> output_shape, params = init_fun(random.key(0), (-1, 784))
      >>> apply_fun(params, numpy.ones((5, 784))).shape
      (5, 10)
    """
    init_funs, apply_funs = _unzipped("serial", layers)

    def init_fun(rng: ArrayLike, input_shape: tuple[int, ...]) -> Any:
        params = []
        for init in init_funs:
            rng, layer_rng = random_keys.split(rng)
            input_shape, layer_params = init(layer_rng, input_shape)
            params.append(layer_params)
        return input_shape, params

    def apply_fun(params: Sequence[tuple[Any, ...]], inputs: ArrayLike, *, rng: ArrayLike | None = None, **kwargs: Any) -> Any:
        _check_one_each("serial", "params", params, apply_funs)
        for apply, layer_params, key in zip(apply_funs, params, _keys(rng, len(apply_funs))):
            inputs = apply(layer_params, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def _unzipped(name: str, layers: Sequence[Layer]) -> tuple[list[Callable], list[Callable]]:
    if not layers:
        raise ValueError(f"{name}: there must be at least one layer, got none")
    for i, layer in enumerate(layers):
        if not (isinstance(layer, (tuple, list)) and len(layer) == 2 and all(map(callable, layer))):
            raise TypeError(f"{name}: each layer must be a pair (init_fun, apply_fun), got {layer!r} as layer {i}. A constructor such as "
                            "Dense must be called; a layer without arguments, such as Relu, must not.")
    return [init for init, _ in layers], [apply for _, apply in layers]


def _check_one_each(name: str, what: str, given: Sequence, layers: Sequence) -> None:
    if len(given) != len(layers):
        raise ValueError(f"{name}: {what} must have one entry for each of the {len(layers)} layers, got {len(given)}")


def _keys(rng: Any, count: int) -> Any:
    return [None] * count if rng is None else random_keys.split(rng, count)


def parallel(*layers: Layer) -> Layer:
    """Layers side by side, each with inputs and outputs of its own; see `FanOut`, `FanInSum` and `FanInConcat`.

    Args:
      *layers: pairs (init_fun, apply_fun), at least one.

    Returns:
      A layer that takes a sequence of inputs and returns a list of outputs, one for each layer; shapes and parameters are
      tuples likewise. Its apply_fun treats keyword arguments as that of `serial` does.

    Raises:
      TypeError: if an argument is no pair.
      ValueError: if there is no layer; by init_fun and apply_fun, if there are not as many shapes, parameters or inputs as
        layers.
    """
    init_funs, apply_funs = _unzipped("parallel", layers)

    def init_fun(rng: ArrayLike, input_shape: Sequence[tuple[int, ...]]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        _check_one_each("parallel", "input_shape", input_shape, init_funs)
        keys = random_keys.split(rng, len(init_funs))
        output_shapes, params = zip(*[init(key, shape) for init, key, shape in zip(init_funs, keys, input_shape)])
        return output_shapes, params

    def apply_fun(params: Sequence[tuple[ArrayLike, ...]], inputs: Sequence[ArrayLike], *, rng: ArrayLike | None = None,
                  **kwargs: Any) -> list[ArrayLike]:
        _check_one_each("parallel", "params", params, apply_funs)
        _check_one_each("parallel", "inputs", inputs, apply_funs)
        return [apply(layer_params, x, rng=key, **kwargs)
                for apply, layer_params, x, key in zip(apply_funs, params, inputs, _keys(rng, len(apply_funs)))]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[tuple[int, ...]], Layer]) -> Layer:
    """A layer that is made when the shape of its inputs is known.

    Args:
      make_layer: takes the shape, a tuple of ints, and returns a layer; it is called at each use.

    Returns:
      The layer.

    Example:
      >>> Square = shape_dependent(lambda shape: Dense(shape[-1]))
    """
    def init_fun(rng: ArrayLike, input_shape: tuple[int, ...]) -> tuple[tuple[int, int], tuple[Array, Array]]:
        init, _ = make_layer(input_shape)
        return init(rng, input_shape)

    def apply_fun(params: tuple[ArrayLike, ...], inputs: ArrayLike, **kwargs: Any) -> Array:
        _, apply = make_layer(inputs.shape)
        return apply(params, inputs, **kwargs)

    return init_fun, apply_fun


# Between one and several


Identity = without_parameters(lambda input_shape: input_shape, lambda inputs: inputs)


def FanOut(num: int) -> Layer:
    """A layer that returns its inputs `num` times, in a list."""
    return without_parameters(lambda input_shape: [input_shape] * num, lambda inputs: [inputs] * num)


FanInSum = without_parameters(lambda input_shapes: input_shapes[0], sum)


def FanInConcat(axis: int = -1) -> Layer:
    """A layer that joins a sequence of inputs along an axis."""
    def joined(input_shapes: tuple[tuple[int, ...], ...]) -> Any:
        shape = list(input_shapes[0])
        shape[axis] = sum(each[axis] for each in input_shapes)
        return tuple(shape)

    return without_parameters(joined, lambda inputs: jnp.concatenate(inputs, axis))
