"""The implementation of the api: one module per subject. Users import from `laminax` and its public modules.

Importing this package puts the layers together, which do not know each other, and gives arrays their methods.
"""

from laminax._lazy import contents
from laminax._src import setup
from laminax._src.numerics.numpy import array_methods

setup.compose()
array_methods.install()

# what older libraries reach from `jax` without importing it
__all__, __getattr__, __dir__ = contents(__name__, {}, (
    "ad_util", "api", "api_util", "checkify", "compilation_cache", "compiler", "core", "custom_partitioning", "dispatch", "distributed", "dtypes",
    "flatten_util", "image", "interpreters", "nn", "numpy", "public_test_util", "random", "scipy", "stages", "traceback_util",
    "tree_util", "xla_bridge"))
