"""Special functions, as in `scipy.special`. A table of contents: names load on first use."""

from __future__ import annotations

import importlib

_MODULE_OF = {
    "logsumexp": "laminax._src.nn.normalization",
    **dict.fromkeys((
        "beta", "betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfinv", "expit", "factorial", "gamma", "gammainc",
        "gammaincc", "gammaln", "gammasgn", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr", "log_softmax", "loggamma", "logit",
        "multigammaln", "ndtr", "ndtri", "polygamma", "rel_entr", "softmax", "xlog1py", "xlogy", "zeta"), "laminax._src.scipy.special"),
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str):
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("laminax._src.setup")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
