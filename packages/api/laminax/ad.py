"""The markers that `vjp(...)[1].with_refs` takes, and those that its function returns, for each argument."""

from laminax_transforms.differentiation.gradient_refs import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
