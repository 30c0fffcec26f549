"""Logs on stderr, for the options `logging_level` and `debug_log_modules`."""

from __future__ import annotations

import logging

_handler = logging.StreamHandler()
_handler.setFormatter(logging.Formatter("%(levelname)s:%(asctime)s:%(name)s:%(lineno)d: %(message)s"))
_before: dict[str, int] = {}  # the level that each logger had


def write_to_stderr(level: str, modules: str) -> None:
    """Writes what laminax logs from a level on, and all that some modules log; what an earlier call asked for ends.

    Args:
        level: a level's name; NOTSET leaves the log of laminax alone.
        modules: names of loggers, with commas between them.
    """
    wanted = {} if level == "NOTSET" else {"laminax": logging.getLevelName(level)}
    wanted.update({name.strip(): logging.DEBUG for name in modules.split(",") if name.strip()})
    for name, old in _before.items():
        logger = logging.getLogger(name)
        logger.removeHandler(_handler)
        logger.setLevel(old)
    _before.clear()
    for name, new in wanted.items():
        logger = logging.getLogger(name)
        _before[name] = logger.level
        logger.setLevel(new)
        logger.addHandler(_handler)
