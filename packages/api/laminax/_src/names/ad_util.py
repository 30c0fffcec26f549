"""Primitives of differentiation, by the names under which libraries import them."""

from laminax_ir.ops.elementwise import stop_gradient_p

__all__ = ["stop_gradient_p"]
