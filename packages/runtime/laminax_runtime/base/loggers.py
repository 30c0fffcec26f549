"""Logs on stderr, for the options `logging_level` and `debug_log_modules`."""

from __future__ import annotations

import logging

from laminax_runtime import _jaxlib

_handler = logging.StreamHandler()
_handler.setFormatter(logging.Formatter("%(levelname)s:%(asctime)s:%(name)s:%(lineno)d: %(message)s"))
_before: dict[str, int] = {}  # the level that each logger had


def write_to_stderr(level: str | None, modules: str) -> None:
    """Writes what laminax logs from a level on, and all that some modules log; what an earlier call asked for ends.

    Args:
        level: a level's name; NOTSET or None leaves the log of laminax alone. What jaxlib's C++ logs is written from the level on as well,
          and stays so, for it does not tell from which it was.
        modules: names of loggers, with commas between them; "jax", as it is called where programs were written for JAX, is laminax too.
    """
    is_level = level not in (None, "NOTSET")
    if is_level:
        _jaxlib.set_min_log_level({"DEBUG": 0, "INFO": 0, "WARNING": 1, "ERROR": 2, "CRITICAL": 3}[str(level)])
    wanted = {"laminax": logging.getLevelName(str(level))} if is_level else {}
    names = {name.strip() for name in modules.split(",")} - {""}
    wanted.update(dict.fromkeys(names | {"laminax"} if "jax" in names else names, logging.DEBUG))
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
