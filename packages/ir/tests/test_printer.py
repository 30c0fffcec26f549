"""Jaxprs as text. The expected strings are what JAX prints for the same programs, as its documentation shows them."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from laminax_ir.functions import operators  # noqa: F401  (arithmetic on tracers)
from laminax_ir.ops import contraction
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall, call_jaxpr
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import broadcast_in_dim, iota
from laminax_ir.programs import layout  # noqa: F401  (arithmetic on tracers)
from laminax_ir.programs.jaxpr import Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.printer_params import equation_rule, hide_params
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import name_scope
from laminax_ir.types.avals import ShapedArray


def f32(*shape):
    return ShapedArray(shape, np.dtype(np.float32))


def printed(fun, *avals, **options):
    def flat(*xs):
        out = fun(*xs)
        return list(out) if isinstance(out, (tuple, list)) else [out]
    closed = stage(flat, avals)
    return closed.pretty_print(**options)


def lines(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def eqn(name, invars, outvars, **params):
    return JaxprEqn(invars, outvars, Primitive(name, multiple_results=True), params)


F = stage(lambda x: [op.sin(x) * 2.0], [f32(3)], "f")


def call(closed, *operands, name="f"):
    return call_jaxpr(closed, *operands, name=name)[0]


@pytest.mark.parametrize("fun, avals, want", [
    (op.cos, [f32()], "{ lambda ; a:f32[]. let b:f32[] = cos a in (b,) }"),
    (lambda x: x, [f32()], "{ lambda ; a:f32[]. let  in (a,) }"),
    (lambda: (), [], "{ lambda ; . let  in () }"),
    (lambda x, y: (x, y, x), [f32(3), f32()], "{ lambda ; a:f32[3] b:f32[]. let  in (a, b, a) }"),
    (lambda x: (op.sin(x), x)[1], [f32(3)], "{ lambda ; a:f32[3]. let _:f32[3] = sin a in (a,) }"),
    (lambda x: op.convert_element_type(x, "int32"), [f32(3)],
     "{ lambda ; a:f32[3]. let\n    b:i32[3] = convert_element_type[new_dtype=int32 weak_type=False] a\n  in (b,) }"),
    (lambda x: op.round(x), [f32(3)], "{ lambda ; a:f32[3]. let b:f32[3] = round[rounding_method=0] a in (b,) }"),
    (lambda x: broadcast_in_dim(x, (2, 3), (1,)), [f32(3)],
     "{ lambda ; a:f32[3]. let\n    b:f32[2,3] = broadcast_in_dim[broadcast_dimensions=(1,)] a\n  in (b,) }"),
    (lambda x: broadcast_in_dim(x, (2,), ()), [f32()], "{ lambda ; a:f32[]. let b:f32[2] = broadcast_in_dim a in (b,) }"),
    (lambda x: reduce_sum(x, (0,)), [f32(3)],
     "{ lambda ; a:f32[3]. let\n    b:f32[] = reduce_sum[axes=(0,) out_sharding=None] a\n  in (b,) }"),
    (lambda x: op.optimization_barrier_flat(x, x), [f32(3)],  # one column too long for a line
     "{ lambda ; a:f32[3]. let\n    b:f32[3] c:f32[3] = optimization_barrier a a\n  in (b, c) }"),
    (lambda: iota(np.int32, 3), [],
     "{ lambda ; . let\n    a:i32[3] = iota[dimension=0 dtype=int32 shape=(3,) sharding=None] \n  in (a,) }"),
], ids=range(12))
def test_small_programs(fun, avals, want):
    assert printed(fun, *avals) == want


def test_constants_and_literals():
    constant = np.arange(3, dtype=np.float32)
    assert printed(lambda x: x + constant, f32(3)) == "{ lambda a:f32[3]; b:f32[3]. let c:f32[3] = add b a in (c,) }"
    assert printed(lambda x: (x * 2.0, x + np.float32(3), 0.1 * x, True, -np.inf, 1e10), f32(3)) == lines("""
        { lambda ; a:f32[3]. let
            b:f32[3] = mul a 2.0:f32[]
            c:f32[3] = add a 3.0:f32[]
            d:f32[3] = mul 0.10000000149011612:f32[] a
          in (b, c, d, True:bool[], -inf:f32[], 10000000000.0:f32[]) }""")
    assert "mul a (1+2j):c64[]" in printed(lambda x: x * (1 + 2j), ShapedArray((3,), np.dtype(np.complex64)))


def test_a_matrix_product_wraps_its_parameters():
    x = Var(f32(3, 3)), Var(f32(3, 3))
    params = {"dimension_numbers": (((1,), (0,)), ((), ())), "precision": None, "preferred_element_type": np.dtype(np.float32),
              "out_sharding": None}
    assert str(Jaxpr([], x[:1], x[1:], [JaxprEqn(list(x[:1] * 2), list(x[1:]), contraction.dot_general_p, params)])) == lines("""
        { lambda ; a:f32[3,3]. let
            b:f32[3,3] = dot_general[
              dimension_numbers=(([1], [0]), ([], []))
              preferred_element_type=float32
            ] a a
          in (b,) }""")


def test_a_call_is_printed_in_the_callers_names():
    assert printed(lambda x: call(F, x) + 1.0, f32(3)) == lines("""
        { lambda ; a:f32[3]. let
            b:f32[3] = jit[
              name=f
              jaxpr={ lambda ; a:f32[3]. let
                  c:f32[3] = sin a
                  b:f32[3] = mul c 2.0:f32[]
                in (b,) }
            ] a
            d:f32[3] = add b 1.0:f32[]
          in (d,) }""")


def test_an_operand_given_twice_lends_its_name_once():
    g = stage(lambda x, y: [x + y], [f32(3), f32(3)], "g")
    assert printed(lambda x: call(g, x, x, name="g"), f32(3)) == lines("""
        { lambda ; a:f32[3]. let
            b:f32[3] = jit[
              name=g
              jaxpr={ lambda ; a:f32[3] c:f32[3]. let b:f32[3] = add a c in (b,) }
            ] a a
          in (b,) }""")


def test_a_program_called_twice_is_printed_once_in_front():
    assert printed(lambda x: call(F, x) + call(F, x), f32(3)) == lines("""
        let f = { lambda ; a:f32[3]. let
            b:f32[3] = sin a
            c:f32[3] = mul b 2.0:f32[]
          in (c,) } in
        { lambda ; d:f32[3]. let
            e:f32[3] = jit[name=f jaxpr=f] d
            g:f32[3] = jit[name=f jaxpr=f] d
            h:f32[3] = add e g
          in (h,) }""")


def test_shared_programs_are_named_in_the_order_of_their_depth():
    g = stage(lambda x: [call(F, x) + call(F, x)], [f32(3)], "g")
    text = printed(lambda x: call(g, x, name="g") + call(g, x, name="g"), f32(3))
    assert text == lines("""
        let g = { lambda ; a:f32[3]. let
            b:f32[3] = jit[name=f jaxpr=f] a
            c:f32[3] = jit[name=f jaxpr=f] a
            d:f32[3] = add b c
          in (d,) } in
        let f = { lambda ; e:f32[3]. let
            h:f32[3] = sin e
            i:f32[3] = mul h 2.0:f32[]
          in (i,) } in
        { lambda ; j:f32[3]. let
            k:f32[3] = jit[name=g jaxpr=g] j
            l:f32[3] = jit[name=g jaxpr=g] j
            m:f32[3] = add k l
          in (m,) }""")


def test_shared_programs_of_one_name_are_numbered_and_lambda_loses_its_brackets():
    first, second = (stage(lambda x: [x * float(i)], [f32(3)]) for i in (2, 3))  # noqa: B023
    text = printed(lambda x: [call(j, x, name="<lambda>") for j in (first, second, first, second)], f32(3))
    assert text.startswith("let lambda = { lambda ; a:f32[3].") and "\nlet lambda1 = {" in text
    assert "jit[name=<lambda> jaxpr=lambda1]" in text


def test_a_long_program_is_printed_in_front_even_if_called_once():
    def long(x):
        for _ in range(11):
            x = op.sin(x)
        return [x]

    text = printed(lambda x: call(stage(long, [f32(3)], "long"), x, name="long"), f32(3))
    assert text.startswith("let long = {") and text.endswith("jit[name=long jaxpr=long] m in (n,) }")


def test_parameters_of_a_call_are_shown_when_they_say_something():
    closed = stage(lambda x, y: [x + y], [f32(3)] * 2, "f")
    fun = lambda x, y: call_jaxpr(closed, x, y, name="f", inline=True, donated_invars=(True, False), keep_unused=False)  # noqa: E731
    text = printed(fun, f32(3), f32(3))
    assert "name=f\n      donated_invars=(True, False)\n      inline=True\n      jaxpr=" in text and "keep_unused" not in text


def test_custom_calls():
    def jvp(primals, tangents):
        raise AssertionError

    def fwd(*args):
        raise AssertionError

    def bwd(*args):
        raise AssertionError

    def fun(x):
        return [op.sin(x)]

    assert printed(lambda x: CustomJVPCall(fun, jvp, [x], "g").bind(), f32(3)) == lines("""
        { lambda ; a:f32[3]. let
            b:f32[3] = custom_jvp_call[
              name=g
              call_jaxpr={ lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) }
              jvp=jvp
              symbolic_zeros=False
            ] a
          in (b,) }""")
    assert printed(lambda x: CustomVJPCall(fun, fwd, bwd, [x], "h").bind(), f32(3)) == lines("""
        { lambda ; a:f32[3]. let
            b:f32[3] = custom_vjp_call[
              name=h
              bwd=bwd
              call_jaxpr={ lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) }
              fwd=fwd
              symbolic_zeros=False
            ] a
          in (b,) }""")


def test_tuples_of_programs_and_control_flow_as_jax_prints_it():
    index, x, y = Var(ShapedArray((), np.dtype(np.int32))), Var(f32(3)), Var(f32(3))
    branches = (stage(lambda v: [v * 2.0], [f32(3)]), stage(lambda v: [op.sin(v)], [f32(3)]))
    cond = Jaxpr([], [index, x], [y], [eqn("cond_of_test", [index, x], [y], branches=branches)])
    assert str(cond) == lines("""
        { lambda ; a:i32[] b:f32[3]. let
            c:f32[3] = cond_of_test[
              branches=(
                { lambda ; d:f32[3]. let e:f32[3] = mul d 2.0:f32[] in (e,) }
                { lambda ; f:f32[3]. let g:f32[3] = sin f in (g,) }
              )
            ] a b
          in (c,) }""")
    same = Jaxpr([], [index, x], [y], [eqn("cond_of_test", [index, x], [y], branches=branches[:1] * 2)])
    assert str(same).startswith("let jaxpr = {") and "cond_of_test[branches=(jaxpr jaxpr)] c d" in str(same)


def test_variables_go_on_with_two_letters():
    def many(x):
        for _ in range(27):
            x = op.sin(x)
        return x

    text = printed(many, f32())
    assert "\n    z:f32[] = sin y\n    ba:f32[] = sin z\n    bb:f32[] = sin ba\n" in text


def test_long_lists_of_variables_wrap():
    avals = [f32(3, 100, 20)] * 20
    assert printed(lambda *xs: xs[0] + xs[1], *avals) == lines("""
        { lambda ; a:f32[3,100,20] b:f32[3,100,20] c:f32[3,100,20] d:f32[3,100,20] e:f32[3,100,20]
            f:f32[3,100,20] g:f32[3,100,20] h:f32[3,100,20] i:f32[3,100,20] j:f32[3,100,20]
            k:f32[3,100,20] l:f32[3,100,20] m:f32[3,100,20] n:f32[3,100,20] o:f32[3,100,20]
            p:f32[3,100,20] q:f32[3,100,20] r:f32[3,100,20] s:f32[3,100,20] t:f32[3,100,20]. let
            u:f32[3,100,20] = add a b
          in (u,) }""")
    variables = [Var(f32(3)) for _ in range(13)]
    sort = eqn("sort", variables[:1] * 12, variables[1:], dimension=0, is_stable=True, num_keys=1)
    assert str(Jaxpr([], variables[:1], variables[1:], [sort])) == lines("""
        { lambda ; a:f32[3]. let
            b:f32[3] c:f32[3] d:f32[3] e:f32[3] f:f32[3] g:f32[3] h:f32[3] i:f32[3] j:f32[3]
              k:f32[3] l:f32[3] m:f32[3] = sort[dimension=0 is_stable=True num_keys=1] a
              a a a a a a a a a a a
          in (b, c, d, e, f, g, h, i, j, k, l, m) }""")


def test_options():
    def fun(x):
        y = op.sin(x)
        with name_scope("a"), name_scope("b"):
            return y * y

    assert printed(fun, f32(3), print_shapes=False) == "{ lambda ; a. let b = sin a; c = mul b b in (c,) }"
    first = fun.__code__.co_firstlineno
    closed = stage(lambda x: [fun(x)], [f32(3)])
    text = closed.pretty_print(source_info=True)
    where = f"{__file__}:{{}}:{{}} (test_options.<locals>.fun)"
    body = "{ lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b b in (c,) }"
    assert text == f"{body} # {where.format(first + 1, 12)}\n{' ' * len(body)} # {where.format(first + 3, 19)}"
    assert closed.pretty_print(name_stack=True) == f"{body} # []\n{' ' * len(body)} # [a/b]"
    assert closed.pretty_print(use_color=False) == str(closed) == repr(closed.jaxpr)
    with pytest.raises(TypeError, match=r"unknown options \['colour'\]; the options are source_info, print_shapes"):
        closed.pretty_print(colour=True)


def test_notes_stand_in_one_column():
    closed = stage(lambda x: [call(F, x)], [f32(3)])
    rows = closed.pretty_print(name_stack=True).splitlines()
    columns = {row.index("#") for row in rows if "#" in row}
    assert len(columns) == 1 and rows[1].startswith("    b:f32[3] = jit[") and rows[1].endswith("# []")


def test_one_equation():
    assert repr(F.eqns[1]) == "a:f32[3] = mul b 2.0:f32[]"
    assert repr(Literal(2.0)) == "2.0:f32[]"


def test_rules_of_a_primitives_own():
    printed = Primitive("printed_in_test")
    hide_params(printed, shape=..., mode=None)
    x, y = Var(f32()), Var(f32())
    text = str(Jaxpr([], [x], [y], [JaxprEqn([x], [y], printed, {"shape": (1,), "mode": None, "axis": 2})]))
    assert text == "{ lambda ; a:f32[]. let b:f32[] = printed_in_test[axis=2] a in (b,) }"
    plain = Jaxpr([], [x], [y], [JaxprEqn([x], [y], printed, {"shape": (1,), "mode": 3})])
    assert "printed_in_test[mode=3] a" in str(plain)
    assert "printed_in_test[mode=3 shape=(1,)] a" in plain.pretty_print(custom_pp_eqn_rules=False)
    with pytest.raises(ValueError, match=r"printed_in_test: a second printing rule, in .*; the first is in laminax_ir\.programs\.printer"):
        equation_rule(printed)(lambda eqn, printer: None)
    namesake = Jaxpr([], [x], [y], [eqn("printed_in_test", [x], [y], shape=(1,))])
    assert "printed_in_test[shape=(1,)] a" in str(namesake)


# The layout engine, against its definition


def test_a_group_breaks_all_its_breaks_or_none():
    words = layout.Group(layout.join(layout.Break(), [layout.Text(w) for w in ("aaa", "bbb", "ccc")]))
    assert layout.render(words, 11) == "aaa bbb ccc"
    assert layout.render(words, 10) == "aaa\nbbb\nccc"


def test_what_follows_a_group_does_not_count():
    doc = layout.concat(layout.Group(layout.concat("aaa", layout.Break(), "bbb")), "cccc")
    assert layout.render(doc, 7) == "aaa bbbcccc"


def test_nesting_indents_new_lines_only():
    inner = layout.Group(layout.Nest(2, layout.concat("f(", layout.Break(""), "argument", layout.Break("; "), "other")))
    assert layout.render(inner, 10) == "f(\n  argument\n  other"
    assert layout.render(inner, 40) == "f(argument; other"


def test_jaxprs_in_a_named_tuple_are_printed_like_jaxprs():
    from laminax_ir.ops.linear_solve import SolveParts, bind_solve
    f32 = ShapedArray((), np.dtype(np.float32))
    program = stage(lambda a, b: [op.mul(a, b)], [f32, f32])
    solve = stage(lambda a, b: bind_solve(SolveParts(program, None, program, None), SolveParts([a], [], [a], []), [b]), [f32, f32])
    assert str(solve) == """\
let jaxpr = { lambda ; a:f32[] b:f32[]. let c:f32[] = mul a b in (c,) } in
{ lambda ; d:f32[] e:f32[]. let
    f:f32[] = custom_linear_solve[
      const_lengths=SolveParts(matvec=1, vecmat=0, solve=1, transpose_solve=0)
      jaxprs=SolveParts(
        matvec=jaxpr
        vecmat=None
        solve=jaxpr
        transpose_solve=None
      )
    ] d d e
  in (f,) }"""
