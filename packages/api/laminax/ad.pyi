# Written by tools/stubs.py.
"""The markers that `vjp(...)[1].with_refs` takes, and those that its function returns, for each argument."""

from laminax_transforms.differentiation.gradient_refs import DidntWant as DidntWant
from laminax_transforms.differentiation.gradient_refs import DontWant as DontWant
from laminax_transforms.differentiation.gradient_refs import GradRef as GradRef
from laminax_transforms.differentiation.gradient_refs import GradValue as GradValue

__all__: list[str]

