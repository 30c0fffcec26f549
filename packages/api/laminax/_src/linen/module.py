"""`Module`: a dataclass whose methods use variables and random keys.

A module that the user makes is only its fields. `init` and `apply` make a clone of it that has a `Scope`, so that its methods find
their variables; submodules get scopes below it as they are made, in `setup` or in the one method that is `compact`, or when a field
that holds modules is first looked at. Names of submodules, and so the shape of the trees of variables, are Flax's: an attribute of
`setup` names what is assigned to it, and in a compact method the second Dense is `Dense_1`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, TypeVar

from laminax_ir.pytrees.pytree import tree_map

from laminax._src.linen import errors
from laminax._src.linen.base import (
    UNSPECIFIED,
    ModuleBase,
    ModuleState,
    SetupStage,
    Transplant,
    context,
    frozen,
    map_modules,
    own_fields,
)
from laminax._src.linen.class_creation import hash_of_unbound, make_module_class
from laminax._src.linen.filters import DenyList, Filter
from laminax._src.linen.functional import apply, bound_scope, init, init_with_output, is_key, lazy_init, method_of
from laminax._src.linen.representation import module_repr
from laminax._src.linen.scope import Scope, Variable
from laminax._src.linen.summary import rows_of, tabulate
from laminax._src.numerics.numpy.creation import zeros_like

T = TypeVar("T")
M = TypeVar("M", bound="Module")

class Module(ModuleBase):
    """The base class of modules. Subclasses are dataclasses, without a decorator.

    Attributes:
      name: the name among the parent's submodules; None until it has one.
      parent: the module or scope that it belongs to; None for one that belongs to nobody yet. Without it, a module made in a
        method of another module is that one's submodule.
      scope: its place among the variables; None while it has no variables ("unbound").

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn
      >>> class Scale(nn.Module):
      ...     initial: float = 2.0
      ...     @nn.compact
      ...     def __call__(self, x):
      ...         return x * self.param("factor", lambda key: lx.numpy.array(self.initial))
      >>> variables = Scale().init(lx.random.key(0), 1.0)
      >>> float(Scale().apply(variables, 3.0))
      6.0
    """
    parent: Any = dataclasses.field(default=UNSPECIFIED, repr=False, kw_only=True)
    name: str | None = dataclasses.field(default=None, kw_only=True)

    scope = None

    def __init_subclass__(cls, kw_only: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        make_module_class(cls, kw_only)

    # How a module comes to its scope.

    def __post_init__(self) -> None:
        object.__setattr__(self, "_state", ModuleState())
        if self.parent is UNSPECIFIED:
            object.__setattr__(self, "parent", context.module_stack[-1])
        if self.parent is None:
            return
        if isinstance(self.parent, Transplant):  # a clone, whose fields have scopes already
            scope, state = self.parent
            state.fields_registered = state.is_initialized = True
            for name, value in (("parent", scope), ("scope", scope), ("_state", state)):
                object.__setattr__(self, name, value)
            return
        if isinstance(self.parent, Module):
            if not self._attach(self.parent):
                return
        elif isinstance(self.parent, Scope):
            object.__setattr__(self, "scope", self.parent)
        else:
            raise ValueError(f"{type(self).__name__}: parent must be None, a Module or a Scope, got {self.parent!r}.")
        self._register_fields()
        self._state.is_initialized = True

    def _attach(self, parent: Module) -> bool:
        """Makes this a submodule of the parent; False where that is left to the assignment to an attribute."""
        state = parent._state
        if state.in_setup and self.name is None:
            return False
        if not parent._initialization_allowed:
            raise errors.AssignSubModuleError(type(self).__name__)
        if self.name is None:
            kind = type(self).__name__
            number = state.autoname_cursor.get(kind, 0)
            state.autoname_cursor[kind] = number + 1
            self.name = f"{kind}_{number}"
        assert parent.scope is not None
        was_there = state.in_setup and state.setup_called is SetupStage.TRANSFORMED  # a clone's setup makes what its original has made
        if not was_there and parent.scope.name_reserved(self.name):
            raise errors.NameInUseError("submodule", self.name, type(parent).__name__)
        state.children[self.name] = self
        object.__setattr__(self, "scope", parent.scope.push(self.name, reuse=was_there))
        return True

    def _register_fields(self) -> None:
        """Gives the modules in fields their scopes, once there is one to be had."""
        if self.scope is None or self._state.fields_registered:
            return
        self._state.fields_registered = True
        for name in own_fields(self):
            self._register(name, getattr(self, name))

    def _register(self, attribute: str, value: Any) -> None:
        """Sets an attribute. The modules in its value become submodules, if they are nobody's yet."""
        assert self.scope is not None
        adopted: list[Module] = []
        known = self.scope.store.adopted

        def adopt(suffix: str, module: Any) -> Any:
            name = attribute + suffix
            if module.parent is None:  # made elsewhere, maybe used elsewhere too: this call has one clone of it
                if module.name is not None and getattr(self, "preserve_adopted_names", False):
                    name = module.name
                if id(module) not in known:
                    known[id(module)] = module, module.clone(name=None)
                module = known[id(module)][1]
            if module.name is None:
                object.__setattr__(module, "parent", self)
                object.__setattr__(module, "name", name)
                adopted.append(module)
            return module

        object.__setattr__(self, attribute, frozen(map_modules(adopt, value)))
        for module in adopted:
            module.__post_init__()

    def setup(self) -> None:
        """Makes submodules and variables that several methods share, as attributes. It runs before any other method, once."""

    def _try_setup(self, shallow: bool = False) -> None:
        """Runs `setup` if there is a scope and it was not run; shallow: gives modules in fields their scopes only."""
        state = self._state
        if self.scope is None or state.in_setup or state.setup_called is SetupStage.DONE:
            return
        self._register_fields()
        if shallow:
            return
        try:
            state.in_setup = True
            self.setup()
            state.setup_called = SetupStage.DONE
        finally:
            state.in_setup = False

    @property
    def _initialization_allowed(self) -> bool:
        return not self._state.is_initialized or self._state.in_setup or self._state.in_compact_method

    # Attributes.

    def __getattr__(self, name: str) -> Any:
        if "_state" not in self.__dict__ or name.startswith("__"):
            raise AttributeError(f'"{type(self).__name__}" object has no attribute "{name}"')
        self._try_setup()
        if name in self.__dict__:
            return self.__dict__[name]
        hint = ""
        if self.scope is None:
            hint = f' If "{name}" is defined in \'.setup()\', remember these fields are only accessible from inside \'init\' or \'apply\'.'
        raise AttributeError(f'"{type(self).__name__}" object has no attribute "{name}".{hint}')

    def __setattr__(self, name: str, value: Any) -> None:
        state: ModuleState | None = self.__dict__.get("_state")
        is_field = name in self.__dataclass_fields__ and self.__dataclass_fields__[name].init
        if state is None or not state.in_setup:
            if state is None or not state.is_initialized or name.startswith("__"):
                object.__setattr__(self, name, value)
                return
            raise errors.SetAttributeFrozenModuleError(type(self).__name__, name, value)
        if is_field and self.__dict__.get("_state") is not None and state.is_initialized:
            raise errors.SetAttributeInModuleSetupError()
        if name in ("parent", "name", "scope"):
            object.__setattr__(self, name, value)
        else:
            self._register(name, value)

    def __dir__(self) -> list[str]:
        self._try_setup()
        return sorted({*object.__dir__(self), *self.__dict__})

    def __repr__(self) -> str:
        return module_repr(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)

    # Variables.

    def param(self, name: str, init_fn: Callable[..., Any], *init_args: Any, unbox: bool = True, **init_kwargs: Any) -> Any:
        """A parameter: a variable of the collection "params", initialized by `init_fn(key, *init_args, **init_kwargs)`.

        Args:
          name: its name, which no other attribute has.
          init_fn: makes the first value, of a random key; it may return a box (`with_partitioning`).
          *init_args: what `init_fn` gets beside the key.
          unbox: whether to return what is in the box.
          **init_kwargs: likewise.

        Returns:
          The value.

        Raises:
          NameInUseError: the name is that of an attribute, method, parameter or submodule.
          ScopeParamShapeError: the given parameter has another shape than `init_fn` gives.

        Example:
          >>> kernel = self.param("kernel", nn.initializers.lecun_normal(), (3, 4))  # doctest: +SKIP
        """
        self._check_may_initialize("params", name, "param", "Parameters")
        value = self._bound("Parameters").param(name, init_fn, *init_args, unbox=unbox, **init_kwargs)
        self._state.children[name] = "params"
        return value

    def variable(
        self, col: str, name: str, init_fn: Callable[..., T] | None = None, *init_args: Any, unbox: bool = True, **init_kwargs: Any
    ) -> Variable[T]:
        """A variable of any collection, initialized by `init_fn(*init_args, **init_kwargs)` where it is not there.

        Args:
          col: the collection.
          name: its name, which no other attribute has.
          init_fn: makes the first value; it draws keys by `make_rng` if it needs any. Without it the variable must be there.
          *init_args: arguments of `init_fn`.
          unbox: whether `value` is what is in the box, if there is one.
          **init_kwargs: likewise.

        Returns:
          The variable, of which `value` can be read, and set where the collection is mutable.

        Raises:
          NameInUseError: the name is taken.
        """
        self._check_may_initialize(col, name, "variable", "Variables")
        variable = self._bound("Variables").variable(col, name, init_fn, *init_args, unbox=unbox, **init_kwargs)
        self._state.children[name] = col
        return variable

    def _check_may_initialize(self, collection: str, name: str, kind: str, plural: str) -> None:
        if not self._initialization_allowed:
            raise ValueError(f"{plural} must be initialized in `setup()` or in a method wrapped in `@compact`: "
                             f'"{name}" of {type(self).__name__}.')
        if self.scope is not None and self.scope.name_reserved(name, collection):
            raise errors.NameInUseError(kind, name, type(self).__name__)

    def _bound(self, what: str) -> Scope:
        """The scope, which unbound modules do not have."""
        if self.scope is None:
            raise ValueError(f"Can't use {what} on unbound modules: {type(self).__name__} has none. Call the method by init or apply, "
                             "or bind the module first.")
        return self.scope

    def has_variable(self, col: str, name: str) -> bool:
        """Whether the collection has a variable of this name."""
        return self._bound("variables").has_variable(col, name)

    def get_variable(self, col: str, name: str, default: Any = None) -> Any:
        """The value of a variable, `default` if there is none."""
        return self._bound("variables").get_variable(col, name, default)

    def put_variable(self, col: str, name: str, value: Any) -> None:
        """Sets a variable of a mutable collection."""
        self._bound("variables").put_variable(col, name, value)

    def is_mutable_collection(self, col: str) -> bool:
        """Whether variables of the collection can be set in this call."""
        return self._bound("variables").is_mutable_collection(col)

    def is_initializing(self) -> bool:
        """Whether the module is run by `init` or one of its kin."""
        return self._bound("variables").get_flag("initializing", False)

    @property
    def variables(self) -> Mapping[str, Mapping[str, Any]]:
        """The variables of this module and its submodules, by collection."""
        return self._bound("variables").variables()

    @property
    def path(self) -> tuple[str, ...]:
        """The names from the outermost module to this one; empty for the outermost."""
        return self._bound("the path").path

    @property
    def debug_path(self) -> tuple[str, ...]:
        """The path with the lifted transformations on the way, `vmap(Dense_0)`."""
        return self._bound("the path").debug_path

    def sow(
        self, col: str, name: str, value: Any, reduce_fn: Callable[[Any, Any], Any] = lambda xs, x: (*xs, x),
        init_fn: Callable[[], Any] = tuple,
    ) -> bool:
        """Stores a value that callers may want to see, if its collection is mutable.

        Args:
          col: the collection, often "intermediates".
          name: its name.
          value: the value.
          reduce_fn: puts it together with those sown before in this call; by default a tuple of all.
          init_fn: what the first is put together with.

        Returns:
          Whether it was stored.
        """
        scope = self._bound("variables")
        if not scope.is_mutable_collection(col):
            return False
        if not scope.has_variable(col, name):
            scope.reserve(name, col)
            self._state.children[name] = col
            before = init_fn()
        else:
            before = scope.get_variable(col, name)
        scope.put_variable(col, name, reduce_fn(before, value))
        return True

    def perturb(self, name: str, value: T, collection: str = "perturbations") -> T:
        """The value plus a variable that is zero: its gradient is that of the value.

        `init` makes the variable. Where `apply` is given the collection, all values that are perturbed must be in it.

        Args:
          name: the variable's name.
          value: a value, or a tree of them.
          collection: the variable's collection.

        Raises:
          ValueError: the collection is given without the variable.
        """
        scope = self._bound("variables")
        if self.is_mutable_collection(collection) and not scope.has_variable(collection, name):
            scope.reserve(name, collection)
            self._state.children[name] = collection
            scope.put_variable(collection, name, tree_map(zeros_like, value))
        if collection in scope.store.variables:
            if not scope.has_variable(collection, name):
                raise ValueError(f"Perturbation collection {collection} present, but missing perturbation variable {name}")
            value = tree_map(lambda x, change: x + change, value, scope.get_variable(collection, name))
        return value

    # Random keys.

    def make_rng(self, name: str = "params") -> Any:
        """The next random key of a stream, another one at each call.

        Args:
          name: the stream, as in the `rngs` of init and apply. Where it is missing, "params" stands in.

        Raises:
          InvalidRngError: there is neither.
        """
        return self._bound("RNGs").make_rng(name)

    def has_rng(self, name: str) -> bool:
        """Whether there is a stream of this name."""
        return self._bound("RNGs").has_rng(name)

    # Clones.

    def clone(
        self: M, *, parent: Any = None, _deep_clone: bool | dict[int, Any] = False, _reset_names: bool = False, **updates: Any
    ) -> M:
        """A module with the same fields, bound to nothing.

        Args:
          parent: its parent.
          **updates: fields that are others.
        """
        fields = {name: getattr(self, name) for name in own_fields(self)}
        fields.update(parent=parent, name=self.name)
        if _deep_clone is not False:
            memo: dict[int, Any] = _deep_clone if isinstance(_deep_clone, dict) else {}

            def cloned(_suffix: str, module: Any) -> Any:
                if id(module) not in memo:
                    name = {"name": None} if _reset_names else {}
                    memo[id(module)] = module.clone(_deep_clone=memo, _reset_names=_reset_names, **name), module
                return memo[id(module)][0]

            fields.update({name: map_modules(cloned, value) for name, value in fields.items() if name not in ("parent", "name")})
        fields.update(updates)
        return type(self)(**fields)

    def copy(self: M, *, parent: Any = UNSPECIFIED, name: str | None = None, **updates: Any) -> M:
        """A module with the same fields and a name of its own, by default a submodule of the module whose method is running."""
        return self.clone(parent=parent, name=name, **updates)

    def bind(self: M, variables: Mapping[str, Any], *args: Any, rngs: Any = None, mutable: Filter = False) -> M:
        """A clone of the module with these variables, to be used outside of `apply`, by hand.

        Args:
          variables: the collections.
          rngs: keys by stream.
          mutable: which collections its methods may change.

        Example:
          >>> bound = model.bind(variables)     # doctest: +SKIP
          >>> code = bound.encoder(x)           # doctest: +SKIP
        """
        _check_instance(self)
        if args:
            raise ValueError(f"bind takes the variables and keywords, got {len(args)} more arguments. Did you mean apply?")
        return self.clone(parent=bound_scope(variables, rngs, mutable), _deep_clone=True)

    def unbind(self: M) -> tuple[M, Mapping[str, Any]]:
        """A clone of the module that is bound to nothing, and the variables that it had: of a submodule, its part.

        Raises:
          CallUnbindOnUnboundModuleError: the module has no variables.
        """
        _check_instance(self)
        if self.scope is None:
            raise errors.CallUnbindOnUnboundModuleError()
        return self.clone(_deep_clone=True, _reset_names=True, name=None), self.variables

    # Calls from outside.

    def apply(
        self, variables: Mapping[str, Any], *args: Any, rngs: Any = None, method: Callable[..., Any] | str | None = None,
        mutable: Filter = False, capture_intermediates: bool | Callable[[Module, str], bool] = False, **kwargs: Any,
    ) -> Any:
        """Calls a method of the module with these variables.

        Args:
          variables: the collections, as `init` returns them.
          *args: arguments of the method.
          rngs: keys by stream, `{"dropout": key}`; one key is that of "params".
          method: the method, its name, or a function whose first argument is the module; by default `__call__`.
          mutable: the collections that the method may change.
          capture_intermediates: whether the results of all submodules' `__call__` are sown in "intermediates"; or a function of a module
            and the name of a method that says which.
          **kwargs: arguments of the method.

        Returns:
          The method's result; with `mutable`, a pair of it and the mutable collections.

        Example:
          >>> y, updates = model.apply(variables, x, mutable=["batch_stats"])  # doctest: +SKIP
        """
        _check_instance(self)
        function = method_of(self, method)
        return apply(function, self, mutable, capture_intermediates)(variables, *args, **kwargs, rngs=_as_rngs(self, rngs))

    def init_with_output(
        self, rngs: Any, *args: Any, method: Callable[..., Any] | str | None = None, mutable: Filter = DenyList("intermediates"),
        capture_intermediates: bool | Callable[[Module, str], bool] = False, **kwargs: Any,
    ) -> tuple[Any, dict[str, Any]]:
        """Calls a method of the module with no variables, which are initialized; returns its result and the variables.

        The arguments are those of `init`.
        """
        _check_instance(self)
        function = method_of(self, method)
        return init_with_output(function, self, mutable, capture_intermediates)(_as_rngs(self, rngs), *args, **kwargs)

    def init(
        self, rngs: Any, *args: Any, method: Callable[..., Any] | str | None = None, mutable: Filter = DenyList("intermediates"),
        capture_intermediates: bool | Callable[[Module, str], bool] = False, **kwargs: Any,
    ) -> dict[str, Any]:
        """Initializes the variables, by calling a method of the module without any.

        Args:
          rngs: a random key, or keys by stream, `{"params": key, "dropout": other}`.
          *args: arguments of the method.
          method: the method, its name, or a function whose first argument is the module; by default `__call__`.
          mutable: the collections that are initialized.
          capture_intermediates: as in `apply`.
          **kwargs: arguments of the method.

        Returns:
          The variables by collection, `{"params": {...}}`.
        """
        _check_instance(self)
        return init(method_of(self, method), self, mutable, capture_intermediates)(_as_rngs(self, rngs), *args, **kwargs)

    def lazy_init(
        self, rngs: Any, *args: Any, method: Callable[..., Any] | str | None = None, mutable: Filter = DenyList("intermediates"),
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Initializes the variables without computing with the arguments, which may be `ShapeDtypeStruct`s.

        The arguments are those of `init`.

        Raises:
          LazyInitError: a variable depends on the arguments' values.
        """
        _check_instance(self)
        return lazy_init(method_of(self, method), self, mutable)(_as_rngs(self, rngs), *args, **kwargs)

    def _call_in_name_scope(self, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a method whose submodules and variables lie below its own name."""
        scope, state, name = self._bound("compact methods"), self._state, fun.__name__
        inner = scope.below(name)
        scope.reservations.setdefault(name, set()).add(None)
        object.__setattr__(self, "scope", inner)
        object.__setattr__(self, "_state", dataclasses.replace(
            state, in_compact_method=True, in_setup=False, autoname_cursor={}, children=state.name_scopes.setdefault(name, {})))
        try:
            return fun(self, *args, **kwargs)
        finally:
            object.__setattr__(self, "scope", scope)
            object.__setattr__(self, "_state", state)

    # Tables.

    def tabulate(self, rngs: Any, *args: Any, depth: int | None = None, show_repeated: bool = False,
                 mutable: Filter = DenyList("intermediates"), console_kwargs: Mapping[str, Any] | None = None,
                 table_kwargs: Mapping[str, Any] | None = None, column_kwargs: Mapping[str, Any] | None = None,
                 compute_flops: bool = False, compute_vjp_flops: bool = False, **kwargs: Any) -> str:
        """The modules, with the types of what they take, return and hold, as a table drawn by rich. See `laminax.linen.tabulate`."""
        _check_instance(self)
        return tabulate(self, rngs, depth, show_repeated, mutable, console_kwargs, table_kwargs or {}, column_kwargs or {}, compute_flops,
                        compute_vjp_flops)(*args, **kwargs)

    def module_paths(self, rngs: Any, *args: Any, show_repeated: bool = False, mutable: Filter = DenyList("intermediates"),
                     **kwargs: Any) -> dict[str, Module]:
        """The modules that a call of this one uses, by their paths; each module once, unless `show_repeated`."""
        _check_instance(self)
        rows = rows_of(self, rngs, args, kwargs, mutable=mutable, show_repeated=show_repeated)
        return {"/".join(row.path): row.module for row in rows}


def _check_instance(module: Any) -> None:
    if not isinstance(module, Module):
        raise errors.InvalidInstanceModuleError()
    if "_state" not in module.__dict__:
        raise errors.IncorrectPostInitOverrideError()


def _as_rngs(module: Module, rngs: Any) -> Any:
    """Keys by stream; one key is that of "params"."""
    if rngs is None or isinstance(rngs, Mapping):
        return rngs
    if not is_key(rngs):
        raise errors.InvalidRngError(f"RNGs should be of shape (2,) or PRNGKey in Module {type(module).__name__}, but rngs are: {rngs}")
    return {"params": rngs}


dataclasses.dataclass(repr=False, eq=True, unsafe_hash=True)(Module)
setattr(Module, "__hash__", hash_of_unbound(Module.__hash__))
