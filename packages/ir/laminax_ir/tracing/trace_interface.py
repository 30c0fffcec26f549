"""The methods of traces by the names under which users' interpreters define and call them.

Whoever writes an interpreter derives a class from `Trace` and defines `process_primitive`, and the two methods for functions with
derivative rules if such are called. Interpreters hand on operations to other traces by the same names. The traces of laminax
define `process`, `process_custom_jvp` and `process_custom_vjp` instead, which take calls apart less often; here the names of
one side are given the meaning of the other's.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence


class TraceInterface:
    """What users' interpreters define, and what other traces answer to them."""

    __slots__ = ("ended",)

    ended: bool  # whether its tracers must not be used any more
    process: Callable[..., Any]
    process_custom_jvp: Callable[..., Any]
    process_custom_vjp: Callable[..., Any]
    constant: Callable[..., Any]

    @property
    def is_users(self) -> bool:
        """Whether a user wrote the trace, which then has `process_primitive` and no `process`."""
        raise NotImplementedError

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: dict[str, Any], /) -> Any:
        """Interprets one operation; interpreters define it.

        Args:
          primitive: the operation.
          tracers: its operands: tracers of this trace and of others, arrays and Python's numbers.
          params: its parameters.

        Returns:
          The result; a sequence of results if `primitive.multiple_results`.
        """
        if self.is_users:
            raise NotImplementedError(f"{type(self).__name__} must override process_primitive, which interprets an operation; it was asked "
                                      f"for {primitive}")
        return self._under_itself(self.process, primitive, tracers, params)

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Sequence[Any], /, *, symbolic_zeros: bool) -> Any:
        """Interprets a call of a function that has a derivative rule; interpreters define it.

        Args:
          primitive: `custom_jvp_call`, to hand the call on: `primitive.bind(*values, subfuns=(fun, jvp), symbolic_zeros=...)`.
          fun: the function; `fun.call_wrapped(*values)` gives the sequence of its results.
          jvp: its rule; `jvp.call_wrapped(*primals, *tangents)` gives results and their tangents in one sequence.
          tracers: the operands.
          symbolic_zeros: whether tangents that the rule gets may be `SymbolicZero`.

        Returns:
          The sequence of results.
        """
        if self.is_users:
            raise _must_override(self, "process_custom_jvp_call", "custom_jvp")
        return self._under_itself(self.process_custom_jvp, primitive.call_of(fun, jvp, tracers, symbolic_zeros))

    def process_custom_vjp_call(self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Sequence[Any], /, *,
                                out_trees: Callable[[], Any], symbolic_zeros: bool) -> Any:
        """Interprets a call of a function that has a reverse rule; interpreters define it.

        Args:
          primitive: `custom_vjp_call`, to hand the call on, with `subfuns=(fun, fwd, bwd)`, `out_trees` and `symbolic_zeros`.
          fun: the function; `fun.call_wrapped(*values)` gives the sequence of its results.
          fwd: its forward rule; it is called with each operand followed by whether that is differentiated, and gives residuals and
            results in one sequence.
          bwd: its backward rule, called with residuals and cotangents; gives the sequence of the operands' cotangents.
          tracers: the operands.
          out_trees: once `fwd` has run: the trees of the results and of the residuals, and for each residual the number of
            the operand that it is, or None.
          symbolic_zeros: whether cotangents that the rule gets may be `SymbolicZero`.

        Returns:
          The sequence of results.
        """
        if self.is_users:
            raise _must_override(self, "process_custom_vjp_call", "custom_vjp")
        return self._under_itself(self.process_custom_vjp, primitive.call_of(fun, fwd, bwd, tracers, out_trees, symbolic_zeros))

    def stage_value(self, val: Any) -> Any:
        """An array as a value of the trace, without an operation. An interpreter whose values are all tracers defines it."""
        return val if self.is_users else self.constant(val)

    def full_raise(self, x: Any) -> Any:
        """The value itself: values of other traces need no conversion."""
        return x

    def invalidate(self) -> None:
        """Ends the trace: a tracer of it that is used from now on is an error."""
        self.ended = True

    def is_valid(self) -> bool:
        """Whether the trace has not ended."""
        return not self.ended

    def _under_itself(self, process: Callable[..., Any], *args: Any) -> Any:
        """Calls a method of this trace while this trace is current."""
        raise NotImplementedError


def _must_override(trace: TraceInterface, method: str, kind: str) -> NotImplementedError:
    return NotImplementedError(f"{type(trace)} must override {method} to handle {kind} primitives: it gets the function and its rule. "
                               "`return fun.call_wrapped(*tracers)` with this trace current interprets the function and drops the rule")
