"""By how much results of XLA's CPU backend may differ from the NumPy reference, per operation, and why.

docs/tolerances.md is written from this table, and a test compares:

    python packages/api/tests/compiled/tolerances.py > docs/tolerances.md

The numbers are the worst errors seen on thousands of drawn operands with jaxlib 0.10.2 and 0.12.0.1, rounded up to about one
and a half times of that. What is not in the table must be equal to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = {"float16": 0, "bfloat16": 0, "float32": 1, "float64": 2, "complex64": 3, "complex128": 4}
_HEADINGS = ("float16, bfloat16", "float32", "float64", "complex64", "complex128")

_ONCE_ROUNDED = "computed in float32 and rounded once in the narrow dtypes"
_XLA = f"XLA's approximation; {_ONCE_ROUNDED}"
_IN_STEPS = "CHLO's expansion, rounded after each operation, in the narrow dtypes too"
_PARTS = "complex numbers by formulas of their parts; errors are relative to the modulus"
_ORDER = "the order of the additions is the compiler's; errors are relative to the same of the absolute values"
_LAPACK = "two builds of LAPACK; errors are relative to the largest operand"


@dataclass(frozen=True)
class Row:
    """Operations of one tolerance.

    Args:
      names: of operations, as in docs/rule_table.md.
      units: the tolerance in units in the last place of the result, one per column; None where there is no such result.
      reason: why it is not zero.
    """

    names: tuple[str, ...]
    units: tuple[float | None, ...]
    reason: str


def _row(names: str, units, reason: str) -> Row:
    return Row(tuple(names.split()), tuple(units), reason)


ROWS = [
    _row("add sub mul square", (0, 0, 0, 2, 3), f"real numbers exactly; {_PARTS}"),
    _row("div", (0, 0, 0, 4, 8), f"real numbers exactly; {_PARTS}"),
    _row("sign", (0, 0, 0, 4, 3), f"real numbers exactly; {_PARTS}"),
    _row("sqrt", (0, 0, 0, 4, 4), f"real numbers exactly; {_PARTS}"),
    _row("abs", (0, 3, 3, None, None), "real numbers exactly; the modulus of a complex number is scaled, so that squares do not overflow"),
    _row("convert_element_type", (1, 0, 0, 0, 0), "XLA's CPU backend converts float64 to float16 by way of float32, and rounds twice"),
    _row("exp", (0.51, 1.5, 2, 4, 4), _XLA),
    _row("exp2", (80, 70, 300, None, None), "exp(x log 2), as in JAX: the product's rounding error times |x|, up to the largest exponent"),
    _row("expm1", (3, 6, 5, 6, 6), _IN_STEPS),
    _row("log", (0.51, 2, 2, 4, 200), f"{_XLA}; of complex numbers with modulus near 1 the real part is a difference"),
    _row("log1p", (0.51, 4, 150, 6, 200), f"{_XLA}; in float64 a series of few terms between -0.45 and -0.3"),
    _row("logistic", (3, 4, 4, 6, 6), "1 / (1 + exp(-x)), rounded after each operation"),
    _row("rsqrt", (0.51, 2, 2, 6, 8), _XLA),
    _row("cbrt", (0.51, 2, 2, None, None), _XLA),
    _row("sin cos", (0.51, 1, 2, 8, 6), f"{_XLA}; {_PARTS}"),
    _row("tan", (0.51, 2, 2, 30, 30), f"{_XLA}; near the poles errors of complex numbers grow"),
    _row("asin acos acosh asinh", (3, 5, 6, 5, 6), _IN_STEPS),
    _row("atan", (0.51, 4, 2, 5, 5), _XLA),
    _row("atanh", (3, 4, 200, 5, 6), f"{_IN_STEPS}; in float64 by log1p"),
    _row("atan2", (0.51, 2, 2, 12, 12), f"{_XLA}; complex angles by a logarithm near 0, relative to 1"),
    _row("sinh cosh", (0.51, 40, 30, 30, 30), "exp(x - log 2) and the like: the rounding error of the difference times |x|; "
                                              "small parts of complex numbers by differences"),
    _row("tanh", (0.51, 6, 10, 40, 60), f"{_XLA}; near the poles errors of complex numbers grow"),
    _row("pow", (0.51, 2, 2, 30, 30), f"{_XLA}; complex powers by exp and log"),
    _row("integer_pow", (5, 4, 4, 5, 5), "repeated squaring, rounded after each product"),
    _row("erf", (0.51, 6, 3, None, None), _XLA),
    _row("erfc", (0.51, 90, 80, None, None), f"{_XLA}; in the tail exp(-x x) multiplies the error of the square"),
    _row("erf_inv", (0.51, 100, 100, None, None), f"{_XLA}; near the border the slope multiplies the error of 1 - x x"),
    _row("lgamma digamma polygamma", (0.6, 40, 30, None, None), "Lanczos' approximation and sums; relative to 1 at least, since there "
                                                               "are zeros"),
    _row("bessel_i0e", (0.51, 6, 8, None, None), "Chebyshev series"),
    _row("bessel_i1e", (0.51, 14, 10, None, None), "Chebyshev series"),
    _row("zeta", (0.51, 12, 8, None, None), "Euler and Maclaurin's sum"),
    _row("igamma igammac", (0.6, 200, 300, None, None), "x^a e^-x / Γ(a) by exp of a difference of numbers near 100; errors are relative to 1"),
    _row("igamma_grad_a", (0.6, 60, 120, None, None), "as igamma"),
    _row("random_gamma_grad", (0.6, 200, 4e4, None, None), "as igamma; in float64 the reference is a difference quotient"),
    _row("regularized_incomplete_beta", (0.6, 80, 160, None, None), "the front factor by exp of logarithms; errors are relative to 1"),
    _row("reduce_sum reduce cumsum", (3, 4, 4, 6, 6), _ORDER),
    _row("reduce_prod cumprod", (4, 6, 6, 12, 12), _ORDER.replace("additions", "products")),
    _row("cumlogsumexp", (3, 6, 6, None, None), "log(exp a + exp b), step by step; errors are relative to the largest operand"),
    _row("reduce_window_sum reduce_window", (2, 3, 3, 4, 4), _ORDER),
    _row("select_and_scatter_add scatter-add scatter-sub", (2, 2, 2, 4, 4), _ORDER),
    _row("scatter-mul", (4, 6, 6, 12, 12), "the order of the products is the compiler's"),
    _row("dot_general ragged_dot_general conv_general_dilated", (0.51, 6, 6, 8, 8), f"{_ORDER}; {_ONCE_ROUNDED}"),
    _row("fft", (None, 8, 8, 8, 8), "two libraries; errors are relative to the norm of the operand"),
    _row("cholesky lu qr geqrf householder_product hessenberg schur triangular_solve tridiagonal_solve symmetric_product "
         "ormqr tridiagonal cholesky_update",
         (None, 20, 20, 30, 30), _LAPACK),
    _row("eig eigh svd", (None, 40, 40, 60, 60), f"{_LAPACK}; vectors are compared through the matrices they factor"),
]
_UNITS = {name: row.units for row in ROWS for name in row.names}


def tolerance(name: str, dtype) -> float:
    """The largest error allowed of an operation, in units in the last place of a result's dtype; 0 where there is no row."""
    column = COLUMNS.get(dtype.name)
    units = _UNITS.get(name)
    return 0.0 if units is None or column is None else units[column] or 0.0


def document() -> str:
    """The table in Markdown."""
    head = ["# Tolerances", "",
            "By how much a compiled operation may differ from its NumPy reference on CPU, in units in the last place of the result's",
            "dtype. Written by `packages/api/tests/compiled/tolerances.py`, whose numbers `test_compiled_numbers.py` uses: the worst errors",
            "seen on drawn operands, and half as much again. Operations without a row are equal to the last bit. Results are the same as",
            "JAX's with the same jaxlib, to the last bit, where the compiled program is the same, which is nearly everywhere.",
            "The reference runs in float64 (complex128) and is rounded once; in float64 it is NumPy's own function. Subnormal numbers are",
            "zeros to XLA's CPU backend: none is drawn, and a result below the smallest normal number may be zero.", "",
            "| operations | " + " | ".join(_HEADINGS) + " | reason |", "|---" * (len(_HEADINGS) + 2) + "|"]
    body = [f"| {', '.join(row.names)} | {' | '.join('' if u is None else f'{u:g}' for u in row.units)} | {row.reason} |" for row in ROWS]
    return "\n".join([*head, *body, ""])


if __name__ == "__main__":
    print(document(), end="")
