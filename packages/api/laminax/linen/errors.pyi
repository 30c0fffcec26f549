# Written by tools/stubs.py.
"""The errors of modules, as `flax.errors` has them. A table of contents: names load on first use."""

from laminax._src.linen.errors import ApplyModuleInvalidMethodError as ApplyModuleInvalidMethodError
from laminax._src.linen.errors import ApplyScopeInvalidVariablesStructureError as ApplyScopeInvalidVariablesStructureError
from laminax._src.linen.errors import ApplyScopeInvalidVariablesTypeError as ApplyScopeInvalidVariablesTypeError
from laminax._src.linen.errors import AssignSubModuleError as AssignSubModuleError
from laminax._src.linen.errors import CallCompactUnboundModuleError as CallCompactUnboundModuleError
from laminax._src.linen.errors import CallSetupUnboundModuleError as CallSetupUnboundModuleError
from laminax._src.linen.errors import CallShareScopeOnUnboundModuleError as CallShareScopeOnUnboundModuleError
from laminax._src.linen.errors import CallUnbindOnUnboundModuleError as CallUnbindOnUnboundModuleError
from laminax._src.linen.errors import DescriptorAttributeError as DescriptorAttributeError
from laminax._src.linen.errors import FlaxError as FlaxError
from laminax._src.linen.errors import IncorrectPostInitOverrideError as IncorrectPostInitOverrideError
from laminax._src.linen.errors import InvalidFilterError as InvalidFilterError
from laminax._src.linen.errors import InvalidInstanceModuleError as InvalidInstanceModuleError
from laminax._src.linen.errors import InvalidRngError as InvalidRngError
from laminax._src.linen.errors import InvalidScopeError as InvalidScopeError
from laminax._src.linen.errors import JaxTransformError as JaxTransformError
from laminax._src.linen.errors import LazyInitError as LazyInitError
from laminax._src.linen.errors import ModifyScopeVariableError as ModifyScopeVariableError
from laminax._src.linen.errors import NameInUseError as NameInUseError
from laminax._src.linen.errors import PartitioningUnspecifiedError as PartitioningUnspecifiedError
from laminax._src.linen.errors import ReservedModuleAttributeError as ReservedModuleAttributeError
from laminax._src.linen.errors import ScopeCollectionNotFound as ScopeCollectionNotFound
from laminax._src.linen.errors import ScopeParamNotFoundError as ScopeParamNotFoundError
from laminax._src.linen.errors import ScopeParamShapeError as ScopeParamShapeError
from laminax._src.linen.errors import ScopeVariableNotFoundError as ScopeVariableNotFoundError
from laminax._src.linen.errors import SetAttributeFrozenModuleError as SetAttributeFrozenModuleError
from laminax._src.linen.errors import SetAttributeInModuleSetupError as SetAttributeInModuleSetupError
from laminax._src.linen.errors import TransformTargetError as TransformTargetError
from laminax._src.linen.errors import TransformedMethodReturnValueError as TransformedMethodReturnValueError

__all__: list[str]

