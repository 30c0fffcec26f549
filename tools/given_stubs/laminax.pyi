# What jit, the derivatives, vmap and checkpoint return depends on the function that they are given.
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, overload

from laminax._src.compiling.stages import Lowered, Traced

_P = ParamSpec("_P")
_R = TypeVar("_R")
_A = TypeVar("_A")
_R_co = TypeVar("_R_co", covariant=True)

class JitFunction(Protocol[_P, _R_co]):
    """A jitted function: called as the function itself, with the stages ahead of time beside."""

    __wrapped__: Callable[..., Any]
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Callable[..., _R_co]: ...
    def trace(self, *args: _P.args, **kwargs: _P.kwargs) -> Traced:
        """Traces the function for arguments like these."""
    def lower(self, *args: _P.args, **kwargs: _P.kwargs) -> Lowered:
        """Lowers the function for arguments like these, arrays or ShapeDtypeStructs."""
    def eval_shape(self, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        """Shapes and dtypes of the result, without computing it."""
    def clear_cache(self) -> None:
        """Forgets the traced and compiled programs of this function."""

@overload
def jit(
    fun: Callable[_P, _R],
    /,
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    abstracted_axes: Any = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> JitFunction[_P, _R]:
    """Sets up a function for just-in-time compilation."""
@overload
def jit(
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    abstracted_axes: Any = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> Callable[[Callable[_P, _R]], JitFunction[_P, _R]]:
    """Sets up a function for just-in-time compilation: a decorator with options."""
def grad(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, Any]:
    """Makes a function that computes the gradient of a scalar function."""
@overload
def value_and_grad(
    fun: Callable[_P, tuple[_R, _A]],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, tuple[tuple[_R, _A], Any]]:
    """Makes a function that computes a scalar function's value, with what else it returns, and its gradient."""
@overload
def value_and_grad(
    fun: Callable[_P, _R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, tuple[_R, Any]]:
    """Makes a function that computes a scalar function's value and its gradient."""
def jacfwd(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[_P, Any]:
    """Makes a function that computes the Jacobian column by column, in forward mode: best for few inputs."""
def jacrev(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False
) -> Callable[_P, Any]:
    """Makes a function that computes the Jacobian row by row, in reverse mode: best for few outputs."""
def hessian(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[_P, Any]:
    """Makes a function that computes the Hessian, forward over reverse. Arguments as for `jacfwd`."""
@overload
def jvp(
    fun: Callable[..., _R], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = False
) -> tuple[_R, _R]:
    """The value of a function and its derivative along tangents."""
@overload
def jvp(
    fun: Callable[..., tuple[_R, _A]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[_R, _R, _A]:
    """The value of a function, its derivative along tangents, and what else it returns."""
def vmap(
    fun: Callable[_P, _R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
) -> Callable[_P, _R]:
    """Makes a function work on batches: it maps over axes of the arguments."""
@overload
def checkpoint(
    fun: Callable[_P, _R],
    *,
    concrete: bool = False,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[_P, _R]:
    """Makes a function recompute its intermediate values when it is differentiated, instead of keeping them."""
@overload
def checkpoint(
    fun: None = None,
    *,
    concrete: bool = False,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Makes a function recompute its intermediate values when it is differentiated: a decorator with options."""
remat = checkpoint
def named_call(fun: Callable[_P, _R], *, name: str | None = None) -> Callable[_P, _R]:
    """Gives the operations of a function a common name, which profiles and compiled programs show."""
def block_until_ready(x: _A) -> _A:
    """Waits until every array of the pytree has been computed; returns x."""
def device_put(x: _A, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> _A | Any:
    """Transfers values to a device."""
