"""What other packages may import of this layer, by module: these names keep their meaning through 0.2.x, all others may change.

`tools/offers.py` prints this in the README; `tools/tests/test_offers.py` holds other packages to it.
"""

from __future__ import annotations

# For each module below this package: the names, or `*` for every public name of a family of operations.
OFFERS: dict[str, str] = {
    "": """
        CustomVJPPrimal SymbolicZero checkpoint checkpoint_name checkpoint_policies closure_convert custom_gradient
        custom_jvp custom_vjp custom_vjp_primal_tree_values grad hessian jacfwd jacobian jacrev jvp linear_call
        linear_transpose linearize print_saved_residuals remat saved_residuals stop_gradient value_and_grad vjp vmap
        zero_from_primal""",
    "base.registry": """
        axis_batching_rule axis_primitives batching_rule batching_rules define_jvp define_linear
        define_zero_derivative is_linear jvp_rule jvp_rules linearize_rule transpose_rule transpose_rules""",
    "base.zeros": "ZERO Zero zeros_of",
    "batching.batch_axes": "Axis",
    "batching.batching": "BatchTrace BatchTracer",
    "batching.mapped_types": "register_vmappable unregister_vmappable",
    "batching.mapping": "map",
    "batching.named_axes": "resolve_shared_sums",
    "checking.checkify": "checkify",
    "checking.failures": """
        Error all_checks automatic_checks check_error div_checks float_checks index_checks init_error nan_checks
        user_checks""",
    "custom.accumulators": "GradAccum NullAccum RefAccum ValAccum",
    "custom.custom_batching": "custom_vmap sequential_vmap",
    "custom.custom_solve": "custom_linear_solve custom_root",
    "custom.custom_transposes": "custom_transpose",
    "custom.derived_rules": "jvp_from_lin linearize_from_jvp vjp_from_jvp vjp_from_lin",
    "custom.rule_arguments": "CustomVJPException stop_gradient",
    "custom.rule_batching": "bdims_at_front unmap_avals vmap_rule",
    "custom.user_operations": "HiPrim",
    "differentiation.differentiation": "DualTracer JVPTrace",
    "differentiation.gradient_refs": "DidntWant DontWant GradRef GradValue",
    "programs.passes": "fwd_and_bwd",
    "rematerializing.checkpoint_policies": "Recompute Saveable",
    "rematerializing.rematerialization": "Offloadable",
    "taylor.series": "constant full_terms taylor_rules",
    "taylor.taylor": "jet",
}
