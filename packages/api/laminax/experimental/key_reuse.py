"""Finds random keys that are used twice: while the option `debug_key_reuse` is on, a second use raises a `KeyReuseError`.

Programs are checked before they run, bodies of loops for what repeated use would do. Keys chosen by traced indices or conditions count
as new; raw keys (`random.PRNGKey`) and calls of compiled objects (`f.lower(...).compile()`) are not followed.

Example:
  >>> import laminax
  >>> key = laminax.random.key(0)
  >>> with laminax.debug_key_reuse(True):
  ...     _ = laminax.random.normal(key), laminax.random.uniform(key)
  Traceback (most recent call last):
    ...
  laminax_ir.types.errors.KeyReuseError: Previously-consumed key passed to jit-compiled function at index 0: ...
"""

from laminax_ir.types.errors import KeyReuseError

__all__ = ["KeyReuseError"]
