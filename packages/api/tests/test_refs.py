"""References in jitted and transformed functions, against the same loops on NumPy arrays."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import ad, lax
from laminax.ref import Ref, addupdate, freeze, get, new_ref, swap


def _with_ref(x, change):
    """What is in a reference to x, made here, after a change of it."""
    ref = new_ref(x)
    change(ref)
    return freeze(ref)


def test_references_print_as_arrays_do():
    assert repr(new_ref(jnp.arange(3.))) == "Ref([0., 1., 2.], dtype=float32)"
    assert laminax.jit(lambda r: repr(r) == "RefTracer(Ref{float32[3]})" and r[0])(new_ref(jnp.ones(3))) == 1


def test_a_reference_keeps_where_its_array_is():
    x = laminax.device_put(jnp.arange(3.), laminax.devices()[0])
    ref = new_ref(x)
    assert ref.sharding == x.sharding and ref.committed == x.committed and laminax.typeof(ref).shape == (3,)
    laminax.jit(lambda: ref.__setitem__(0, 5.))()
    assert ref.committed == x.committed
    x.delete()
    assert ref[0] == 5


def test_references_are_pickled_with_what_is_in_them():
    ref = pickle.loads(pickle.dumps(new_ref(jnp.arange(3))))
    assert isinstance(ref, Ref)
    np.testing.assert_array_equal(ref[...], [0, 1, 2])


def test_a_jitted_function_writes_its_arguments_in_containers_and_what_it_closes_over():
    closed_over, state = new_ref(jnp.zeros(2)), {"a": new_ref(jnp.ones(2)), "b": [new_ref(3)]}

    @laminax.jit
    def step(state, x):
        closed_over[1] = closed_over[1] + x
        state["a"][...] = state["a"][...] * x
        state["b"][0][...] += 1
        return closed_over[1] + state["b"][0][...]

    for i in range(1, 4):
        assert step(state, 2.) == 2 * i + 3 + i
    np.testing.assert_array_equal(closed_over[...], [0, 6])
    np.testing.assert_array_equal(state["a"][...], [8, 8])
    assert state["b"][0][...] == 6


def test_one_program_serves_all_references_of_a_type():
    traces = []

    @laminax.jit
    def double(ref):
        traces.append(ref)
        ref[...] = ref[...] * 2

    refs = [new_ref(jnp.full(2, float(i))) for i in range(3)]
    for ref in refs:
        double(ref)
    assert len(traces) == 1
    np.testing.assert_array_equal([ref[0] for ref in refs], [0, 2, 4])
    double(new_ref(jnp.ones(3)))
    assert len(traces) == 2


def test_nested_jits_pass_references_on():
    total = new_ref(0.)

    @laminax.jit
    def inner(ref, x):
        addupdate(ref, ..., x)
        addupdate(total, ..., 1.)
        return ref[...]

    @laminax.jit
    def outer(ref):
        return inner(ref, 1.) + inner(ref, 2.)

    ref = new_ref(10.)
    assert outer(ref) == 11 + 13 and ref[...] == 13 and total[...] == 2


def test_the_order_of_reads_and_writes_is_that_of_the_program():
    ref = new_ref(jnp.zeros(()))

    @laminax.jit
    def fun():
        before = ref[...]
        ref[...] = 1.
        between = ref[...]
        old = swap(ref, ..., 2.)
        return before, between, old, ref[...]

    assert [float(x) for x in fun()] == [0, 1, 1, 2]
    assert [float(x) for x in fun()] == [2, 1, 1, 2]


def test_keys_are_held_and_split():
    key = new_ref(laminax.random.key(3))

    @laminax.jit
    def draw():
        key[...], use = laminax.random.split(key[...])
        return laminax.random.uniform(use)

    first, second = draw(), draw()
    k1, use1 = laminax.random.split(laminax.random.key(3))
    _, use2 = laminax.random.split(k1)
    assert (first, second) == (laminax.random.uniform(use1), laminax.random.uniform(use2))


def test_a_training_loop_with_state_in_references():
    x = np.linspace(-1, 1, 20, dtype=np.float32)
    y = 3 * x + 1
    w, b, momentum = new_ref(0.), new_ref(0.), new_ref(jnp.zeros(2))

    @laminax.jit
    def step():
        gw, gb = laminax.grad(lambda p: jnp.mean((p[0] * x + p[1] - y) ** 2))((w[...], b[...]))
        momentum[...] = 0.5 * momentum[...] + jnp.stack([gw, gb])
        w[...] = w[...] - 0.3 * momentum[0]
        b[...] = b[...] - 0.3 * momentum[1]

    for _ in range(60):
        step()
    np.testing.assert_allclose([w[...], b[...]], [3, 1], atol=1e-3)  # the minimum; 60 steps are well beyond what momentum needs


def test_side_effects_keep_their_order_beside_references(capsys):
    ref = new_ref(0)

    @laminax.jit
    def fun():
        for _ in range(2):
            ref[...] += 1
            laminax.debug.print("{}", ref[...], ordered=True)

    fun()
    laminax.effects_barrier()
    assert capsys.readouterr().out.split() == ["1", "2"]


def test_references_live_as_long_as_they_are_used():
    def written():
        ref = new_ref(jnp.zeros(3))
        laminax.jit(lambda: ref.__setitem__(0, 1.))()
        return weakref.ref(ref)

    alive = written()
    gc.collect()
    assert alive() is None


# Transformations


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit, laminax.checkpoint], ids=["plain", "jit", "checkpoint"])
def test_derivatives_go_through_references_of_the_function(wrap):
    def fun(x):
        ref = new_ref(jnp.zeros(3))

        def body(i, _):
            ref[i] = x ** (i + 1)
            addupdate(ref, i, ref[(i + 2) % 3])
        lax.fori_loop(0, 3, body, None)
        return ref[...].sum()

    x = 1.3
    value, derivative = _by_hand(x), (_by_hand(x + 1e-6) - _by_hand(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(wrap(fun)(x), value, rtol=1e-5)
    np.testing.assert_allclose(laminax.grad(wrap(fun))(x), derivative, rtol=1e-4)  # of float32 against differences in float64
    np.testing.assert_allclose(laminax.jvp(wrap(fun), (x,), (2.,))[1], 2 * derivative, rtol=1e-4)
    np.testing.assert_allclose(laminax.jit(laminax.linearize(wrap(fun), x)[1])(1.), derivative, rtol=1e-4)
    np.testing.assert_allclose(laminax.vmap(laminax.grad(wrap(fun)))(jnp.full(2, x)), [derivative] * 2, rtol=1e-4)


def _by_hand(x: float) -> float:
    array = np.zeros(3)
    for i in range(3):
        array[i] = x ** (i + 1)
        array[i] += array[(i + 2) % 3]
    return array.sum()


def test_a_second_derivative_through_a_reference():
    fun = lambda x: _with_ref(x, lambda ref: ref.__setitem__(..., ref[...] ** 3))  # noqa: E731
    assert laminax.grad(laminax.grad(fun))(2.) == 12


@pytest.mark.parametrize("jit", [False, True])
def test_what_has_no_tangent_is_written_while_differentiating(jit):
    seen, calls = new_ref(0.), new_ref(0)

    def loss(x):
        seen[...] = lax.stop_gradient(x * 2)
        calls[...] += 1
        return x * x * seen[...]

    assert laminax.grad(laminax.jit(loss) if jit else loss)(3.) == 2 * 3 * 6
    assert seen[...] == 6 and calls[...] == 1


def test_a_value_with_a_tangent_is_not_written_to_a_reference_without():
    ref = new_ref(0.)

    def fun(x):
        ref[...] = x
        return x

    for transform in (laminax.grad(fun), laminax.grad(laminax.jit(fun)), lambda x: laminax.jvp(fun, (x,), (1.,))):
        with pytest.raises(ValueError, match="differentiated value on a non-differentiated array reference of type Ref"):
            transform(3.)


def test_jvp_of_a_function_of_references_writes_the_tangents():
    ref, tangent = new_ref(jnp.float32(3)), new_ref(jnp.float32(1))

    def square(ref, x):
        ref[...] = ref[...] * ref[...] * x
        return ref[...]

    result, result_dot = laminax.jvp(square, (ref, 2.), (tangent, 0.5))
    assert (result, result_dot) == (18, 2 * 3 * 2 + 9 * 0.5)
    assert (ref[...], tangent[...]) == (18, 16.5)


def test_vmap_maps_references_and_writes_them():
    rows, columns, shared = new_ref(jnp.arange(6.).reshape(2, 3)), new_ref(jnp.ones((3, 2))), new_ref(10.)
    expected_rows, expected_columns = np.arange(6.).reshape(2, 3), np.ones((3, 2))

    def fun(row, column, shared, x):
        row[0] = row[1] * x + shared[...]
        column[1:] = row[:2]
        return row[...].sum()

    out = laminax.vmap(fun, in_axes=(0, 1, None, 0))(rows, columns, shared, jnp.float32([2, 3]))
    for i, x in enumerate((2, 3)):
        expected_rows[i, 0] = expected_rows[i, 1] * x + 10
        expected_columns[1:, i] = expected_rows[i, :2]
    np.testing.assert_array_equal(out, expected_rows.sum(1))
    np.testing.assert_array_equal(rows[...], expected_rows)
    np.testing.assert_array_equal(columns[...], expected_columns)


def test_vmap_in_jit_and_jit_in_vmap_map_references():
    def double(ref):
        ref[...] = ref[...] * 2

    ref = new_ref(jnp.arange(4.).reshape(2, 2))
    laminax.jit(laminax.vmap(double))(ref)
    laminax.vmap(laminax.jit(double))(ref)
    laminax.vmap(laminax.vmap(double))(ref)
    np.testing.assert_array_equal(ref[...], 8 * np.arange(4.).reshape(2, 2))


def test_loops_in_vmap_write_references_of_the_mapped_function():
    def fun(count):
        ref = new_ref(0)
        lax.while_loop(lambda i: i < count, lambda i: (addupdate(ref, ..., i), i + 1)[1], 0)
        lax.cond(count > 2, lambda: ref.__setitem__(..., ref[...] + 100), lambda: None)
        return ref[...]

    np.testing.assert_array_equal(laminax.vmap(fun)(jnp.arange(5)), [sum(range(n)) + 100 * (n > 2) for n in range(5)])


def test_a_mapped_function_reads_but_does_not_write_references_that_are_not_mapped():
    ref = new_ref(jnp.arange(3.))
    np.testing.assert_array_equal(laminax.vmap(lambda i: ref[i] + ref[0])(jnp.array([2, 1])), [2, 1])
    for value in (lambda x: x, lambda x: 1.):
        with pytest.raises(ValueError, match="vmapped value on an unbatched array reference"):
            laminax.vmap(lambda x, value=value: ref.__setitem__(0, value(x)))(jnp.ones(2))
    with pytest.raises(ValueError, match="for vmap .*appeared at both a and b"):
        laminax.vmap(lambda a, b: None)(ref, ref)


def test_checkpointed_functions_write_once():
    count = new_ref(0)

    @laminax.checkpoint
    def layer(x):
        count[...] += 1
        return jnp.sin(x)

    assert laminax.grad(lambda x: layer(layer(x)))(0.) == 1
    assert count[...] == 2


@pytest.mark.parametrize("where", ["plain", "jit", "grad in jit", "scan"])
def test_the_backward_rule_of_custom_vjp_writes_to_a_reference(where):
    @laminax.custom_vjp
    def watched(x, ref):
        return x

    watched.defvjp(lambda x, ref: (x, ref), lambda ref, ct: (ref.__setitem__(..., ct), (ct, None))[1])
    seen = new_ref(0.)

    def loss(x):
        return 3 * watched(x * x, seen)

    if where == "scan":
        assert laminax.grad(lambda x: lax.scan(lambda c, _: (c + loss(x), None), 0., length=2)[0])(2.) == 24 and seen[...] == 3
        return
    gradient = {"plain": laminax.grad(loss), "jit": laminax.grad(laminax.jit(loss)), "grad in jit": laminax.jit(laminax.grad(loss))}[where]
    assert gradient(2.) == 12 and seen[...] == 3


def test_custom_vjp_functions_write_to_references_in_loops():
    count = new_ref(0)

    @laminax.custom_vjp
    def twice(x, ref):
        ref[...] += 1
        return x * 2

    def forward(x, ref):
        ref[...] += 10
        return x * 2, None

    twice.defvjp(forward, lambda _, ct: (ct * 5, None))

    def fun(x):
        return lax.scan(lambda c, _: (twice(c, count), None), x, length=2)[0]

    assert fun(1.) == 4 and count[...] == 2
    assert laminax.grad(fun)(1.) == 25 and count[...] == 22


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit], ids=["eager", "jit"])
def test_custom_vjp_functions_get_references_to_what_is_differentiated_or_mapped(wrap):
    @laminax.custom_vjp
    def sine(ref, y):
        ref[...] = jnp.sin(ref[...])
        return ref[...] * y

    def forward(ref, y):
        x = ref[...]
        return sine(ref, y), (x, y)

    sine.defvjp(forward, lambda res, ct: (10 * jnp.cos(res[0]) * res[1] * ct, jnp.sin(res[0]) * ct))  # tenfold: the rule's, not the body's
    fun = wrap(lambda x, y: sine(new_ref(x), y))
    xs, ys = np.linspace(0, 1, 3, dtype=np.float32), np.float32([1, 2, 3])
    np.testing.assert_allclose(laminax.grad(fun, (0, 1))(0.5, 2.0), [20 * np.cos(0.5), np.sin(0.5)], rtol=1e-6)
    np.testing.assert_allclose(laminax.vmap(fun)(xs, ys), np.sin(xs) * ys, rtol=1e-6)
    np.testing.assert_allclose(laminax.vmap(laminax.grad(fun))(xs, ys), 10 * np.cos(xs) * ys, rtol=1e-6)
    np.testing.assert_allclose(laminax.grad(lambda x: laminax.vmap(fun)(x, ys).sum())(xs), 10 * np.cos(xs) * ys, rtol=1e-6)
    np.testing.assert_allclose(laminax.jacrev(laminax.grad(fun))(0.5, 2.0), -20 * np.sin(0.5), rtol=1e-6)


# Stages, and what is refused


def test_programs_of_functions_with_references_print():
    ref = new_ref(jnp.zeros(3))
    text = str(laminax.make_jaxpr(lambda r, x: (r.__setitem__(0, x), get(r, slice(1, None)))[1])(ref, 1.))
    assert text == "{ lambda ; a:Ref{f32[3]} b:f32[]. let a[0] <- b; c:f32[2] <- a[1:] in (c,) }"
    assert laminax.eval_shape(lambda r: r[1:], ref).shape == (2,)


@pytest.mark.parametrize("fun, message", [
    (lambda x, y: 1, r"tracing .* for jit .* appeared at both x and y\['a'\]"),
    (lambda x, y: x[...] + y["a"][...], "Pass it once"),
])
def test_references_given_twice_are_refused(fun, message):
    ref = new_ref(0.)
    with pytest.raises(ValueError, match=message):
        laminax.jit(fun)(ref, {"a": ref})


def test_a_reference_closed_over_and_given_is_refused():
    ref = new_ref(0.)
    with pytest.raises(ValueError, match="closed over and passed as the argument y"):
        laminax.jit(lambda y: y[...] + ref[...])(ref)


@pytest.mark.parametrize("fun, origin", [
    (lambda x: {"hi": new_ref(x[...])}, r"created on line .*test_refs"), (lambda x: {"hi": x}, "passed in as the argument x")])
def test_a_jitted_function_returns_no_references(fun, origin):
    with pytest.raises(ValueError, match=rf"traced for jit returned a mutable array reference .*result\['hi'\](.|\n)*{origin}"):
        laminax.jit(fun)(new_ref(0.))


@pytest.mark.parametrize("use", [lambda r: jnp.sin(r), lambda r: lax.sin(r), lambda r: jnp.where(True, r, 1.)])
def test_operations_on_arrays_do_not_take_references(use):
    for function in (use, laminax.jit(use)):
        with pytest.raises((TypeError, ValueError), match="Ref"):
            function(new_ref(jnp.ones(2)))


def test_views_are_passed_to_jitted_functions_branches_and_checkpointed_ones():
    def fun():
        ref = new_ref(jnp.zeros(7))
        view = ref.at[1:6]
        write = lambda v, x: v.__setitem__(..., v[...] + x)  # noqa: E731
        laminax.jit(write)(view, 1.)
        lax.cond(ref[1] > 0, write, lambda v, x: None, view.at[jnp.int32(1)], 10.)
        laminax.checkpoint(lambda d: write(d["v"], 100.))({"v": ref.at[:2]})
        return freeze(ref)

    for function in (fun, laminax.jit(fun)):
        np.testing.assert_array_equal(function(), [100, 101, 11, 1, 1, 1, 0])
    with pytest.raises(TypeError, match=r"TransformedRefs are not allowed here: .* shape \(2, 3\)"):
        laminax.vmap(lambda v: v[...])(new_ref(jnp.zeros((2, 3))).at[0:1])


def test_programs_are_compiled_ahead_of_time():
    ref, closed_over = new_ref(jnp.arange(3.)), new_ref(0.)

    def fun(r, x):
        r[0] = x
        closed_over[...] += 1
        return r[...].sum()

    lowered = laminax.jit(fun).lower(ref, 5.)
    compiled = lowered.compile()
    assert lowered.out_info.shape == () and compiled(ref, 7.) == 10 and ref[0] == 7 and closed_over[...] == 1
    other = new_ref(jnp.zeros(3))
    assert compiled(other, 2.) == 2 and other[0] == 2 and closed_over[...] == 2
    assert laminax.jit(fun).lower(laminax.typeof(ref), 5.).compile()(ref, 1.) == 4
    with pytest.raises(TypeError, match=r"'r' compiled with Ref\{float32\[3\]\} and called with float32\[3\]"):
        compiled(jnp.zeros(3), 2.)
    with pytest.raises(ValueError, match="closed over and passed"):
        laminax.jit(lambda r, x: closed_over[...] + r[...]).lower(new_ref(0.), 1.).compile()(closed_over, 1.)
    with pytest.raises(TypeError, match="references"):
        pickle.dumps(compiled)


def test_reverse_mode_by_a_reference_is_by_what_was_in_it():
    ref = new_ref(jnp.arange(3.))

    def fun(ref, x):
        ref[0] = ref[1] * x
        return jnp.sin(ref[...]).sum()

    result, pullback = laminax.vjp(fun, ref, 5.)
    gradient = new_ref(jnp.full(3, 10.))
    got = pullback.with_refs(gradient, ad.GradValue())(2.)
    np.testing.assert_allclose(result, np.sin([5, 1, 2]).sum(), rtol=1e-6)
    np.testing.assert_array_equal(ref[...], [5, 1, 2])
    np.testing.assert_allclose(gradient[...], 10 + 2 * np.array([0, 5 * np.cos(5) + np.cos(1), np.cos(2)]), rtol=1e-5)
    np.testing.assert_allclose(got[1], 2 * np.cos(5) * 1, rtol=1e-5)
    assert repr(got[0]) == "GradRef()" and not laminax.tree.leaves(got[0])
    with pytest.raises(ValueError, match=r"Expected cotangent type Ref\{float32\[3\]\}.*with_refs"):
        pullback(1.)
    assert laminax.grad(lambda x, ref: ref[1] * x)(3., ref) == 1
    assert laminax.linearize(lambda ref, x: ref[1] * x, ref, 3.)[0] == 3


def test_cotangents_are_added_to_references():
    total = new_ref(1.)
    primals = {"a": 2., "b": 3.}, 4.
    _, pullback = laminax.vjp(lambda d, y: d["a"] * d["b"] * y, *primals)
    bound = pullback.with_refs({"a": total, "b": ad.GradValue()}, ad.DontWant())
    for _ in range(2):
        first, second = bound(1.)
        assert first["b"] == 8 and repr((first["a"], second)) == "(GradRef(), DidntWant())"
    assert total[...] == 1 + 2 * 12
    for entries, error, message in (((ad.GradValue(), ad.GradValue()), ValueError, "one entry for each array"),
                                    (({"a": 1., "b": total}, total), TypeError, r"entry for 0\['a'\] .* got 1.0"),
                                    (({"a": new_ref(1), "b": total}, total), ValueError,
                                     r"a ref of type Ref\{float32\[\]\}.*got Ref\{int32")):
        with pytest.raises(error, match=message):
            pullback.with_refs(*entries)


def test_gradients_of_small_batches_are_accumulated_in_a_scan():
    weights, batches = np.float32([0.5, -1, 2]), np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)

    def loss(w, xs):
        return jnp.mean(jnp.tanh(xs @ w))

    @laminax.jit
    def accumulated(w, batches):
        total = new_ref(jnp.zeros_like(w))
        lax.scan(lambda _, xs: (None, laminax.vjp(lambda w: loss(w, xs), w)[1].with_refs(total)(1.)), None, batches)
        return freeze(total)

    expected = sum((1 - np.tanh(xs @ weights) ** 2) @ xs / len(xs) for xs in batches)
    np.testing.assert_allclose(accumulated(weights, batches), expected, rtol=1e-5, atol=1e-6)  # sums of float32


def test_cotangents_that_nobody_wants_are_not_computed():
    _, pullback = laminax.vjp(lambda w, x: w @ x, jnp.ones((4, 4)), jnp.ones(4))
    both = str(laminax.make_jaxpr(lambda: pullback(jnp.ones(4)))())
    one = str(laminax.make_jaxpr(lambda: pullback.with_refs(ad.GradValue(), ad.DontWant())(jnp.ones(4)))())
    assert (both.count("dot_general"), one.count("dot_general")) == (2, 1)
    assert "0.0" not in one  # nor are zeros made in their place


def test_a_jitted_function_overwrites_the_array_in_a_reference_unless_somebody_has_it():
    ref = new_ref(jnp.zeros(1000))
    add = laminax.jit(lambda x: addupdate(ref, ..., x))
    given = jnp.ones(1000)
    add(given)
    first = ref.unsafe_buffer_pointer()
    for _ in range(3):
        add(given)
        assert ref.unsafe_buffer_pointer() == first
    seen = ref[...]
    add(given)
    np.testing.assert_array_equal(seen, np.full(1000, 4))  # not deleted
    ref[...] = given
    add(given)
    add(ref[...])
    np.testing.assert_array_equal(given, np.ones(1000))
    np.testing.assert_array_equal(ref[...], np.full(1000, 4))
    other = new_ref(given)
    other[...] = ref[...]
    add(other[...])
    np.testing.assert_array_equal(other[...], np.full(1000, 4))
    np.testing.assert_array_equal(ref[...], np.full(1000, 8))


def test_what_is_only_written_needs_no_old_value(recwarn):
    ref = new_ref(jnp.zeros(3))
    write = laminax.jit(lambda x: ref.__setitem__(..., x), keep_unused=False)
    write(jnp.ones(3))
    write(jnp.full(3, 2.))
    np.testing.assert_array_equal(ref[...], [2, 2, 2])
    assert not recwarn.list


def test_checks_beside_references():
    from laminax.experimental import checkify
    ref = new_ref(1.)

    def fun(x):
        checkify.check(x > ref[...], "too small: {}", x)
        ref[...] = x
        return x + 1

    error, result = checkify.checkify(laminax.jit(fun))(2.)
    assert error.get() is None and result == 3 and ref[...] == 2
    assert "too small: 1.5" in checkify.checkify(fun)(1.5)[0].get()


def test_what_does_not_know_references_of_others_says_so_and_has_its_own():
    from laminax import export
    ref = new_ref(1.)
    internal = lambda x: _with_ref(x, lambda r: r.__setitem__(..., r[...] * 2))  # noqa: E731
    np.testing.assert_array_equal(laminax.pmap(internal)(jnp.ones(1)), [2])
    mesh = laminax.make_mesh((1,), ("i",), laminax.sharding.AxisType.Auto)
    mapped = lambda f: laminax.shard_map(f, mesh=mesh, in_specs=laminax.P("i"), out_specs=laminax.P("i"))  # noqa: E731
    np.testing.assert_array_equal(laminax.jit(mapped(internal))(jnp.ones(2)), [2, 2])
    assert export.export(laminax.jit(internal))(1.).call(3.) == 6
    for use in (lambda: laminax.pmap(lambda x: x + ref[...])(jnp.ones(1)), lambda: export.export(laminax.jit(lambda x: x + ref[...]))(1.)):
        with pytest.raises(NotImplementedError, match="has a reference of its caller, Ref"):
            use()


def test_transformed_functions_return_no_references():
    for transform in (laminax.vmap(new_ref), laminax.grad(new_ref)):
        with pytest.raises(ValueError, match="new_ref traced for (vmap|grad) returned a mutable array reference"):
            transform(jnp.ones(2))


def test_a_reference_whose_first_value_does_not_matter():
    ref = laminax.ref.empty_ref(laminax.ShapeDtypeStruct((2,), jnp.int32))
    assert ref.shape == (2,) and ref.dtype == jnp.int32
    with pytest.raises(TypeError, match="empty_ref: ty must have a shape"):
        laminax.ref.empty_ref(3)


def test_a_reference_to_an_array_on_several_devices_stays_there():
    sharding = laminax.NamedSharding(laminax.make_mesh((1,), ("i",), laminax.sharding.AxisType.Auto), laminax.P("i"))
    ref = new_ref(laminax.device_put(jnp.arange(4.), sharding))
    laminax.jit(lambda: ref.__setitem__(..., ref[...] * 2))()
    ref[0] = 5.
    assert ref.sharding.is_equivalent_to(sharding, 1)
    np.testing.assert_array_equal(ref[...], [5, 2, 4, 6])


def _kept(value):
    return laminax.new_ref(value, kind="no_grad_no_remat")


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit, laminax.checkpoint, lambda f: laminax.jit(laminax.checkpoint(f)),
                                  lambda f: laminax.checkpoint(laminax.checkpoint(laminax.jit(f)))])
def test_references_without_derivatives_take_values_that_have_them(wrap):
    """What is written is there once, and what is read of it is a constant: f(x) = x * stopped(x ** 2) has the derivative x ** 2."""
    written, counter = _kept(0.0), _kept(0.0)

    @wrap
    def f(x):
        written[...] = x * x
        counter[...] += 1.0
        return x * written[...]

    np.testing.assert_allclose(laminax.grad(f)(3.0), 9.0)
    np.testing.assert_allclose([written[...], counter[...]], [9.0, 1.0])
    np.testing.assert_allclose(laminax.jvp(f, (2.0,), (1.0,)), [8.0, 4.0])
    np.testing.assert_allclose([written[...], counter[...]], [4.0, 2.0])


def test_references_without_derivatives_as_arguments_and_in_loops():
    def f(x, ref):
        def body(c, _):
            ref.addupdate(c)
            return c * ref[...], None
        return lax.scan(body, x, None, length=2)[0]

    ref = _kept(1.0)
    # the sums are 1 + x and 1 + x + x (1 + x), constants for the derivative
    x, first = 0.5, 1.5
    second = first + x * first
    np.testing.assert_allclose(laminax.jit(laminax.grad(f))(x, ref), first * second, rtol=1e-6)
    np.testing.assert_allclose(ref[...], second, rtol=1e-6)
    inside = laminax.grad(lambda x: f(x, _kept(1.0)))(x)  # a reference that the function makes itself
    np.testing.assert_allclose(inside, first * second, rtol=1e-6)


def test_an_optimization_barrier_passes_references_on():
    ref = laminax.new_ref(jnp.float32(1))
    y, same = lax.optimization_barrier((jnp.float32(2), ref))
    assert same is ref and y == 2

    @laminax.jit
    def f(ref, y):
        y, _ = lax.optimization_barrier((y, ref))
        ref[...] += y
        return ref[...]

    assert f(ref, 2.0) == ref[...] == 3
    assert f.lower(ref, 2.0).as_text().count("stablehlo.optimization_barrier %arg0, %arg1 :") + \
        f.lower(ref, 2.0).as_text().count("stablehlo.optimization_barrier %arg1, %arg0 :") == 1
