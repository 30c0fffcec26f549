"""How accurate an elementwise function must be: the `accuracy` of `exp`, `log`, `sin` and their kin.

Source: StableHLO specification, "Result accuracy".
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class AccuracyMode(enum.Enum):
    """Which of a compiler's implementations of a function is taken: the most accurate one, or the compiler's default.

    Example:
      >>> exp(np.float32([0, 1]), accuracy=AccuracyMode.HIGHEST)
      array([1.       , 2.7182817], dtype=float32)
    """

    HIGHEST = 1
    DEFAULT = 2


@dataclass(frozen=True)
class Tolerance:
    """How far a function's result may be off; the compiler refuses a tolerance that none of its implementations keeps.

    Args:
      atol: the absolute error.
      rtol: the error relative to the result.
      ulps: the error in units of the result's last place.

    Raises:
      ValueError: if one is negative.

    Example:
      >>> exp(np.float32([0, 1]), accuracy=Tolerance(rtol=1e-6))
      array([1.       , 2.7182817], dtype=float32)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if self.atol < 0 or self.rtol < 0 or self.ulps < 0:
            raise ValueError(f"Tolerance: tolerances must be non-negative, got {self!r}")


def check_accuracy(name: str, accuracy: Tolerance | AccuracyMode) -> None:
    """Raises TypeError unless it is a `Tolerance` or an `AccuracyMode`."""
    if not isinstance(accuracy, (Tolerance, AccuracyMode)):
        raise TypeError(f"{name}: accuracy must be None, a Tolerance or an AccuracyMode, got {accuracy!r} of type "
                        f"{type(accuracy).__name__}")
