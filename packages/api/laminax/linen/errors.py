"""The errors of modules, as `flax.errors` has them. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"linen.errors": """
    ApplyModuleInvalidMethodError ApplyScopeInvalidVariablesStructureError ApplyScopeInvalidVariablesTypeError AssignSubModuleError
    CallCompactUnboundModuleError CallSetupUnboundModuleError CallShareScopeOnUnboundModuleError CallUnbindOnUnboundModuleError
    DescriptorAttributeError FlaxError IncorrectPostInitOverrideError InvalidFilterError InvalidInstanceModuleError InvalidRngError
    InvalidScopeError JaxTransformError LazyInitError ModifyScopeVariableError NameInUseError PartitioningUnspecifiedError
    ReservedModuleAttributeError ScopeCollectionNotFound ScopeParamNotFoundError ScopeParamShapeError ScopeVariableNotFoundError
    SetAttributeFrozenModuleError SetAttributeInModuleSetupError TransformTargetError TransformedMethodReturnValueError"""})
