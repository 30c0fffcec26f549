"""The exceptions of laminax; each subclasses the built-in exception a caller would expect. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.types.errors": """
        ConcretizationTypeError DTypeError ForbiddenCollectiveError InconclusiveDimensionOperation JAXIndexError JAXTypeError JaxprTypeError
        KeyReuseError LeakedTracerError NonConcreteBooleanIndexError ShapeError ShardingTypeError TracerArrayConversionError
        TracerBoolConversionError TracerIntegerConversionError UnboundAxisNameError UnexpectedTracerError""",
    "laminax_runtime.base.errors": "DeletedArrayError JaxRuntimeError PlatformError UnsupportedValueError XlaRuntimeError",
})
