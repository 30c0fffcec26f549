"""How many warnings that depend on arguments this thread has given: what recordings ask, to leave out calls that must warn each time."""

from __future__ import annotations

import threading


class _Given(threading.local):
    count: int = 0


given = _Given()


def count_warning() -> None:
    """To be called where a warning depends on the arguments of the function at work: every equal call must give it again, so
    that this one is not recorded (see `recordings`)."""
    given.count += 1
