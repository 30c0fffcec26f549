"""Settings, devices, transfers and names at the top level."""

import threading

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import errors, random


def test_config_update_and_reading():
    for name in ("jax_enable_x64", "laminax_enable_x64", "enable_x64"):
        laminax.config.update(name, True)
        try:
            assert jnp.arange(2.0).dtype == np.float64
            assert laminax.config.jax_enable_x64 is True and laminax.config.read(name) is True
        finally:
            laminax.config.update(name, False)
    assert jnp.arange(2.0).dtype == np.float32
    with pytest.raises(AttributeError, match="no configuration option 'jax_enable_x46'.*jax_enable_x64"):
        laminax.config.update("jax_enable_x46", True)
    with pytest.raises(ValueError, match="cannot be 'maybe'"):
        laminax.config.update("jax_enable_x64", "maybe")


def test_enable_x64_holds_in_its_thread_only():
    seen = []
    with laminax.enable_x64(True):
        thread = threading.Thread(target=lambda: seen.append(jnp.ones(1, float).dtype))
        thread.start()
        thread.join()
        assert jnp.ones(1, float).dtype == np.float64
    assert seen == [np.float32]


def test_promotion_settings():
    with laminax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="numpy_rank_promotion"):
        jnp.ones((2, 3)) + jnp.ones(3)
    with laminax.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="numpy_rank_promotion"):
        jnp.ones((2, 3)) + jnp.ones(3)
    with laminax.numpy_dtype_promotion("strict"):
        np.testing.assert_array_equal(jnp.ones(2) + 1, [2, 2])
        with pytest.raises(ValueError, match="strict"):
            jnp.ones(2) + jnp.arange(2)


def test_default_matmul_precision_is_part_of_the_key():
    f = laminax.jit(lambda x: x @ x)
    x = np.eye(2, dtype=np.float32)
    assert "HIGHEST" not in str(f.trace(x).jaxpr)
    with laminax.default_matmul_precision("float32"):
        assert "HIGHEST" in str(f.trace(x).jaxpr)


@pytest.mark.parametrize("level, refuses_implicit, refuses_explicit", [
    ("allow", False, False), ("disallow", True, False), ("disallow_explicit", True, True)])
def test_transfer_guard_levels(level, refuses_implicit, refuses_explicit):
    x, host = jnp.arange(4.0), np.ones(4, np.float32)
    multiply = laminax.jit(lambda a, b: a * b)
    for _ in range(2):  # the second time, the calls are in C++
        implicit = {"jit": lambda: multiply(x, host), "operator": lambda: x + 1, "array": lambda: jnp.array(host),
                    "scalar": lambda: multiply(x, 2.0)}
        explicit = {"device_put": lambda: laminax.device_put(host),
                    "pytree": lambda: laminax.device_put({"a": host}, laminax.devices()[0])}
        with laminax.transfer_guard(level):
            for calls, refuses in ((implicit, refuses_implicit), (explicit, refuses_explicit)):
                for name, call in calls.items():
                    if refuses:
                        with pytest.raises(errors.XlaRuntimeError, match="Disallowed host-to-device transfer"):
                            call()
                    else:
                        assert call() is not None, name
            np.testing.assert_array_equal(x * x, [0, 1, 4, 9])


def test_the_constants_of_a_program_are_not_guarded():
    table = np.arange(4.0, dtype=np.float32)
    with laminax.transfer_guard("disallow_explicit"):
        total = laminax.jit(lambda: jnp.sum(table * 2))()
    assert float(total) == 12


def test_transfer_guards_nest_and_hold_in_their_thread_only():
    host, seen = np.ones(4, np.float32), []

    def put_in_a_thread():
        thread = threading.Thread(target=lambda: seen.append(jnp.asarray(host)))
        thread.start()
        thread.join()

    with laminax.transfer_guard("disallow"):
        with laminax.transfer_guard_host_to_device("allow"):
            jnp.asarray(host)
            with laminax.transfer_guard("disallow"), pytest.raises(errors.XlaRuntimeError):
                jnp.asarray(host)
            jnp.asarray(host)
        with pytest.raises(errors.XlaRuntimeError):
            jnp.asarray(host)
        put_in_a_thread()
    assert len(seen) == 1
    jnp.asarray(host)
    with pytest.raises(ValueError, match="'forbid'.*'disallow'"):
        with laminax.transfer_guard("forbid"):
            pass


def test_no_tracing_and_no_execution():
    f, x = laminax.jit(lambda x: x * 3), jnp.arange(3.0)
    f(x), x + x
    with laminax.no_tracing():
        assert f(x).tolist() == [0, 3, 6] and (x + x).tolist() == [0, 2, 4]
        for call in (lambda: f(1), lambda: laminax.jit(lambda x: x)(1.0), lambda: jnp.zeros((3, 1, 4, 1, 5)) + 1):
            with pytest.raises(RuntimeError, match="to be traced, but the option no_tracing is set"):
                call()
    with laminax.no_execution():
        for call in (lambda: f(x), lambda: x + x):
            with pytest.raises(RuntimeError, match="no_execution is set"):
                call()
        assert f.lower(x).compile().as_text()
    assert f(x).tolist() == [0, 3, 6]


def test_legacy_keys():
    words = random.PRNGKey(7)
    assert words.dtype == np.uint32
    with laminax.enable_custom_prng():
        assert random.PRNGKey(7).dtype == random.key(7).dtype
    expected = random.normal(random.key(7), (2,))
    np.testing.assert_array_equal(random.normal(words, (2,)), expected)
    with laminax.legacy_prng_key("warn"), pytest.warns(UserWarning, match="Legacy uint32 key array.*random") as caught:
        np.testing.assert_array_equal(random.normal(words, (2,)), expected)
    assert caught[0].filename == __file__
    with laminax.legacy_prng_key("error"):
        np.testing.assert_array_equal(random.normal(random.key(7), (2,)), expected)
        for call in (lambda key: random.normal(key, (2,)), laminax.jit(random.split)):
            with pytest.raises(ValueError, match='wrap_key_data.*legacy_prng_key="allow"'):
                call(words)


def test_copy_to_host_async_asks_arrays_of_other_libraries_too():
    class Foreign:
        asked = 0

        def copy_to_host_async(self):
            self.asked += 1

    foreign = Foreign()
    laminax.copy_to_host_async([foreign, 1, object()])
    assert foreign.asked == 1


def test_copy_to_host_async():
    tree = {"a": jnp.arange(3), "key": random.key(0), "text": "not an array"}
    assert laminax.copy_to_host_async(tree) is tree
    assert np.asarray(tree["a"]).tolist() == [0, 1, 2]


def test_environment_info(capsys, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    text = laminax.print_environment_info(return_string=True)
    for part in (f"numpy:   {np.__version__}", f"laminax: {laminax.__version__}", "process_count: 1",
                 "XLA_PYTHON_CLIENT_PREALLOCATE=false", f"{laminax.device_count()}, {laminax.local_device_count()} local devices"):
        assert part in text
    assert laminax.print_environment_info() is None and "jaxlib:" in capsys.readouterr().out


def test_thread_guard_refuses_a_second_thread():
    refused = []

    def guard_again():
        try:
            with laminax.thread_guard(True):
                pass
        except errors.XlaRuntimeError as error:
            refused.append(str(error))

    with laminax.thread_guard(True):
        assert float(laminax.jit(lambda x: x + 1)(1.0)) == 2
        thread = threading.Thread(target=guard_again)
        thread.start()
        thread.join()
    assert len(refused) == 1 and "thread guards in different threads" in refused[0]
    with laminax.thread_guard(True):
        pass


def test_processes():
    assert laminax.process_indices() == laminax.host_ids() == [0]
    assert (laminax.host_id(), laminax.host_count()) == (laminax.process_index(), laminax.process_count()) == (0, 1)


def test_transfer_guard_of_the_process():
    laminax.config.update("jax_transfer_guard", "disallow")
    try:
        assert laminax.config.jax_transfer_guard_device_to_host == "disallow"
        with pytest.raises(errors.XlaRuntimeError, match="Disallowed host-to-device"):
            jnp.asarray(np.ones(2))
        with laminax.transfer_guard("allow"):
            jnp.asarray(np.ones(2))
    finally:
        laminax.config.update("jax_transfer_guard", "allow")
    jnp.asarray(np.ones(2))


def test_devices():
    devices = laminax.devices()
    assert laminax.devices(laminax.default_backend()) == devices
    assert laminax.local_devices() == laminax.local_devices(process_index=0) == laminax.local_devices(host_id=0) == devices
    assert laminax.device_count() == laminax.local_device_count() == len(devices)
    assert (laminax.process_index(), laminax.process_count()) == (0, 1)
    assert isinstance(devices[0], laminax.Device) and devices[0].platform == laminax.default_backend()
    with pytest.raises(ValueError, match="no process 5"):
        laminax.local_devices(process_index=5)
    with pytest.raises(ValueError, match="older name"):
        laminax.local_devices(0, host_id=0)
    with pytest.raises(TypeError, match="process_index must be an int or None, got 'cpu'.*goes to backend"):
        laminax.local_devices("cpu")
    with pytest.raises(errors.PlatformError, match="nonsense"):
        laminax.devices("nonsense")


def test_default_device():
    device = laminax.devices()[-1]
    with laminax.default_device(device):
        assert jnp.ones(2).devices() == laminax.jit(lambda x: x + 1)(1.0).devices() == {device}


# --- transfers ---


def test_device_put_and_get():
    tree = {"a": np.arange(3), "b": (1.5, None), "c": jnp.ones(2)}
    placed = laminax.device_put(tree, laminax.devices()[0])
    assert all(leaf.committed for leaf in laminax.tree.leaves(placed))
    assert not laminax.device_put(1.0).committed and laminax.device_put(tree)["c"] is tree["c"]
    back = laminax.device_get(placed)
    assert isinstance(back["a"], np.ndarray) and back["a"].tolist() == [0, 1, 2] and back["b"][1] is None
    assert laminax.device_get(1) == 1
    assert repr(laminax.device_get(jnp.array([1.0, 2.0, 3.0]))) == "array([1., 2., 3.], dtype=float32)"
    assert laminax.block_until_ready(placed) is placed


def test_device_put_options():
    device, x = laminax.devices()[0], jnp.ones(3)
    per_leaf = laminax.device_put({"a": 1.0, "b": [2.0, 3.0]}, {"a": None, "b": device})
    assert not per_leaf["a"].committed and per_leaf["b"][1].committed
    copied = laminax.device_put(x, device, src=device, may_alias=False)
    assert copied.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    with pytest.raises(ValueError, match=r"device_put device specification must be a tree prefix.*got specification \(.*\) for value "
                                         r"tree PyTreeDef"):
        laminax.device_put((x, x, x), (device, device))
    with pytest.raises(ValueError, match="may_alias and donate cannot be True"):
        laminax.device_put(x, device, donate=True, may_alias=True)
    with pytest.raises(ValueError, match="device must be a device.* Received invalid value: 'gpu:0'"):
        laminax.device_put(x, "gpu:0")
    with pytest.raises(ValueError, match="prefix"):
        laminax.device_put([1.0, 2.0], [device])
    with pytest.raises(TypeError, match="text"):
        laminax.device_put("text")


def test_device_put_to_a_format_that_leaves_the_layout_to_the_platform():
    """Libraries that restore arrays from files give the format of the array that was there."""
    from laminax.experimental.layout import Format
    place = laminax.sharding.SingleDeviceSharding(laminax.devices()[0])
    assert laminax.device_put(np.arange(3.0), Format(None, place)).sharding == place
    with pytest.raises(ValueError, match="device must be a device, a sharding.*'cpu' of type str"):
        laminax.device_put(np.arange(3.0), "cpu")


def test_device_put_sharded_and_replicated_examples():
    devices = laminax.local_devices()
    x = [jnp.ones(5) for _ in devices]
    np.testing.assert_array_equal(laminax.device_put_sharded(x, devices), np.stack(x))
    pairs = [(i, jnp.arange(i, i + 4)) for i in range(len(devices))]
    y = laminax.device_put_sharded(pairs, devices)
    assert type(y) is tuple
    np.testing.assert_array_equal(y[0], [a for a, _ in pairs])
    np.testing.assert_array_equal(y[1], np.stack([b for _, b in pairs]))
    values = jnp.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(laminax.device_put_replicated(values, devices), np.stack([values for _ in devices]))
    with pytest.raises(ValueError, match="must equal len"):
        laminax.device_put_sharded([], devices)
    with pytest.raises(ValueError, match="non-empty"):
        laminax.device_put_replicated(values, [])


def test_live_arrays():
    x = jnp.ones(3) + 1
    assert any(array is x for array in laminax.live_arrays())
    x.delete()
    assert not any(array is x for array in laminax.live_arrays())


# --- names ---


def test_named_call_and_named_scope():
    @laminax.named_call
    def first(x):
        return x * 2

    f = laminax.jit(lambda x: laminax.named_call(lambda y: y + 1, name="second")(first(x)))
    assert float(f(1.0)) == 3 and float(laminax.grad(first)(1.0)) == 2
    text = f.lower(1.0).as_text(debug_info=True)
    assert "first/mul" in text and "second/add" in text

    def scoped(x):
        with laminax.named_scope("outer"):
            return jnp.sin(x)

    assert "jit(scoped)/outer/sin" in laminax.jit(scoped).lower(1.0).as_text(debug_info=True)
    with laminax.named_scope("around"):  # what a call is in is not part of the program
        assert "around" not in laminax.jit(scoped).lower(1.0).as_text(debug_info=True)
    with pytest.raises(TypeError, match="name must be a string"):
        laminax.named_scope(3)
    with pytest.raises(TypeError, match="Expected a callable"):
        laminax.named_call(3)


def test_ensure_compile_time_eval():
    @laminax.jit
    def f(x):
        with laminax.ensure_compile_time_eval():
            n = int(jnp.sum(jnp.arange(4)))
        return x * n

    assert float(f(2.0)) == 12


def test_functions_of_values_are_computed_whole_at_compile_time():
    """One program, as outside of all traces: operation by operation other last bits come out, and it takes longer."""
    key, seen = laminax.random.key(0), []

    @laminax.jit
    def f(x):
        with laminax.ensure_compile_time_eval():
            seen.append(laminax.random.truncated_normal(key, -2, 2, (24, 5)))
            seen.append(jnp.mean(x))
        return x

    f(np.ones(3, np.float32))
    np.testing.assert_array_equal(seen[0], laminax.random.truncated_normal(key, -2, 2, (24, 5)))
    assert isinstance(seen[1], laminax.core.Tracer)


def test_ensure_compile_time_eval_leaves_traced_values_traced():
    @laminax.jit
    def f(x):
        with laminax.ensure_compile_time_eval():
            y = jnp.where(x > 0, x, 2.0) + jnp.sum(jnp.arange(4.0))
            assert isinstance(y, laminax.core.Tracer)
            return y * laminax.vmap(lambda z: z * int(jnp.max(jnp.arange(3))))(jnp.ones(2))

    np.testing.assert_array_equal(f(-1.0), [16, 16])
    np.testing.assert_array_equal(laminax.jacfwd(f)(3.0), [2, 2])


def test_error_types_are_the_builtin_ones():
    assert issubclass(errors.ConcretizationTypeError, TypeError) and issubclass(errors.UnexpectedTracerError, errors.JAXTypeError)
    assert errors.JaxRuntimeError is errors.XlaRuntimeError
