"""By how much results of XLA's CPU backend may differ from the NumPy reference, per operation, and why.

docs/tolerances.md is written from this table, and a test compares:

    python packages/api/tests/compiled/tolerances.py > docs/tolerances.md

A bound is derived, never fitted to errors that one processor has shown: from what is documented of the compiler's functions,
the number of roundings, and by how much the computation magnifies each. The results of operations that are not in the table must be
equal to the last bit. In float64 the reference is computed by the C library, whose documented error (one unit, or two, four of cbrt)
is added.

The arithmetic of it: one rounding is a relative error of at most half of eps, hence less than one unit in the last place of a
result that has the same relative error; a documented error of d units is one of d * eps, less than 2 d units of another
number; and a factor that magnifies relative errors (a condition number) magnifies units.

Source: "Numerical accuracy" in JAX's documentation (errors of the compiler's functions on CPU and GPU, over all numbers of 32
bits); "Known Maximum Errors in Math Functions" in the GNU C Library's manual; N. Higham, "Accuracy and Stability of Numerical
Algorithms", chapters 3 (sums, products) and 9, 10, 19 (factorizations).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np
from scipy import special

COLUMNS = {"float16": 0, "bfloat16": 0, "float32": 1, "float64": 2, "complex64": 3, "complex128": 4}
_HEADINGS = ("float16, bfloat16", "float32", "float64", "complex64", "complex128")

_ONCE_ROUNDED = "computed in float32 and rounded once in the narrow dtypes"
_DOCUMENTED = "as documented"
_IN_STEPS = "as documented; CHLO's expansion, rounded after each operation, in the narrow dtypes too"
_SUM = "a rounding per term, of at most the sum of the absolute values, in whichever order"
_FACTORS = "backward stable: the condition number times the size, per rounding; operands are drawn with small condition numbers"
_F32_OF_NARROW = 2.0**-13  # a unit of float32 in units of float16; in those of bfloat16 it is less


@dataclass(frozen=True)
class Growth:
    """What is added to a bound where operands are ill-conditioned.

    Args:
      formula: for the document; x, y are the operands and f the result.
      units: the same, from the result and the operands, all float64 or complex128.
    """

    formula: str
    units: Callable[..., np.ndarray]


@dataclass(frozen=True)
class Row:
    """Operations of one tolerance.

    Args:
      names: of operations, as in docs/rule_table.md.
      units: the tolerance in units in the last place of the result, one per column; None where there is no such result.
      reason: where it comes from.
      growth: of real operands.
      complex_growth: of complex ones.
      per: what the units are multiplied by; the comparison knows how many (`Comparison.terms`).
      narrow_units: what a unit of growth, or of a term, is in the narrow dtypes: less than one where they are rounded once.
    """

    names: tuple[str, ...]
    units: tuple[float | None, ...]
    reason: str
    growth: Growth | None = None
    complex_growth: Growth | None = None
    per: str = ""
    narrow_units: float = 1.0


def _row(names: str, units: tuple[float | None, ...], reason: str, growth: Growth | None = None, complex_growth: Growth | None = None,
         per: str = "", narrow_units: float = 1.0) -> Row:
    return Row(tuple(names.split()), units, reason, growth, complex_growth, per, narrow_units)


_EXP2 = Growth("2 |x| log 2", lambda f, x: 2 * np.abs(x) * np.log(2))
_ERFC = Growth("2 x²", lambda f, x: 2 * np.minimum(np.abs(x), 40) ** 2)
_ERF_INV = Growth("√π exp(f²) |x / f| + G(-x²)", lambda f, x: np.sqrt(np.pi) * np.exp(np.minimum(f * f, 600)) * _ratio(x, f) + _gap(-x * x))
_EXP_ARGUMENT = Growth("|x|", lambda f, x: np.abs(x))
_SLOPE = Growth("12 (|x| + 1) log(|x| + 10) / max(|f|, 1)",
                lambda f, x: 12 * (np.abs(x) + 1) * np.log(np.abs(x) + 10) / np.maximum(np.abs(f), 1))
_POLYGAMMA = Growth("12 (x + 2) log(x + 10)", lambda f, order, x: 12 * (order + 2) * np.log(order + 10))
_ZETA = Growth("x", lambda f, x, y: np.abs(x))
_GAMMA_FACTOR = Growth("4 min(f, 1 - f) (|x log y| + y + |x| log(|x| + 1))",
                       lambda f, a, x: 4 * np.clip(np.minimum(f, 1 - f), 0, 1) * _gamma_exponents(a, x))
_GAMMA_SLOPE = Growth("4 |f| (|x log y| + y + |x| log(|x| + 1)) + 16 (1 + |log y| + log(x + 10))",
                      lambda f, a, x: 4 * np.abs(f) * _gamma_exponents(a, x) + 16 * _gamma_logarithms(a, x))
_SAMPLE_SLOPE = Growth("32 (1 + |log y| + log(x + 10)) min(P, 1 - P) / |f density|, P = igamma(x, y)", lambda f, a, x: (
    32 * _gamma_logarithms(a, x) * np.minimum(special.gammainc(a, x), special.gammaincc(a, x))
    * _ratio(np.exp(special.gammaln(a) + x - (a - 1) * _log(x)), f)))
_BETA_FACTOR = Growth("min(f, 1 - f) (8 (x + y) log(x + y + 1) + 4 |x log z| + (4 + G(-z)) |y log(1 - z)|)", lambda f, a, b, x: (
    np.clip(np.minimum(f, 1 - f), 0, 1) * (8 * (np.abs(a) + np.abs(b)) * np.log1p(np.abs(a) + np.abs(b)) + 4 * np.abs(a * _log(x))
                                           + (4 + _gap(-x)) * np.abs(b * _log(1 - x)))))
_LOG1P = Growth("G(x)", lambda f, x: _gap(x))
_ATANH = Growth("G(-|x|)", lambda f, x: _gap(-np.abs(x)))

_LOG = Growth("4 / |f| + G(|x|² - 1)", lambda f, x: _ratio(4, f) + _gap(np.abs(x) ** 2 - 1))
_COMPLEX_LOG1P = Growth("4 / |f| + G(|1 + x|² - 1)", lambda f, x: _ratio(4, f) + _gap(np.abs(1 + x) ** 2 - 1))
_EXPM1 = Growth("12 (|expm1(Re x) cos(Im x)| + 2 sin²(Im x / 2)) / |f|", lambda f, x: 12 * _ratio(
    np.abs(np.expm1(x.real) * np.cos(x.imag)) + 2 * np.sin(x.imag / 2) ** 2, f))
_LOGISTIC = Growth("12 (1 + |exp(-x)|) / |1 + exp(-x)|", lambda f, x: 12 * _ratio(1 + np.abs(np.exp(-x)), 1 + np.exp(-x)))
_ON_IMAGINARY = Growth("|Im x|", lambda f, x: np.abs(x.imag))
_ON_REAL = Growth("|Re x|", lambda f, x: np.abs(x.real))
_TAN = Growth("16 cosh²(Im x) / |cos x|²", lambda f, x: 16 * _ratio(np.cosh(x.imag), np.cos(x)) ** 2)
_TANH = Growth("16 cosh²(Re x) / |cosh x|²", lambda f, x: 16 * _ratio(np.cosh(x.real), np.cosh(x)) ** 2)
_ATAN2 = Growth("8 (|x|² + |y|²) / |x² + y²|", lambda f, x, y: 8 * _ratio(np.abs(x) ** 2 + np.abs(y) ** 2, x * x + y * y))
_HORNER = Growth("2 n Σ |c_k x^k| / |f|",
                 lambda f, x, *c: 2 * len(c) * _ratio(sum(np.abs(c_k * x ** k) for k, c_k in enumerate(c)), f))
_POW = Growth("4 |y| (|log x| + 1)", lambda f, x, y: 4 * np.abs(y) * (np.abs(_log(x)) + 1))


def _ratio(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.abs(x) / np.maximum(np.abs(y), 1e-300)


def _log(x: np.ndarray) -> np.ndarray:
    """The logarithm; 0 where that is infinite or NaN, as results at such operands are given by definition."""
    with np.errstate(all="ignore"):
        result = np.log(x)
        return np.where(np.isfinite(result), result, 0.0)


def _gap(x: np.ndarray) -> np.ndarray:
    """Where jaxlib 0.10.2 takes log1p of float64 from a series that is made for -0.29 < x < 0.41."""
    return np.where((x > -0.46) & (x < -0.28), 200.0, 0.0)


def _gamma_exponents(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The size of the summands of a log x - x - log Γ(a)."""
    return np.abs(a * _log(x)) + np.abs(x) + np.abs(a) * np.log1p(np.abs(a))


def _gamma_logarithms(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The size of what the logarithm's derivative by a is a difference of: log x, and ψ(a) and its like."""
    return 1 + np.abs(_log(x)) + np.log(np.abs(a) + 10)


ROWS = [
    _row("add sub mul square", (0, 0, 0, 3, 3), "real numbers exactly; of a complex product √5 roundings, relative to the modulus"),
    _row("div", (0, 0, 0, 10, 10), "real numbers exactly; Smith's formula of complex numbers, ten roundings"),
    _row("sign", (0, 0, 0, 8, 8), "real numbers exactly; complex numbers over their modulus, whose error is 4; the result's unit may be "
                                  "that below 1"),
    _row("sqrt", (0, 0, 0, 6, 6), "real numbers exactly; complex numbers by their modulus, a sum, a root and a quotient"),
    _row("abs", (0, 4, 4, None, None), "real numbers exactly; a modulus by a quotient, a square, a sum, a root and a product"),
    _row("convert_element_type", (1, 0, 0, 0, 0), "XLA's CPU backend converts float64 to float16 by way of float32, and rounds twice"),
    _row("exp", (1, 2, 3, 10, 10), f"{_DOCUMENTED}; complex: exp, cos or sin, and a product"),
    _row("exp2", (2, 2, 3, None, None), "exp(x log 2), as in JAX: the roundings of log 2 and of the product are multiplied by the exponent",
         _EXP2),
    _row("expm1", (3, 6.5, 6.5, 12, 12), f"{_IN_STEPS}; the real part of complex numbers is a difference", None, _EXPM1),
    _row("log", (1, 2, 3, 4, 4), f"{_DOCUMENTED}; the real part of complex numbers by their modulus, which may be near 1", None, _LOG),
    _row("log1p", (1, 3, 4, 4, 4), f"{_DOCUMENTED}; complex as log",
         _LOG1P, _COMPLEX_LOG1P, narrow_units=0),
    _row("log2", (2, 3, 4, 6, 6), "the logarithm over log 2", None, _LOG),
    _row("one_minus_square", (3, 3, 3, 8, 8), "(1 + x)(1 - x), three roundings; complex: relative to the modulus"),
    _row("polynomial", (1, 1, 1, 3, 3), "Horner's rule: two roundings per step, of sums of the terms' magnitudes", _HORNER, _HORNER,
         narrow_units=1),
    _row("logistic", (2.5, 4.5, 6.5, 12, 12), f"{_DOCUMENTED}: 1 / (1 + exp(-x)), rounded after each operation", None, _LOGISTIC),
    _row("rsqrt", (1, 2, 3, 16, 16), f"{_DOCUMENTED}; complex: one over the root", None),
    _row("cbrt", (1, 1.5, 5.5, None, None), _DOCUMENTED),
    _row("sin cos", (1, 2, 3.5, 20, 20), f"{_DOCUMENTED}; complex: products with sinh and cosh", None, _ON_IMAGINARY),
    _row("tan", (1, 3.5, 3.5, 16, 16), f"{_DOCUMENTED}; complex: a quotient whose denominator is a sum of two signs near the poles", None,
         _TAN),
    _row("asin acos acosh asinh", (3, 6, 6, 10, 10), f"{_IN_STEPS}; one documented unit and a half more for older releases"),
    _row("atan", (1, 5.5, 4.5, 10, 10), _DOCUMENTED),
    _row("atanh", (3, 4.5, 4.5, 10, 10), f"{_IN_STEPS}; by log1p", _ATANH, narrow_units=0),
    _row("atan2", (1, 3, 2.5, 12, 12), f"{_DOCUMENTED}; complex angles by a logarithm, relative to 1", None, _ATAN2),
    _row("sinh cosh", (1, 20, 20, 20, 20), "exp(x - log 2) and the like: the difference's rounding times |x|; twice the error of expm1",
         _EXP_ARGUMENT, _ON_REAL, narrow_units=_F32_OF_NARROW),
    _row("tanh", (1, 7, 10, 16, 16), f"{_DOCUMENTED}; complex as tan", None, _TANH),
    _row("pow", (1, 2, 2, 10, 10), "the C library's; complex powers are exp(y log x)", None, _POW),
    _row("integer_pow", (4, 4, 4, 14, 14), "repeated squaring doubles the error, four roundings up to x⁵; complex: √5 roundings each, and "
                                           "a quotient"),
    _row("erf", (1, 7, 4, None, None), _DOCUMENTED),
    _row("erfc", (1, 16, 16, None, None), "exp(-x²) times a rational function: the square's rounding times x²", _ERFC,
         narrow_units=_F32_OF_NARROW),
    _row("erf_inv", (1, 8, 8, None, None), "of log(1 - x²): a rounding of 1 - x² is one of x, times the condition number", _ERF_INV,
         narrow_units=_F32_OF_NARROW),
    _row("lgamma digamma", (1, 16, 16, None, None),
         "Lanczos' sum and x log x: roundings of the summands; relative to 1 at least, since there are zeros",
         _SLOPE, narrow_units=_F32_OF_NARROW),
    _row("polygamma", (1, 32, 32, None, None), "exp(log Γ(x + 1)) ζ(x + 1, y): the roundings of the exponent's summands", _POLYGAMMA,
         narrow_units=_F32_OF_NARROW),
    _row("bessel_i0e", (1, 8, 8, None, None), _DOCUMENTED),
    _row("bessel_i1e", (1, 15.5, 15.5, None, None), _DOCUMENTED),
    _row("zeta", (1, 16, 16, None, None), "Euler and Maclaurin's sum of a dozen positive terms (y + i)^-x: the base's rounding times x",
         _ZETA, narrow_units=_F32_OF_NARROW),
    _row("igamma igammac", (1, 32, 32, None, None), "y^x e^-y / Γ(x) as exp of a sum: the roundings of its summands; relative to 1",
         _GAMMA_FACTOR, narrow_units=_F32_OF_NARROW),
    _row("igamma_grad_a", (1, 32, 256, None, None),
         "as igamma, and the roundings of the exponent's derivative; in float64 the reference is a "
         "difference quotient, whose step may be 0.03", _GAMMA_SLOPE,
         narrow_units=_F32_OF_NARROW),
    _row("random_gamma_grad", (1, 32, 1e5, None, None),
         "a series and its derivative by x, with the error of each relative to it; in float64 the "
         "reference is a difference quotient with eleven digits", _SAMPLE_SLOPE,
         narrow_units=_F32_OF_NARROW),
    _row("regularized_incomplete_beta", (1, 32, 32, None, None),
         "the front factor as exp of a sum: the roundings of its summands; relative to 1",
         _BETA_FACTOR, narrow_units=_F32_OF_NARROW),
    _row("reduce_sum reduce cumsum reduce_window_sum reduce_window select_and_scatter_add scatter-add scatter-sub", (1, 1, 1, 1, 1),
         _SUM, per="terms"),
    _row("reduce_prod cumprod scatter-mul", (1, 1, 1, 2.5, 2.5), "a rounding per factor, √5 of complex numbers, in whichever order",
         per="factors"),
    _row("cumlogsumexp", (8, 8, 8, None, None), "per step exp, log1p and two sums, relative to the largest operand and 1", per="terms"),
    _row("dot_general ragged_dot_general conv_general_dilated", (0.51, 1, 1, 3.5, 3.5),
         f"a rounding per product (√5 of complex numbers), and {_SUM}; {_ONCE_ROUNDED}", per="terms", narrow_units=_F32_OF_NARROW),
    _row("fft", (None, 4, 4, 4, 4), "per axis as many products with rounded roots of unity, relative to the sum of the absolute values, as "
                                    "its length has at most", per="summed lengths"),
    _row("cholesky lu qr geqrf householder_product hessenberg schur triangular_solve tridiagonal_solve symmetric_product "
         "ormqr tridiagonal cholesky_update", (None, 8, 8, 16, 16), f"two builds of LAPACK, or the small matrices' kernel; {_FACTORS}",
         per="sizes times condition numbers"),
    _row("eig eigh svd", (None, 16, 16, 32, 32),
         "two builds of LAPACK, backward stable, relative to the largest operand; vectors are compared through "
                                                 "the matrices they factor", per="sizes"),
]
_ROW_OF = {name: row for row in ROWS for name in row.names}


def tolerance(name: str, expected: np.ndarray, dtype: np.dtype, operands: list[np.ndarray], terms: np.ndarray | float = 1.0) -> np.ndarray:
    """The largest errors allowed of an operation's results, in units in the last place; 0 where there is no row.

    Args:
      name: of the operation.
      expected: the exact results.
      dtype: of the results that are compared.
      operands: the operation's, before they are converted.
      terms: how many numbers are added or multiplied to each result, or what else the row says.
    """
    row, column = _ROW_OF.get(name), COLUMNS.get(dtype.name)
    units = None if row is None or column is None else row.units[column]
    if row is None or not units:
        return np.zeros(())
    narrow = row.narrow_units if column == 0 else 1.0
    if row.per:
        return np.asarray(units * terms if narrow == 1.0 else units + terms * narrow, np.float64)
    growth = row.complex_growth if any(x.dtype.kind == "c" for x in operands) else row.growth
    if growth is None:
        return np.asarray(units)
    with np.errstate(all="ignore"):
        wide = [x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (expected, *operands)]
        grown = growth.units(*wide) * narrow
    return units + np.where(np.isfinite(grown) & np.isfinite(expected), grown, 0.0)


def document() -> str:
    """The table in Markdown."""
    head = ["# Tolerances", "",
            "By how much a compiled operation may differ from its NumPy reference on CPU, in units in the last place of the result's",
            "dtype. Written by `packages/api/tests/compiled/tolerances.py`, whose numbers `test_compiled_numbers.py` uses. They are "
            "derived",
            "from what is documented of the compiler's functions, the number of roundings and the conditioning of what is computed, not",
            "from errors that were seen: those differ from one processor to another. Operations without a row are equal to the last bit.",
            "Results are the same as JAX's with the same jaxlib, to the last bit, where the compiled program is the same, which is nearly",
            "everywhere. The reference runs in float64 (complex128) and is rounded once; in float64 it is NumPy's own function, whose "
            "error is a",
            "part of the bound. Subnormal numbers are zeros to XLA's CPU backend: none is drawn, and a result below the smallest normal "
            "number may be zero.", "",
            "In formulas x, y, z are the operands, f is the result, and G(x) is 200 where -0.46 < x < -0.28, 0 elsewhere: there jaxlib "
            "0.10.2",
            "takes log1p of float64 from a series beyond its interval. \"Per\" says what the units are multiplied by.", "",
            "| operations | " + " | ".join(_HEADINGS) + " | and where ill-conditioned | per | reason |",
            "|---" * (len(_HEADINGS) + 4) + "|"]
    return "\n".join([*head, *map(_line, ROWS), ""])


def _line(row: Row) -> str:
    formulas = [f"{kind}: {growth.formula}" for kind, growth in (("real", row.growth), ("complex", row.complex_growth)) if growth]
    cells = [", ".join(row.names), *["" if u is None else f"{u:g}" for u in row.units], "; ".join(formulas), row.per, row.reason]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    print(document(), end="")
