# Written by tools/stubs.py.
"""The exceptions of laminax; each subclasses the built-in exception a caller would expect. A table of contents: names load on first use."""

from laminax_ir.types.errors import ConcretizationTypeError as ConcretizationTypeError
from laminax_ir.types.errors import DTypeError as DTypeError
from laminax_ir.types.errors import ForbiddenCollectiveError as ForbiddenCollectiveError
from laminax_ir.types.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from laminax_ir.types.errors import JAXIndexError as JAXIndexError
from laminax_ir.types.errors import JAXTypeError as JAXTypeError
from laminax_ir.types.errors import JaxprTypeError as JaxprTypeError
from laminax_ir.types.errors import KeyReuseError as KeyReuseError
from laminax_ir.types.errors import LeakedTracerError as LeakedTracerError
from laminax_ir.types.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from laminax_ir.types.errors import ShapeError as ShapeError
from laminax_ir.types.errors import ShardingTypeError as ShardingTypeError
from laminax_ir.types.errors import TracerArrayConversionError as TracerArrayConversionError
from laminax_ir.types.errors import TracerBoolConversionError as TracerBoolConversionError
from laminax_ir.types.errors import TracerIntegerConversionError as TracerIntegerConversionError
from laminax_ir.types.errors import UnboundAxisNameError as UnboundAxisNameError
from laminax_ir.types.errors import UnexpectedTracerError as UnexpectedTracerError
from laminax_runtime._jaxlib import XlaRuntimeError as JaxRuntimeError
from laminax_runtime._jaxlib import XlaRuntimeError as XlaRuntimeError
from laminax_runtime.base.errors import DeletedArrayError as DeletedArrayError
from laminax_runtime.base.errors import PlatformError as PlatformError
from laminax_runtime.base.errors import UnsupportedValueError as UnsupportedValueError

__all__: list[str]

