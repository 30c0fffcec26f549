"""`custom_partitioning`: functions with rules that tell the compiler how to split them. They can be declared, but not called."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn


class custom_partitioning:  # noqa: N801  (JAX's name)
    """A function with partitioning rules of its own. It can be declared, so that libraries can be imported; its calls are refused.

    Args:
      fun: the function.
      static_argnums: the positions of its static arguments.

    Example:
      >>> @custom_partitioning
      ... def f(x): ...
      >>> f.def_partition(partition=..., infer_sharding_from_operands=...)
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Sequence[int] = ()) -> None:
        if not callable(fun):
            raise TypeError(f"custom_partitioning: fun must be a function, got {fun!r} of type {type(fun).__name__}")
        functools.update_wrapper(self, fun)
        self.fun: Callable[..., Any] = fun
        self.static_argnums: Sequence[int] = static_argnums
        self.rules: dict[str, Any] = {}

    def def_partition(self, partition: Callable[..., Any], infer_sharding_from_operands: Callable[..., Any] | None = None,
                      propagate_user_sharding: Callable[..., Any] | None = None, decode_shardings: bool = True, sharding_rule: Any = None,
                      **factor_sizes: Any) -> None:
        """Declares the rules, which are not used: calls are refused."""
        self.rules = {"partition": partition, "infer_sharding_from_operands": infer_sharding_from_operands,
                      "propagate_user_sharding": propagate_user_sharding, "decode_shardings": decode_shardings,
                      "sharding_rule": sharding_rule, **factor_sizes}

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError(f"custom_partitioning: calling {getattr(self.fun, '__name__', self.fun)!r} is not supported: the "
                                  "compiler asks no rules of the user's. Call it as `.fun` where its arguments are on one device, or split "
                                  "it over devices with shard_map.")


BATCHING = "..."


class SdyShardingRule:
    """Not supported: a rule for `custom_partitioning`, whose calls are refused.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, operand_mappings: Any, result_mappings: Any, **factors: Any) -> None:
        _refuse("SdyShardingRule")


class ArrayMapping:
    """Not supported: a part of `SdyShardingRule`.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, *dim_mappings: Any) -> None:
        _refuse("ArrayMapping")


class CompoundFactor:
    """Not supported: a part of `SdyShardingRule`.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, *factors: Any) -> None:
        _refuse("CompoundFactor")


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"custom_partitioning.{name} is not supported: the compiler asks no rules of the user's. Give "
                              "sharding_rule as text, and split the function over devices with shard_map.")
