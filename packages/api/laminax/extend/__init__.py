"""Operations of your own: a primitive, and one rule per thing that can be done with it.

A primitive needs a shape rule. With a lowering rule it can be compiled, with a differentiation and a transpose rule
differentiated, with a batching rule mapped, and with a reference rule run by NumPy. The rules are those that laminax's
own operations have, under `laminax_ir`, `laminax_transforms` and `laminax_lowering`; read one of them beside its tests.

  twice_p = Primitive("twice")

  @shape_rule(twice_p)
  def _twice_shape(x): return x

  @lowering_rule(twice_p)
  def _lower_twice(ctx, x): return ctx.emit("stablehlo.add", [x, x])

  define_linear(twice_p)   # its derivative is itself

  @transpose_rule(twice_p)
  def _twice_transpose(ct, x): return [twice_p.bind(ct)]

`laminax.interpreters` takes rules in JAX's form; the modules here are those of JAX's `extend`.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.programs.primitive": "Primitive effects_rule shape_rule",
    "laminax_ir.reference.evaluate": "reference_rule",
    "laminax_lowering.writing.registry": "lowering_rule",
    "laminax_transforms.base.registry": """
        axis_batching_rule batching_rule define_jvp define_linear define_zero_derivative is_linear jvp_rule linearize_rule
        transpose_rule""",
}, ("backend", "core", "ifrt_programs", "linear_util", "mlir", "random", "sharding", "source_info_util",
    "xla"))
