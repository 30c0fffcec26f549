"""`laminax.scipy` but for its linear algebra, and `laminax.ops`, `laminax.image`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal
import scipy.special
import scipy.stats

import laminax
from functions.drawing import COMPLEX, FLOATS, FULL_FLOATS, INTEGERS, Call, Draw
from functions.entries import Arguments, entry, untested

S = "scipy.special"


def arrays(*bounds: tuple[float | None, float | None], dtypes: Any = FULL_FLOATS) -> Arguments:
    """Arrays of one dtype that broadcast, each between its bounds."""

    def draw_some(draw: Draw) -> Call:
        x = draw.array(dtypes, low=bounds[0][0], high=bounds[0][1])
        return Call((x, *(draw.like(x, low=low, high=high) for low, high in bounds[1:])))

    return draw_some


def scipys(names: str, draw: Arguments, **options: Any) -> None:
    for name in names.split():
        entry(S, name, draw, getattr(scipy.special, name), **({"units": 512, "scale": "largest"} | options))


ANY = (None, None)
scipys("erf erfc expit", arrays(ANY, dtypes=FLOATS), scale="elements")
scipys("erfinv", arrays((-0.999, 0.999)))
scipys("erfcinv", arrays((0.01, 1.99)))
scipys("ndtri", arrays((0.001, 0.999)))
scipys("ndtr", arrays((-30, 30)))
entry(S, "log_ndtr", lambda d: Call((d.array(FULL_FLOATS, low=-30, high=30),), {"series_order": 10}),  # three, the default, give 8 digits
      lambda x, series_order: scipy.special.log_ndtr(x), units=512, scale="largest")
scipys("logit", arrays((0.001, 0.999)))
scipys("gamma", arrays((0.1, 20)), units=4000)
scipys("gammaln", arrays((0.1, 50)))
entry(S, "loggamma", arrays((0.1, 50)), scipy.special.loggamma, units=512, scale="largest")
scipys("gammasgn", arrays((-20.5, 20)), scale="any")
scipys("digamma", arrays((0.1, 50)))
scipys("polygamma", lambda d: Call((n := d.array("int32", low=0, high=5), d.array(FULL_FLOATS, n.shape, 0.5, 20))), units=20000)
scipys("zeta", arrays((1.5, 10), (0.5, 20)), units=4000)
scipys("beta betaln", arrays((0.2, 20), (0.2, 20)), units=4000)
scipys("betainc", arrays((0.3, 20), (0.3, 20), (0, 1)), units=20000)
scipys("gammainc gammaincc", arrays((0.2, 30), (0, 40)), units=20000)
scipys("i0 i1", arrays((-20, 20)))
scipys("i0e i1e", arrays((-50, 50)))
scipys("entr", arrays((0, 10), dtypes=FLOATS))
scipys("kl_div rel_entr", arrays((0.01, 10), (0.01, 10)))
scipys("xlogy xlog1py", arrays((-5, 5), (0.01, 10), dtypes=FLOATS))
scipys("spence", arrays((0, 10)))
scipys("exp1", arrays((0.05, 30)), units=4000)
scipys("expi", arrays((0.05, 30)), units=4000)
scipys("expn", lambda d: Call((n := d.array("int32", low=1, high=6), d.array(FULL_FLOATS, n.shape, 0.1, 10))), units=4000)
scipys("poch", arrays((0.5, 8), (0.1, 5)), units=20000)
scipys("comb", lambda d: Call((n := np.floor(d.array(FULL_FLOATS, low=0, high=20)), np.floor(d.like(n, low=0, high=20)))), units=4000)
scipys("factorial", lambda d: Call((np.floor(d.array(FULL_FLOATS, low=0, high=20)),)), units=4000)
scipys("hyp1f1", arrays((0.5, 3), (0.5, 3), (-3, 3)), units=50000)
scipys("hyp2f1", arrays((0.5, 2), (0.5, 2), (2.5, 4), (-0.9, 0.9)), units=50000)
scipys("boxcox", arrays((0.1, 10), (-2, 2)))
scipys("boxcox1p", arrays((0.1, 10), (-2, 2)))
scipys("dawsn", arrays((-20, 20)))
scipys("erfcx", arrays((-5, 30)))
scipys("fresnel", arrays((-10, 10)))
scipys("sici", arrays((0.1, 30)))
scipys("owens_t", arrays((-4, 4), (-3, 3)))
entry(S, "wofz", lambda d: Call((d.array(COMPLEX, low=-3, high=3),)), scipy.special.wofz, units=4000, scale="largest")
scipys("bernoulli", lambda d: Call((d.below(12),)), units=1e6)  # SciPy's are off by 5e-11
scipys("multigammaln", lambda d: Call((d.array(FULL_FLOATS, low=3, high=20), d.below(5, 1))), units=4000)
scipys("log_softmax softmax", lambda d: Call((x := d.array(FULL_FLOATS, low=-10, high=10, filled=True),), {"axis": d.axes(x.ndim)}))
scipys(
    "logsumexp",
    lambda d: Call(
        (x := d.array(FULL_FLOATS, low=-10, high=10, filled=True),),
        # SciPy keeps one axis of a number, which has none
        {"axis": d.axes(x.ndim), "keepdims": d.flag() and x.ndim > 0, "b": d.one(None, np.abs(d.like(x, low=0.1, high=2)))},
    ),
    flips=False,
)
untested(S, "bessel_jn sph_harm_y", "recurrences", "packages/api/tests/test_scipy_special_recurrences.py")

# --- statistics: density, distribution and its inverses ---

DISTRIBUTIONS: dict[str, tuple[tuple[float, float], tuple[tuple[float, float], ...]]] = {  # range of x, of its parameters
    "norm": ((-6, 6), ()),
    "cauchy": ((-6, 6), ()),
    "laplace": ((-6, 6), ()),
    "logistic": ((-6, 6), ()),
    "expon": ((0.01, 10), ()),
    "uniform": ((-0.5, 1.5), ()),
    "gumbel_r": ((-3, 6), ()),
    "gumbel_l": ((-6, 3), ()),
    "t": ((-6, 6), ((0.5, 20),)),
    "beta": ((0.01, 0.99), ((0.3, 10), (0.3, 10))),
    "gamma": ((0.01, 20), ((0.3, 10),)),
    "chi2": ((0.01, 20), ((0.5, 10),)),
    "pareto": ((1.01, 10), ((0.5, 5),)),
    "gennorm": ((-4, 4), ((0.5, 4),)),
    "truncnorm": ((-0.9, 0.9), ((-3, -1), (1, 3))),
    "vonmises": ((-3, 3), ((0.1, 10),)),
    "wrapcauchy": ((0.1, 6), ((0.1, 0.9),)),
}
COUNTS: dict[str, tuple[tuple[float, float], ...]] = {
    "bernoulli": ((0.01, 0.99),),
    "geom": ((0.05, 0.95),),
    "poisson": ((0.1, 20),),
    "binom": ((5, 20), (0.05, 0.95)),
    "nbinom": ((1, 10), (0.05, 0.95)),
    "betabinom": ((5, 20), (0.3, 5), (0.3, 5)),
}


def _statistics() -> None:
    """An entry for each function of each distribution that laminax has."""
    for name, (bounds, parameters) in DISTRIBUTIONS.items():
        for function in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"):
            if hasattr(getattr(laminax.scipy.stats, name), function):
                ends = (0.02, 0.98) if function in ("ppf", "isf") else bounds
                entry(
                    f"scipy.stats.{name}",
                    function,
                    arrays(ends, *parameters),
                    getattr(getattr(scipy.stats, name), function),
                    units=20000,
                    scale="largest",
                )
    for name, parameters in COUNTS.items():
        for function in ("pmf", "logpmf", "cdf", "sf", "logcdf", "logsf", "ppf"):
            if hasattr(getattr(laminax.scipy.stats, name), function):
                entry(
                    f"scipy.stats.{name}",
                    function,
                    _counted(parameters, function == "ppf"),
                    getattr(getattr(scipy.stats, name), function),
                    units=20000,
                    scale="largest",
                )


def _counted(parameters: tuple[tuple[float, float], ...], is_inverse: bool) -> Arguments:
    def draw_some(draw: Draw) -> Call:
        k = np.floor(draw.array(FULL_FLOATS, low=0, high=8)) if not is_inverse else draw.array(FULL_FLOATS, low=0.02, high=0.98)
        rest = [draw.like(k, low=low, high=high) for low, high in parameters]
        return Call(
            (k, *(np.floor(x) if low >= 1 and high > 1 and i == 0 else x for i, (x, (low, high)) in enumerate(zip(rest, parameters))))
        )

    return draw_some


_statistics()
T = "scipy.stats"
entry(
    T,
    "rankdata",
    lambda d: Call((d.array(INTEGERS + FULL_FLOATS, (6,), -3, 3),), {"method": d.one("average", "min", "max", "dense", "ordinal")}),
    scipy.stats.rankdata,
    scale="any",
)
entry(
    T,
    "sem",
    lambda d: Call((x := d.array(FULL_FLOATS, d.one((5,), (3, 4)), -3, 3),), {"axis": d.axis(x.ndim), "ddof": d.below(2)}),
    scipy.stats.sem,
    units=256,
    scale="largest",
)
entry(
    T,
    "mode",
    lambda d: Call(
        (x := d.array(INTEGERS + FULL_FLOATS, d.one((6,), (3, 4)), 0, 2),), {"axis": d.one(None, d.axis(x.ndim)), "keepdims": d.flag()}
    ),
    scipy.stats.mode,
    scale="any",
)

# --- signals, and what is left ---

G = "scipy.signal"


def signals(names: str, draw: Arguments, **options: Any) -> None:
    for name in names.split():
        entry(G, name, draw, getattr(scipy.signal, name), **({"units": 2000, "scale": "largest"} | options))


def _pair(*shapes: tuple[tuple[int, ...], tuple[int, ...]], dtypes: Any = FULL_FLOATS + COMPLEX) -> Arguments:
    def draw_two(draw: Draw) -> Call:
        a, b = draw.one(*shapes)
        x = draw.array(dtypes, a, -2, 2)
        return Call((x, draw.array(x.dtype.name, b, -2, 2)), {"mode": draw.one("full", "same", "valid")})

    return draw_two


signals("convolve correlate fftconvolve", _pair(((6,), (3,)), ((4, 5), (2, 3))))
signals("convolve2d correlate2d", _pair(((4, 5), (2, 3)), dtypes=FULL_FLOATS))
signals(
    "detrend",
    lambda d: Call((x := d.array(FULL_FLOATS, d.one((7,), (3, 6)), -2, 2),), {"type": d.one("linear", "constant"), "axis": d.axis(x.ndim)}),
)
signals(
    "welch",
    lambda d: Call((d.array("float32", (64,), -2, 2),), {"nperseg": d.one(16, 32), "fs": 2.0, "detrend": d.one("constant", False)}),
    units=50000,
)
signals("csd", lambda d: Call((d.array("float32", (64,), -2, 2), d.array("float32", (64,), -2, 2)), {"nperseg": 16}), units=50000)
signals("stft", lambda d: Call((d.array("float32", (64,), -2, 2),), {"nperseg": d.one(16, 32)}), units=20000)
untested(G, "istft", "inverts stft", "packages/api/tests/test_scipy_signal.py")
entry(
    "scipy.integrate",
    "trapezoid",
    lambda d: Call((y := d.array(FULL_FLOATS, d.one((5,), (3, 4)), -2, 2),), {"dx": 0.5, "axis": d.axis(y.ndim)}),
    np.trapezoid,
    units=64,
    scale="largest",
)
untested("scipy.ndimage", "map_coordinates", "compared there", "packages/api/tests/test_scipy_small_modules.py")
untested("scipy.optimize", "minimize", "an iteration", "packages/api/tests/test_scipy_optimize.py")
untested("scipy.cluster.vq", "vq", "compared there", "packages/api/tests/test_scipy_small_modules.py")
untested("image", "resize scale_and_translate", "compared there", "packages/api/tests/test_image.py")


def _segments(function: Any, empty: Any) -> Any:
    def oracle(data: np.ndarray, ids: np.ndarray, num_segments: int) -> np.ndarray:
        return np.stack(
            [
                function(data[ids == i], axis=0) if np.any(ids == i) else np.full(data.shape[1:], empty(data.dtype), data.dtype)
                for i in range(num_segments)
            ]
        )

    return oracle


def _extreme(sign: int) -> Any:
    def empty(dtype: np.dtype) -> Any:
        return sign * np.inf if dtype.kind not in "iu" else getattr(np.iinfo(dtype), "max" if sign > 0 else "min")

    return empty


for name, function, empty in (
    ("segment_sum", np.sum, lambda dtype: 0),
    ("segment_prod", np.prod, lambda dtype: 1),
    ("segment_max", np.max, _extreme(-1)),
    ("segment_min", np.min, _extreme(1)),
):
    entry(
        "ops",
        name,
        lambda d: Call((d.array(INTEGERS + FULL_FLOATS, d.one((6,), (6, 2)), special=False), d.array("int32", (6,), 0, 4), 5)),
        _segments(function, empty),
        units=64,
        scale="largest",
        raw=True,
    )
