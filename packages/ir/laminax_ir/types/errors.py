"""The exceptions of laminax.

Each subclasses the built-in exception a caller would expect (`TypeError`, `ValueError`, ...), so that
`except TypeError` keeps working; the names exist so that a program can tell the cases apart.
"""


class ShapeError(TypeError):
    """Operand shapes do not fit the operation."""


class DTypeError(TypeError):
    """Operand dtypes do not fit the operation."""


class UnboundAxisNameError(NameError):
    """A collective names an axis that no enclosing `vmap`, `pmap` or mesh defines."""


class JAXTypeError(TypeError):
    """The base of the type errors that concern traced values, by JAX's name for it."""


class JAXIndexError(IndexError):
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


class ShardingTypeError(Exception):
    """The types of operands say that they are split over devices in ways that do not fit, or leave open how the result is."""


class ForbiddenCollectiveError(Exception):
    """An operation would have devices exchange data along a mesh axis where `no_collectives` forbids that."""


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used outside the transformation that made it."""


class LeakedTracerError(UnexpectedTracerError):
    """A traced value was used after its trace had ended."""


class JaxprTypeError(TypeError):
    """A jaxpr is malformed."""


class InconclusiveDimensionOperation(Exception):
    """Sizes that are symbols could not be compared. Nothing raises it: sizes are numbers here."""


class KeyReuseError(JAXTypeError):
    """A random key was used more than once while reuse checking was on."""
