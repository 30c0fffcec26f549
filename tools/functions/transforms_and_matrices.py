"""Fourier and cosine transforms, and linear algebra of `numpy.linalg`, `scipy.linalg` and `lax.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg

from functions.drawing import COMPLEX, FULL_FLOATS, NUMBERS, Call, Draw
from functions.entries import Arguments, entry, untested

# --- Fourier transforms ---


def transform(dtypes: Any, options: Callable[[Draw, np.ndarray], dict[str, Any]], least: int = 1) -> Arguments:
    def draw_one(draw: Draw) -> Call:
        x = draw.array(dtypes, draw.one(*(shape for shape in ((5,), (4,), (2, 3), (2, 4, 3)) if len(shape) >= least)), special=False)
        return Call((x,), options(draw, x) | {"norm": draw.one(None, "ortho", "forward", "backward")})

    return draw_one


def _one_axis(draw: Draw, x: np.ndarray) -> dict[str, Any]:
    return {"axis": draw.axis(x.ndim), "n": draw.one(None, 2, 7)}


def _axes(draw: Draw, x: np.ndarray) -> dict[str, Any]:
    return draw.one({}, {"axes": (0,)}, {"axes": (-1,), "s": (4,)}, {"axes": tuple(range(x.ndim))})


def _two_axes(draw: Draw, x: np.ndarray) -> dict[str, Any]:
    return draw.one({}, {"axes": (-1, 0)}, {"axes": (0, 1), "s": (3, 5)})


TRANSFORMED = ("float32", "float64", "complex64", "complex128", "int32")
for names, dtypes, options, least in (
    ("fft ifft", TRANSFORMED, _one_axis, 1),
    ("rfft ihfft", ("float32", "float64", "int32"), _one_axis, 1),
    ("irfft hfft", TRANSFORMED, _one_axis, 1),
    ("fftn ifftn", TRANSFORMED, _axes, 1),
    ("rfftn", ("float32", "float64"), _axes, 1),
    ("irfftn", TRANSFORMED, _axes, 1),
    ("fft2 ifft2", TRANSFORMED, _two_axes, 2),
    ("rfft2", ("float32", "float64"), _two_axes, 2),
    ("irfft2", TRANSFORMED, _two_axes, 2),
):
    for name in names.split():
        entry("numpy.fft", name, transform(dtypes, options, least), getattr(np.fft, name), units=64, scale="largest")
for name in ("fftshift", "ifftshift"):
    entry(
        "numpy.fft",
        name,
        lambda d: Call((x := d.array(NUMBERS, least=1),), {"axes": d.one(None, d.axis(x.ndim), (0,))}),
        getattr(np.fft, name),
        raw=True,
        units=0,
    )
for name in ("fftfreq", "rfftfreq"):
    entry("numpy.fft", name, lambda d: Call((d.below(9, 1),), d.one({}, {"d": 0.5})), getattr(np.fft, name), units=4)


for name in ("dct", "idct"):
    entry(
        "scipy.fft",
        name,
        lambda d: Call(
            (x := d.array(FULL_FLOATS, d.one((5,), (2, 4)), special=False),),
            {"axis": d.axis(x.ndim), "n": d.one(None, 3, 7), "norm": d.one(None, "ortho")},
        ),
        getattr(scipy.fft, name),
        units=64,
        scale="largest",
    )
for name in ("dctn", "idctn"):
    entry(
        "scipy.fft",
        name,
        lambda d: Call((d.array(FULL_FLOATS, d.one((3, 4), (2, 4)), special=False),), {"norm": d.one(None, "ortho")}),
        getattr(scipy.fft, name),
        units=64,
        scale="largest",
    )

# --- matrices: drawn well conditioned, as a multiple of the identity plus something small ---

FIELDS = FULL_FLOATS + COMPLEX


def good(draw: Draw, n: int = 3, batch: tuple[int, ...] | None = None, dtypes: Any = FIELDS) -> np.ndarray:
    """Matrices with small condition numbers."""
    batch = draw.one((), (), (2,), (0,)) if batch is None else batch
    x = draw.array(dtypes, (*batch, n, n), -1, 1)
    return (x + 3 * np.eye(n)).astype(x.dtype)


def positive(draw: Draw, n: int = 3, batch: tuple[int, ...] | None = None, dtypes: Any = FIELDS) -> np.ndarray:
    """Positive definite matrices."""
    x = good(draw, n, batch, dtypes)
    return (x @ np.conj(np.swapaxes(x, -1, -2))).astype(x.dtype)


def hermitian(draw: Draw, n: int = 3, dtypes: Any = FIELDS) -> np.ndarray:
    x = good(draw, n, dtypes=dtypes)
    return (x + np.conj(np.swapaxes(x, -1, -2))).astype(x.dtype)


NL = "numpy.linalg"
BACKWARD = {"units": 2000, "scale": "largest"}


def numpys(names: str, draw: Arguments, **options: Any) -> None:
    for name in names.split():
        entry(NL, name, draw, getattr(np.linalg, name), **(BACKWARD | options))


numpys("inv", lambda d: Call((good(d),)))
numpys("det slogdet", lambda d: Call((good(d, d.below(5, 1)),)))
numpys("solve", lambda d: Call((a := good(d, 3, ()), d.array(a.dtype.name, d.one((3,), (3, 2)), -1, 1))))
numpys("cholesky", lambda d: Call((positive(d),)))
numpys("eigvalsh", lambda d: Call((hermitian(d),), {"UPLO": d.one("L", "U")}))
numpys("svdvals", lambda d: Call((d.array(FIELDS, d.one((3, 4), (4, 3), (2, 3, 3)), -1, 1),)))
numpys("pinv", lambda d: Call((d.array(FIELDS, d.one((3, 5), (5, 3)), -1, 1),)), units=20000)
numpys("cond", lambda d: Call((good(d, 3, ()),), {"p": d.one(None, 2, -2, "fro", 1, -1, np.inf)}), units=20000)
numpys("matrix_rank", lambda d: Call((good(d),)))
numpys("matrix_power", lambda d: Call((good(d), d.below(5, -2))), units=20000)
numpys(
    "norm",
    lambda d: Call((d.array(FIELDS, d.one((3,), (3, 4)), -1, 1),), {"ord": d.one(None, 1, 2, np.inf, -np.inf), "keepdims": d.flag()}),
)
numpys(
    "matrix_norm",
    lambda d: Call((d.array(FIELDS, (2, 3, 4), -1, 1),), {"ord": d.one("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf), "keepdims": d.flag()}),
)
numpys(
    "vector_norm",
    lambda d: Call(
        (x := d.array(FIELDS, d.one((3,), (3, 4)), -1, 1),),
        {"ord": d.one(0, 1, 2, 3, -1, 0.5, np.inf, -np.inf), "axis": d.axes(x.ndim), "keepdims": d.flag()},
    ),
)
numpys("lstsq", lambda d: Call((a := d.array(FULL_FLOATS, (5, 3), -1, 1), d.array(a.dtype.name, d.one((5,), (5, 2)), -1, 1))), units=50000)
numpys(
    "multi_dot",
    lambda d: Call(([x := d.array(FIELDS, (2, 3), -1, 1), d.array(x.dtype.name, (3, 4), -1, 1), d.array(x.dtype.name, (4,), -1, 1)],)),
)
numpys("tensorinv", lambda d: Call((good(d, 4, (), FULL_FLOATS).reshape(2, 2, 4),), {"ind": 2}))
numpys(
    "tensorsolve", lambda d: Call((a := good(d, 4, (), FULL_FLOATS).reshape(2, 2, 4), d.array(a.dtype.name, (2, 2), -1, 1))), units=20000
)
numpys("diagonal trace", lambda d: Call((d.array(FIELDS, d.one((3, 4), (2, 3, 3)), -1, 1),), {"offset": d.below(3, -2)}))
numpys("cross", lambda d: Call((x := d.array(FIELDS, (2, 3), -1, 1), d.array(x.dtype.name, (2, 3), -1, 1))))
numpys("outer", lambda d: Call((x := d.array(FIELDS, (2,), -1, 1), d.array(x.dtype.name, (3,), -1, 1))))
numpys("matmul vecdot", lambda d: Call((x := d.array(FIELDS, (3, 3), -1, 1), d.array(x.dtype.name, (3, 3), -1, 1))))
numpys("tensordot", lambda d: Call((x := d.array(FIELDS, (3, 3), -1, 1), d.array(x.dtype.name, (3, 3), -1, 1)), {"axes": d.one(0, 1, 2)}))
numpys("matrix_transpose", lambda d: Call((d.array(FIELDS, (2, 3), -1, 1),)))
untested(NL, "eig eigh eigvals qr svd", "factors are unique up to phases and order", "packages/api/tests/numpy/test_linalg.py")

SL = "scipy.linalg"


def scipys(names: str, draw: Arguments, **options: Any) -> None:
    for name in names.split():
        entry(SL, name, draw, getattr(scipy.linalg, name), **(BACKWARD | options))


scipys("inv det", lambda d: Call((good(d, 3, ()),)))
entry(SL, "expm", lambda d: Call((d.array(FIELDS, d.one((3, 3), (2, 3, 3)), -1, 1),)), scipy.linalg.expm, units=4000, scale="largest")
scipys("cholesky", lambda d: Call((positive(d, 3, ()),), {"lower": d.flag()}))
scipys("solve", lambda d: Call((a := good(d, 3, ()), d.array(a.dtype.name, d.one((3,), (3, 2)), -1, 1))))
scipys(
    "solve_triangular",
    lambda d: Call(
        (a := np.tril(good(d, 3, ())), d.array(a.dtype.name, d.one((3,), (3, 2)), -1, 1)),
        {"lower": True, "trans": d.one(0, 1, 2), "unit_diagonal": d.flag()},
    ),
    flips=False,
)
entry(
    SL,
    "cho_solve",
    lambda d: Call(((np.tril(positive(d, 3, (), ("float32",))), True), d.array("float32", (3, 2), -1, 1))),
    lambda c, b: scipy.linalg.cho_solve((np.asarray(c[0]), c[1]), b),
    units=20000,
    scale="largest",
    flips=False,
)
scipys("block_diag", lambda d: Call((x := d.array(FULL_FLOATS, (2, 3)), d.array(x.dtype.name, (1, 2)))))
scipys("circulant fiedler", lambda d: Call((d.array(FULL_FLOATS, (4,), -2, 2),)))
scipys("toeplitz hankel", lambda d: Call((c := d.array(FULL_FLOATS, (4,), -2, 2), *d.one((), (d.array(c.dtype.name, (3,), -2, 2),)))))
scipys("companion", lambda d: Call((d.array(FULL_FLOATS, (4,), 1, 2),)))
scipys("fiedler_companion", lambda d: Call((d.array(FULL_FLOATS, (5,), 1, 2),)))
scipys("leslie", lambda d: Call((f := d.array(FULL_FLOATS, (4,), 0, 2), d.array(f.dtype.name, (3,), 0, 1))))
scipys("convolution_matrix", lambda d: Call((d.array(FULL_FLOATS, (4,), -2, 2), 5, d.one("full", "same", "valid"))))
scipys("dft", lambda d: Call((d.below(6, 1),), {"scale": d.one(None, "sqrtn", "n")}))
scipys("hilbert invhilbert", lambda d: Call((d.below(6, 1),)))
scipys("hadamard", lambda d: Call((2 ** d.below(4),)), scale="any")
scipys("helmert", lambda d: Call((d.below(6, 2),), {"full": d.flag()}))
scipys("pascal invpascal", lambda d: Call((d.below(6, 1),), {"kind": d.one("symmetric", "lower", "upper")}), scale="any")
scipys(
    "eigh_tridiagonal", lambda d: Call((x := d.array(FULL_FLOATS, (4,), -1, 1), d.array(x.dtype.name, (3,), -1, 1)), {"eigvals_only": True})
)
scipys("expm_frechet", lambda d: Call((x := d.array(FULL_FLOATS, (3, 3), -1, 1), d.array(x.dtype.name, (3, 3), -1, 1))), units=50000)
scipys(
    "solve_sylvester",
    lambda d: Call((x := good(d, 3, (), FULL_FLOATS), good(d, 2, (), (x.dtype.name,)), d.array(x.dtype.name, (3, 2), -1, 1))),
    units=50000,
)
untested(
    SL,
    "cho_factor eigh funm hessenberg lu lu_factor lu_solve polar qr qr_multiply rsf2csf schur sqrtm svd",
    "factors are unique up to phases and order",
    "packages/api/tests/test_scipy_linalg.py",
)
untested(
    "lax.linalg",
    "cholesky cholesky_update eig eigh hessenberg householder_product lu lu_pivots_to_permutation ormqr qdwh qr schur svd "
    "symmetric_product "
    "triangular_solve tridiagonal tridiagonal_solve",
    "operations: drawn against their references",
    "packages/api/tests/compiled/linalg.py",
    "packages/api/tests/test_scipy_linalg.py",
)
