"""The markers that `vjp(...)[1].with_refs` takes, and those that its function returns, for each argument.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_transforms.differentiation.gradient_refs": "DidntWant DontWant GradRef GradValue",
})
