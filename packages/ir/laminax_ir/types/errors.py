"""The exceptions of laminax.

Each subclasses the built-in exception a caller would expect (`TypeError`, `ValueError`, ...), so that
`except TypeError` keeps working; the names exist so that a program can tell the cases apart. Each has a page in the documentation,
docs/errors, whose address tracebacks show below the message.
"""

PAGES = "errors/"  # where in the documentation's site the pages are


class DocumentedError(Exception):
    """The base of exceptions with a page: a note, which tracebacks show and `str` does not, has its address."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        own = next(kind for kind in type(self).__mro__ if kind.__module__.startswith("laminax"))  # a user's subclass has no page
        self.add_note(f"See {PAGES}{own.__name__} in laminax's documentation.")


class ShapeError(DocumentedError, TypeError, ValueError):
    """Operand shapes do not fit the operation: JAX has a `TypeError` for some operations and a `ValueError` for others, this is both."""


class DTypeError(DocumentedError, TypeError):
    """Operand dtypes do not fit the operation."""


class UnboundAxisNameError(DocumentedError, NameError):
    """A collective names an axis that no enclosing `vmap`, `pmap` or mesh defines."""


class JAXTypeError(DocumentedError, TypeError):
    """The base of the type errors that concern traced values, by JAX's name for it."""


class JAXIndexError(DocumentedError, IndexError):
    """The base of the index errors that concern traced values, by JAX's name for it."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where a concrete Python value is needed."""


class TracerBoolConversionError(ConcretizationTypeError):
    """The truth value of a traced array was asked for (`if x > 0:`)."""


class TracerIntegerConversionError(JAXTypeError):
    """A traced array was used as a Python integer (`range(n)`, a list index)."""


class TracerArrayConversionError(JAXTypeError):
    """A traced array was handed to NumPy, which needs concrete values."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index; the result's shape would depend on its values."""


class ShardingTypeError(DocumentedError):
    """The types of operands say that they are split over devices in ways that do not fit, or leave open how the result is."""


class ForbiddenCollectiveError(DocumentedError):
    """An operation would have devices exchange data along a mesh axis where `no_collectives` forbids that."""


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used outside the transformation that made it."""


class LeakedTracerError(UnexpectedTracerError):
    """A traced value was used after its trace had ended."""


class JaxprTypeError(DocumentedError, TypeError):
    """A jaxpr is malformed."""


class InconclusiveDimensionOperation(DocumentedError):
    """A question about sizes that are symbols has no one answer for all that they stand for."""


class KeyReuseError(JAXTypeError):
    """A random key was used more than once while reuse checking was on."""
