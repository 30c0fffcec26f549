"""The example in each public docstring runs; what it is about but does not make, it finds here.

What examples of operations and of the numerics print is compared, numbers to four digits. Those of the lower layers show NumPy's arrays,
which laminax makes its own, so what an array is called, its dtype and its spaces do not count.
"""

import contextlib
import doctest
import functools
import importlib
import inspect
import io
import operator
import pkgutil
import re
import sys
from doctest import DocTestParser

import numpy as np
import pytest

from laminax_ir import ops
from laminax_ir.recording import staging
from laminax_ir.types.avals import ShapedArray

import laminax
import laminax.numpy as jnp
from laminax import lax, linen
from laminax.scipy import stats
from laminax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

MESH = laminax.make_mesh((4, 2), ("x", "data"), (AxisType.Auto,) * 2)
GIVEN = {
    "laminax": laminax, "np": np, "jnp": jnp, "operator": operator, "lax": lax, "ops": ops,
    "elementwise": ops.elementwise, "partial": functools.partial, "stage": staging.stage, "ShapedArray": ShapedArray,
    "Mesh": Mesh, "NamedSharding": NamedSharding, "PartitionSpec": PartitionSpec, "AxisType": AxisType, "array": jnp.array, "mesh": MESH,
    "x": jnp.ones((8, 4)), "y": jnp.ones(8), "w": jnp.ones(4), "b": np.ones(3, np.float32),
    "f": jnp.sin, "fast": jnp.sin, "slow_but_exact": jnp.sin, "step": jnp.sin, "table": np.ones((8, 4)),
    "batches": iter([1.0]), "state": jnp.ones(3), "result_ct": jnp.ones(8), "jaxpr": laminax.make_jaxpr(lambda x: (x, -x))(1.0).jaxpr,
}
OTHERS = {  # what one example means by a name that is something else in the rest
    "callback": {"print": print}, "inspect_array_sharding": {"print": print}, "donation_vector": {"tree_structure": laminax.tree.structure},
    "process_allgather": {"multihost_utils": laminax.experimental.multihost_utils},
    "custom_root": {"a": 2.0, "bisect": lambda f, guess: 2.0 ** 0.5},
    "symbolic_args_specs": {"f": lambda x, y: x.sum(1) * y},
    "SparsifyEnv": {"x": laminax.experimental.sparse.BCOO.fromdense(jnp.eye(3)),
                    "y": laminax.experimental.sparse.BCOO.fromdense(jnp.eye(3))},
    "in_shardings_jax": {
        "exported": laminax.export.export(laminax.jit(jnp.sin, in_shardings=NamedSharding(MESH, PartitionSpec("x"))))(jnp.ones((8, 4)))},
}
COMPARED = ("laminax._src.numerics", "laminax._src.names.refused", "laminax_ir.ops", "laminax_ir.options")
NOT_RUN = {
    "ffi_call": "calls a native library", "ffi_lowering": "calls a native library", "pycapsule": "loads a native library",
    "get_topology_desc": "needs the plugin of a platform that is not there",
    "initialize": "must be called before anything has run", "register_vmappable": "is about classes of a user's",
}


def public_examples():
    """(name, docstring, module it is listed in, what is documented) of each public function, class and method of ours."""
    seen = set()
    modules = [name for _, name, _ in pkgutil.walk_packages(laminax.__path__, "laminax.") if "._" not in name and "as_jax" not in name]
    for module in map(importlib.import_module, ["laminax", *modules]):
        for name in dir(module):
            value = getattr(module, name, None)
            if name.startswith("_") or not callable(value):
                continue
            methods = vars(value).items() if inspect.isclass(value) else ()
            for label, documented in [(name, value), *((k, v) for k, v in methods if not k.startswith("_"))]:
                documented = inspect.unwrap(documented) if inspect.isroutine(documented) else documented
                text = documented.__doc__
                if (isinstance(text, str) and ">>>" in text and id(documented) not in seen
                        and getattr(documented, "__module__", "").startswith("laminax")):
                    seen.add(id(documented))
                    yield pytest.param(label, text, module, documented, id=f"{module.__name__}.{label}")


@pytest.mark.parametrize("name, text, module, documented", list(public_examples()))
def test_example(name, text, module, documented, tmp_path, monkeypatch):
    if name in NOT_RUN:
        pytest.skip(NOT_RUN[name])
    monkeypatch.chdir(tmp_path)  # profiles are written there
    names = {n: getattr(laminax, n) for n in dir(laminax)} | GIVEN
    names |= {k: v for k, v in vars(sys.modules[documented.__module__]).items() if not k.startswith("__")}
    names |= {n: getattr(module, n) for n in dir(module) if not n.startswith("_")} | OTHERS.get(name, {})
    names |= {"jnp": jnp, "stats": stats}  # modules that import these mean their private namespace of the functions, or one of them
    if documented.__module__.startswith("laminax._src.linen"):
        names |= {"nn": linen}
    for example in DocTestParser().get_examples(inspect.cleandoc(text)):
        if doctest.SKIP in example.options:  # a line of a method, say, which its module's own tests have
            continue
        printed, code = io.StringIO(), compile(example.source, f"<example of {name}>", "single")
        if example.exc_msg is not None:
            check_refusal(code, names, example.exc_msg)
            continue
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        if documented.__module__.startswith(COMPARED) and example.want and "..." not in example.want:
            words, numbers = parts(example.want)
            seen_words, seen_numbers = parts(printed.getvalue())
            assert seen_words == words, f"{example.source}prints\n{printed.getvalue()}"
            np.testing.assert_allclose(seen_numbers, numbers, rtol=1e-4, atol=1e-5, err_msg=example.source)


def check_refusal(code, names, expected):
    """An example that shows an error raises one of that class whose message begins so."""
    kind, _, message = expected.strip().partition(": ")
    with pytest.raises(Exception) as raised:
        exec(code, names)
    assert type(raised.value).__name__ == kind
    assert str(raised.value).startswith(message.removesuffix("..."))


def parts(text):
    """What an example prints, without what may differ: the words, and the numbers."""
    text = re.sub(r",\s*(dtype=\w+|weak_type=True)", "", text).replace("Array(", "array(")
    number = r"(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)"
    text = re.sub(rf"([\d.fn])\s*([+-])(?={number}j)", r"\1|\2", text)  # the sign of an imaginary part belongs to its number
    number = rf"(?<![\w.])[+-]?{number}(?=j?(?!\w))"
    return re.sub(number, "#", "".join(text.split())), [float(n) for n in re.findall(number, text)]
