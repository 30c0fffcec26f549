"""Iterative solvers of linear equations, as in `scipy.sparse.linalg`. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.iterative_solvers": "bicgstab cg gmres"})
