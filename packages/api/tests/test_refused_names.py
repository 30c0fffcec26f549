"""Names of JAX that laminax has to say that it does not support them: they can be imported, and tell what to use instead."""

from __future__ import annotations

import importlib

import pytest

REFUSED = [
    ("extend.backend", "clear_backends", (), {}, "clear_caches"),
    ("extend.backend", "register_backend_cache", ({}, "sizes"), {}, "cache for 'sizes'"),
    ("extend.backend", "register_backend_factory", ("mine", abs), {"priority": 1}, "PJRT_NAMES_AND_LIBRARY_PATHS=mine:"),
    ("extend.backend", "get_compile_options", (1, 1), {}, "compiler_options"),
    ("extend.core", "AbstractToken", (), {}, "nothing for tokens"),
    ("experimental.colocated_python.serialization", "DeviceList", ((),), {}, "the process that calls it"),
    ("experimental.array_serialization.serialization", "GlobalAsyncCheckpointManager", (), {}, "orbax"),
    ("extend.ifrt_programs", "ifrt_programs", (), {}, "lower"),
    ("interpreters.pxla", "global_avals_to_results_handler", ((), ()), {}, "device_put"),
    ("experimental.pallas", "core_map", (abs,), {"mesh": None}, "laminax.ffi.ffi_call"),
    ("experimental.pallas.ops.tpu.splash_attention", "splash_attention_kernel", (), {}, "dot_product_attention"),
]


@pytest.mark.parametrize("module, name, args, kwargs, advice", REFUSED, ids=[f"{module}.{name}" for module, name, *_ in REFUSED])
def test_a_refused_name_says_what_to_use_instead(module, name, args, kwargs, advice):
    named = getattr(importlib.import_module(f"laminax.{module}"), name)
    with pytest.raises(NotImplementedError, match="is not supported") as caught:
        named(*args, **kwargs)
    caught.match(name)
    caught.match(advice)


def test_a_library_with_kernels_can_be_imported():
    from laminax.experimental import pallas as pl
    from laminax.experimental.pallas import tpu as pltpu
    assert repr(pl.core_map) == "<laminax.experimental.pallas.core_map, which is not supported>" and not hasattr(pl, "__wrapped__")
    with pytest.raises(NotImplementedError, match="experimental.pallas.tpu.TensorCoreMesh is not supported"):
        pltpu.TensorCoreMesh((8, 128), "float32")


def test_what_writers_of_checkpoints_ask_for_is_there():
    """orbax derives from the interface, asks who the processes are, and annotates with names that may be refused."""
    from laminax._src.placement.distributed import global_state
    from laminax.experimental.array_serialization import serialization

    assert (global_state.process_id, global_state.num_processes, global_state.client) == (0, 1, None)
    assert serialization.GlobalAsyncCheckpointManager | None is not None and None | serialization.GlobalAsyncCheckpointManager is not None
    with pytest.raises(TypeError, match="abstract"):
        serialization.GlobalAsyncCheckpointManagerBase()
    assert not isinstance(3, serialization.GlobalAsyncCheckpointManagerBase)


def test_the_type_of_values_inside_of_shard_map_is_a_class_of_its_own():
    """`sharding.ManualAxisType` refused once, saying that types do not say what they do say."""
    import numpy as np

    import laminax
    from laminax.sharding import ManualAxisType, PartitionSpec

    seen = []

    def look(x):
        seen.append(laminax.typeof(x).mat)
        return x

    mesh = laminax.sharding.Mesh(np.array(laminax.devices()[:1]), ("i",))
    laminax.shard_map(look, mesh=mesh, in_specs=PartitionSpec("i"), out_specs=PartitionSpec("i"))(np.ones(2, np.float32))
    assert seen[0] == ManualAxisType(varying={"i"}) and seen[0] != ManualAxisType() and isinstance(seen[0], ManualAxisType)
    assert hash(ManualAxisType(varying={"i"})) == hash(ManualAxisType(varying=frozenset("i")))
    with pytest.raises(TypeError, match="ManualAxisType: varying must be a set of names of mesh axes, got 'i' of type str"):
        ManualAxisType(varying="i")
    with pytest.raises(ValueError, match=r"cannot vary along an axis that is in reduced; got \['i'\]"):
        ManualAxisType(varying={"i"}, reduced={"i"})


@pytest.mark.parametrize("name", ["mutable_array_checks", "refs_to_pins", "bcoo_cusparse_lowering"])
def test_options_of_one_value_do_not_deny_what_there_is(name):
    """They said that there are no references, no explicit axes and no sparse matrices, once."""
    import laminax

    other = not laminax.config.read(name)
    with pytest.raises(ValueError) as caught:
        laminax.config.update(name, other)
    for denied in ("not supported", "automatic axes only", "no sparse"):
        assert denied not in str(caught.value)
