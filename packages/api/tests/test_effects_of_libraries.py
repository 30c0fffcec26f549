"""Operations of libraries with effects of their own: which are refused where, and the tokens that keep their order."""

import threading

import numpy as np
import pytest

import laminax
from laminax import export, lax
from laminax._src import effects as kinds
from laminax._src.exporting.export_format import effect_from_json
from laminax.experimental import hijax
from laminax.extend.core import Effect, Primitive
from laminax.extend.mlir import ir
from laminax.extend.mlir.dialects import stablehlo
from laminax.interpreters import ad, mlir

X = np.float32(2)


class Unknown(Effect):
    """Nobody says that it may be lowered."""


class Unordered(Effect):
    pass


class Logging(Effect):
    """Ordered, and allowed everywhere. Instances differ by their name."""

    def __init__(self, name):
        self.name = name


class Named(Effect):
    """Made with a name only."""

    def __init__(self, name):
        self.name = name


for allowing in (mlir.lowerable_effects, hijax.control_flow_allowed_effects, kinds.custom_derivatives_allowed_effects):
    allowing.add_type(Logging)
for kind in (Unordered, Named):
    mlir.lowerable_effects.add_type(kind)
    kinds.custom_derivatives_allowed_effects.add_type(kind)
kinds.ordered_effects.add_type(Logging)
FIRST, SECOND = Logging("first"), Logging("second")


def operation(name, rule):
    made = Primitive(name)
    made.multiple_results = True
    made.def_effectful_abstract_eval(lambda *avals, effect, **params: (avals, {effect}))
    mlir.register_lowering(made, rule)
    ad.primitive_jvps[made] = lambda primals, tangents, **params: (made.bind(*primals, **params), tangents)
    return made


def _pass(ctx, *operands, effect):
    ctx.set_tokens_out(ctx.tokens_in)
    return operands


def _call(ctx, *operands, effect, callback):
    def function(*args):
        callback(*args)
        return ()
    _, token, _ = mlir.emit_python_callback(ctx, function, ctx.tokens_in.get(effect), operands, ctx.avals_in, [], has_side_effect=True)
    ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({effect: token})))
    return operands


pass_p, call_p = operation("pass_tokens", _pass), operation("call_in_order", _call)


plain_p = operation("plain_with_effect", lambda ctx, *operands, effect: operands)


def ordered_alone(x):
    return pass_p.bind(x, effect=FIRST)[0]


ordered_alone.__name__ = "f"


def log(seen, x, effect=FIRST):
    return call_p.bind(x, effect=effect, callback=lambda x: seen.append(float(x)))[0]


def test_the_callbacks_of_a_librarys_operation_keep_their_order():
    seen = []

    @laminax.jit
    def f(x):
        log(seen, x + 1)
        log(seen, x)
        return log(seen, x * 3)

    assert f(X) == 6 and f(X + 1) == 9
    laminax.effects_barrier()
    assert seen == [3, 2, 6, 4, 3, 9]


def test_order_is_kept_through_loops_and_branches():
    seen, seconds, half = [], [], X / 2

    @laminax.jit
    def f(x):
        x = lax.fori_loop(0, 3, lambda i, x: log(seen, x + 1), x)
        log(seconds, x, SECOND)
        x = lax.cond(x > 0, lambda x: log(seen, -x), lambda x: x, x)
        x, _ = lax.scan(lambda c, y: (log(seen, c + y), None), x, np.arange(3, dtype=np.float32))
        return lax.while_loop(lambda x: log(seen, x * half) < 0, lambda x: x + 4, x)

    assert f(X) == 2
    laminax.effects_barrier()
    assert seen == [3, 4, 5, -5, -5, -4, -2, -2, 2] and seconds == [5]


def test_tokens_are_those_of_stablehlo_and_each_effect_has_its_own():
    def f(x):
        pass_p.bind(effect=FIRST)
        pass_p.bind(effect=SECOND)
        return lax.cond(x > 0, lambda x: pass_p.bind(x, effect=FIRST)[0], lambda x: x, x)

    text = laminax.jit(f).lower(X).as_text()
    assert text.count("stablehlo.create_token") == 2 and "!stablehlo.token" in text
    assert laminax.jit(f)(X) == X


def test_a_rule_may_hand_its_token_to_operations():
    def rule(ctx, x, *, effect):
        ((known, token),) = ctx.tokens_in.items()
        assert known == effect and str(token.type) == str(mlir.token_type()) and len(ctx.tokens_in) == 1
        ctx.set_tokens_out(mlir.TokenSet({effect: stablehlo.after_all([token])}))
        return [stablehlo.add(x, x)]

    add_p = operation("add_with_token", rule)
    assert laminax.jit(lambda x: add_p.bind(x, effect=FIRST)[0] + add_p.bind(x, effect=SECOND)[0])(X) == 8


def test_an_unordered_effect_has_no_token():
    def rule(ctx, *operands, effect):
        assert len(ctx.tokens_in) == 0 and not ctx.tokens_in.effects()
        return operands

    plain_p = operation("without_tokens", rule)
    assert laminax.jit(lambda x: plain_p.bind(x, effect=Unordered())[0])(X) == X
    with pytest.raises(KeyError):
        mlir.TokenSet().get(FIRST)


@pytest.mark.parametrize("tokens, message", [
    (lambda ctx: None, "Lowering rule for `bad_tokens` needs to set `tokens_out`"),
    (lambda ctx: ctx.set_tokens_out(mlir.TokenSet({SECOND: ctx.tokens_in.get(FIRST)})),
     "returns incorrect set of output token.*first.*second")])
def test_a_rule_that_sets_no_tokens_or_others(tokens, message):
    def rule(ctx, *operands, effect):
        tokens(ctx)
        return operands

    bad_p = operation("bad_tokens", rule)
    with pytest.raises(ValueError, match=message):
        laminax.jit(lambda x: bad_p.bind(x, effect=FIRST)[0]).lower(X)


def test_effects_that_nobody_allowed_are_refused():
    def f(x):
        return pass_p.bind(x, effect=Unknown())[0]

    with pytest.raises(ValueError, match=r"Cannot lower jaxpr with effects: \{Unknown\}.*lowerable_effects.add_type"):
        laminax.jit(f).lower(X)
    with pytest.raises(NotImplementedError, match="Effects not supported in cond: Unknown.*control_flow_allowed_effects"):
        laminax.make_jaxpr(lambda x: lax.cond(x > 0, f, lambda x: x, x))(X)
    ruled = laminax.custom_jvp(f)
    ruled.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    with pytest.raises(NotImplementedError, match="Effects not supported in f, a function .*custom_derivatives_allowed"):
        laminax.make_jaxpr(ruled)(X)
    with pytest.raises(NotImplementedError, match="Effects not supported in a checkpointed function that is differentiated: Unknown"):
        laminax.make_jaxpr(laminax.grad(laminax.checkpoint(f)))(X)


def test_an_exported_function_has_its_unordered_effects():
    exported = export.export(laminax.jit(lambda x: [plain_p.bind(x, effect=Unordered())[0], x + 1][1]))(X)
    assert exported.unordered_effects == (Unordered(),) and exported.ordered_effects == ()
    read = export.deserialize(exported.serialize())
    assert read.unordered_effects == (Unordered(),) and read.call(X) == 3
    closed = laminax.make_jaxpr(lambda x: [read.call(x), x][1])(X)
    assert closed.effects == {Unordered()} and "call_exported" in str(closed)  # which nothing but its effect keeps
    text = bytes(exported.serialize()).replace(b":Unordered", b":Unheardof")
    with pytest.raises(ValueError, match="damaged"):
        export.deserialize(text)


def test_effects_that_cannot_be_exported():
    with pytest.raises(NotImplementedError, match=r"export\(f\): the program has the ordered effects first, whose order"):
        export.export(laminax.jit(ordered_alone))(X)
    named = export.export(laminax.jit(lambda x: plain_p.bind(x, effect=Named("a"))[0]))(X)
    with pytest.raises(ValueError, match="the effect a of the class Named cannot be written"):
        named.serialize()
    with pytest.raises(ValueError, match="an effect of the class other:Kind, which is not known here"):
        effect_from_json("other:Kind")


def test_sets_of_tokens():
    tokens = mlir.TokenSet({FIRST: "a", SECOND: "b"})
    assert tokens.items() == ((FIRST, "a"), (SECOND, "b")) and tokens.effects() == {FIRST, SECOND}
    assert tokens.subset([SECOND]).items() == ((SECOND, "b"),) and tokens.update_tokens(mlir.TokenSet()) is tokens
    assert tokens.update_tokens(mlir.TokenSet({SECOND: "c"})).items() == ((FIRST, "a"), (SECOND, "c"))
    with mlir.make_ir_context() as context, ir.Location.unknown(context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            assert [str(token.type) for _, token in mlir.TokenSet.create([FIRST, SECOND]).items()] == ["!stablehlo.token"] * 2


def test_each_thread_has_calls_in_its_order():
    seen = {}

    def run(number):
        mine = seen.setdefault(number, [])

        @laminax.jit
        def f(x):
            log(mine, x)
            return log(mine, x + 1)
        for i in range(5):
            f(np.float32(number + i))

    threads = [threading.Thread(target=run, args=(10 * i,)) for i in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    laminax.effects_barrier()
    assert seen == {n: [n + i + j for i in range(5) for j in (0, 1)] for n in (10, 20, 30)}
