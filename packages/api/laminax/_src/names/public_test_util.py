"""Comparisons with tolerances by dtype, which tests of libraries import by this name."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.types import dtypes

from laminax._src.debugging.testing import _assert_close
from laminax.test_util import *  # noqa: F403

# A few units in the last place, as in JAX.
_CLOSE = {np.dtype(dtypes.bfloat16): 1e-2, np.dtype(np.float16): 1e-3, np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-15,
          np.dtype(np.complex64): 1e-6, np.dtype(np.complex128): 1e-15}


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Compares the arrays of two pytrees, with tolerances by dtype.

    Args:
      xs, ys: pytrees of arrays.
      atol, rtol: the absolute and the relative tolerance: a number, a dict of them by dtype, or None for 1e-2, 1e-3, 1e-6 and 1e-15
        for bfloat16, 16, 32 and 64 bits, and 0 for integers.
      err_msg: a part of the message.

    Raises:
      AssertionError: if structure, shapes or numbers differ.
    """
    _assert_close(xs, ys, _with_defaults(atol), _with_defaults(rtol), err_msg)


def _with_defaults(given: Any) -> Any:
    if given is None or isinstance(given, dict):
        return _CLOSE | {np.dtype(k): v for k, v in (given or {}).items()}
    return given
