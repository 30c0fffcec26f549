"""The pytree registry of jaxlib, in C++.

A registry of our own, not jaxlib's default one: what is registered with laminax is nobody else's
business, and the C++ call path takes any registry. This is the one module of laminax-ir that imports
jaxlib; importing it raises ImportError where jaxlib is missing or too different. The names are the
same in jaxlib 0.10.2, 0.11.2 and 0.12.0.1.
"""

from __future__ import annotations

try:
    from jaxlib import _jax

    PyTreeRegistry = _jax.pytree.PyTreeRegistry
    PyTreeDef = _jax.pytree.PyTreeDef
    SequenceKey = _jax.pytree.SequenceKey
    DictKey = _jax.pytree.DictKey
    GetAttrKey = _jax.pytree.GetAttrKey
    FlattenedIndexKey = _jax.pytree.FlattenedIndexKey
    treedef_tuple = _jax.pytree.treedef_tuple
    all_leaves = _jax.pytree.all_leaves
except AttributeError as error:
    raise ImportError(f"this jaxlib has no pytree registry that laminax knows: {error}") from error

registry = PyTreeRegistry()
registry.__module__, registry.__name__ = __name__, "registry"  # how pickle finds it again

# The registry by which C++ dispatch flattens arguments: the same types, and arrays of random keys, elsewhere leaves, as nodes that hold
# their words. So dispatch meets ordinary arrays only.
dispatch_registry = PyTreeRegistry()
dispatch_registry.__module__, dispatch_registry.__name__ = __name__, "dispatch_registry"
