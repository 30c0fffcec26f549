"""The errors of modules and of their variables. Their names are Flax's, so that programs that catch them find them here.

Each says what was asked for, of which module or scope, and what to do instead.
"""

from __future__ import annotations

from typing import Any


class FlaxError(Exception):
    """What all errors of modules derive from."""


# Keys and the arguments of init and apply.


class LazyInitError(FlaxError):
    """`lazy_init` met a value that depends on the data, of which it knows shapes only."""

    def __init__(self, partial_val: Any) -> None:
        super().__init__(f"lazy_init: a variable depends on the values of the inputs, of which only types are known ({partial_val}). "
                         "Initialize variables from shapes and keys alone, or call init with arrays.")


class InvalidRngError(FlaxError):
    """A stream of keys is missing, or what was given is no key."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg)


class ApplyScopeInvalidVariablesTypeError(FlaxError):
    """The variables given to `apply` are no dict of dicts."""

    def __init__(self) -> None:
        super().__init__("The first argument passed to an apply function should be a dictionary of collections. Each collection should be "
                         "a dictionary with string keys.")


class ApplyScopeInvalidVariablesStructureError(FlaxError):
    """The variables given to `apply` have a collection within itself."""

    def __init__(self, variables: Any) -> None:
        super().__init__(f"Expect the `variables` (first argument) passed to apply() to be a dict with the structure "
                         f'{{"params": ...}}, but got a dict with an extra params layer, i.e. {{"params": {{"params": ...}}}}. You should '
                         f"instead pass in your dict's [\"params\"]. Its collections are: {sorted(variables)}.")


# Variables.


class ScopeParamNotFoundError(FlaxError, KeyError):
    """A parameter is asked for that the variables do not hold."""

    def __init__(self, param_name: str, scope_path: str) -> None:
        super().__init__(f'Could not find parameter named "{param_name}" in scope "{scope_path}". The variables were made by another '
                         "module, or by another version of this one.")

    def __str__(self) -> str:
        return Exception.__str__(self)  # that of KeyError is in quotes


class ScopeCollectionNotFound(FlaxError):
    """A whole collection is missing from the variables."""

    def __init__(self, col_name: str, var_name: str, scope_path: str) -> None:
        super().__init__(f'Tried to access "{var_name}" from collection "{col_name}" in "{scope_path}" but the collection is empty. '
                         "Pass it with the variables, or make it mutable so that it is initialized.")


class ScopeParamShapeError(FlaxError):
    """A parameter has another shape than its initializer would give it."""

    def __init__(self, param_name: str, scope_path: str, value_shape: tuple[int, ...], init_shape: tuple[int, ...]) -> None:
        super().__init__(f'For parameter "{param_name}" in "{scope_path}", the given initializer is expected to generate shape '
                         f"{init_shape}, but the existing parameter it received has shape {value_shape}.")


class ScopeVariableNotFoundError(FlaxError):
    """A variable is asked for that its collection does not hold."""

    def __init__(self, name: str, col: str, scope_path: str) -> None:
        super().__init__(f'No Variable named "{name}" for collection "{col}" exists in "{scope_path}".')


class InvalidFilterError(FlaxError):
    """A filter of collections is no bool, str, collection of str or DenyList."""

    def __init__(self, filter_like: Any) -> None:
        super().__init__(f'Invalid Filter: "{filter_like}", a {type(filter_like).__name__}. Pass True, False, the name of a collection, '
                         "several names, or DenyList(names).")


class InvalidScopeError(FlaxError):
    """A scope is used after the call that it was made for."""

    def __init__(self, scope_name: str | None) -> None:
        super().__init__(f'The scope "{scope_name}" is no longer valid: the call of init, apply or of a lifted transformation that it was '
                         "made for has ended. Use bind for modules that outlive a call.")


class ModifyScopeVariableError(FlaxError):
    """A variable of a collection is set that is not mutable."""

    def __init__(self, col: str, variable_name: str, scope_path: str) -> None:
        super().__init__(f'Cannot update variable "{variable_name}" in "{scope_path}" because collection "{col}" is immutable. '
                         f'Pass mutable=["{col}"] to apply.')


class JaxTransformError(FlaxError):
    """A module is used within a transformation that is not lifted."""

    def __init__(self) -> None:
        super().__init__("A module is used within a transformation (jit, grad, vmap, scan, ...) that began after the module was bound, so "
                         "its variables belong to another trace. Use the lifted transformation of laminax.linen of that name, or call "
                         "init or apply within the transformation.")


class PartitioningUnspecifiedError(FlaxError):
    """An axis of metadata is added without its name."""

    def __init__(self, target: Any) -> None:
        super().__init__("Trying to transform a Partitioned variable but \"partition_name\" is not specified in metadata_params. "
                         f'Pass metadata_params={{nn.PARTITION_NAME: name}} to the lifted transformation. Metadata: {target}.')


# Modules.


class NameInUseError(FlaxError):
    """A variable or submodule has a name that another attribute, variable or submodule has."""

    def __init__(self, key_type: str, value: str, module_name: str) -> None:
        super().__init__(f'Could not create {key_type} "{value}" in Module {module_name}: Name in use.')


class AssignSubModuleError(FlaxError):
    """A submodule is made in a method that is neither `setup` nor compact."""

    def __init__(self, cls: str) -> None:
        super().__init__(f"Submodule {cls} must be defined in `setup()` or in a method wrapped in `@compact`")


class SetAttributeInModuleSetupError(FlaxError):
    """`setup` sets a field of the dataclass."""

    def __init__(self) -> None:
        super().__init__("Module construction attributes are frozen: setup() cannot set a field of the dataclass. Use another name.")


class SetAttributeFrozenModuleError(FlaxError):
    """An attribute is set outside of `setup`."""

    def __init__(self, module_cls: str, attr_name: str, attr_val: Any) -> None:
        super().__init__(f"Can't set {attr_name}={attr_val} for Module of type {module_cls}: Module instance is frozen outside of setup "
                         "method.")


class ReservedModuleAttributeError(FlaxError):
    """A class declares a field that all modules have."""

    def __init__(self, annotations: Any) -> None:
        super().__init__('properties `parent` and `name` are reserved for use by Modules and cannot be declared as fields. '
                         f"Declared were: {annotations}.")


class ApplyModuleInvalidMethodError(FlaxError):
    """The parameter `method` is no method of a module."""

    def __init__(self, method: Any) -> None:
        super().__init__(f"Cannot call apply(): {method} is not a valid function for apply(). Pass a method of the module, or a function "
                         "that takes the module as its first argument.")


class CallCompactUnboundModuleError(FlaxError):
    """A compact method of a module without variables is called."""

    def __init__(self) -> None:
        super().__init__("Can't call compact methods on unbound modules. Call it by init or apply, or bind the module first.")


class CallSetupUnboundModuleError(FlaxError):
    """`setup` of a module without variables is called."""

    def __init__(self) -> None:
        super().__init__("Can't call setup() on unbound modules: it runs by itself once the module is bound.")


class CallUnbindOnUnboundModuleError(FlaxError):
    """`unbind` of a module without variables is called."""

    def __init__(self) -> None:
        super().__init__("Can't call unbind() on unbound modules.")


class CallShareScopeOnUnboundModuleError(FlaxError):
    """`share_scope` of a module without variables is called."""

    def __init__(self) -> None:
        super().__init__("Can't call `share_scope` on unbound modules: call it in setup() or in a compact method.")


class InvalidInstanceModuleError(FlaxError):
    """A class is given where an instance is meant."""

    def __init__(self) -> None:
        super().__init__("Can only call init, init_with_output, apply, bind or tabulate methods on an instance of the Module class, not on "
                         "the class itself: write Model(...).init(...).")


class IncorrectPostInitOverrideError(FlaxError):
    """A module's `__post_init__` does not call that of its base."""

    def __init__(self) -> None:
        super().__init__("Overrode `.__post_init__()` without calling `super().__post_init__()`.")


class DescriptorAttributeError(FlaxError):
    """A property of a module raised an AttributeError, which would be taken for a missing property."""

    def __init__(self) -> None:
        super().__init__("Trying to access a property that accesses a non-existent attribute.")


class TransformedMethodReturnValueError(FlaxError):
    """A lifted method returns a module or a variable."""

    def __init__(self, name: str) -> None:
        super().__init__(f'Transformed module method "{name}" cannot return Modules or Variables. Return arrays.')


class TransformTargetError(FlaxError):
    """What is to be lifted is neither a class of modules nor a function."""

    def __init__(self, target: Any) -> None:
        super().__init__("Linen transformations must be applied to Modules classes or functions taking a Module instance as the first "
                         f"argument. The provided target is not a Module class or callable: {target!r}")
