"""The names that other packages may import of this layer, by module: they keep their meaning through 0.2.x, all others may change.

`tools/offers.py` prints this in the README; `tools/tests/test_offers.py` holds other packages to it.
"""

from __future__ import annotations

# For each module below this package: the names, or `*` for every public name of a family of operations.
OFFERS: dict[str, str] = {
    "functions.matmul": "matmul summed_in",
    "functions.operators": """
        BINARY_OPERATORS COMPARISONS absolute add bitwise_and bitwise_or bitwise_xor divmod_ equal floor_divide
        greater greater_equal left_shift less less_equal method_table multiply not_equal power remainder right_shift
        subtract true_divide""",
    "functions.promoted_operands": "as_dtype promote promote_dtypes promote_shapes",
    "functions.special_programs": "special_program",
    "functions.weak_scalars": "shaped weak_scalar",
    "key_arrays.extended_arrays": "ExtendedArray array_of_stored physical_aval stored_aval",
    "key_arrays.keys": "PRNGKeyArray check_key_data",
    "ops.backward_logs": "*",
    "ops.buffer_callbacks": "*",
    "ops.callbacks": "*",
    "ops.calls": "*",
    "ops.checks": "*",
    "ops.collective_primitives": "*",
    "ops.collectives": "*",
    "ops.composite": "*",
    "ops.contraction": "*",
    "ops.control_flow": "*",
    "ops.control_primitives": "*",
    "ops.control_tracing": "*",
    "ops.conversion": "*",
    "ops.convolution": "*",
    "ops.custom_partitioning": "*",
    "ops.cumulative": "*",
    "ops.derived": "*",
    "ops.elementwise": "*",
    "ops.elementwise_avals": "*",
    "ops.exported": "*",
    "ops.extended_dtypes": "*",
    "ops.ffi": "*",
    "ops.fft": "*",
    "ops.hints": "*",
    "ops.indexing": "*",
    "ops.linalg": "*",
    "ops.linalg_primitives": "*",
    "ops.linear_call": "*",
    "ops.linear_solve": "*",
    "ops.loops": "*",
    "ops.open_sums": "*",
    "ops.orthogonal": "*",
    "ops.placements": "*",
    "ops.polar": "*",
    "ops.polynomial": "*",
    "ops.random_bits": "*",
    "ops.reduction": "*",
    "ops.refused": "*",
    "ops.scalar_operands": "*",
    "ops.scaled_dot": "*",
    "ops.shape": "*",
    "ops.shape_arguments": "*",
    "ops.shape_primitives": "*",
    "ops.shape_tuples": "*",
    "ops.shard_map": "*",
    "ops.sharding": "*",
    "ops.slicing": "*",
    "ops.sorting": "*",
    "ops.special": "*",
    "ops.stacking": "*",
    "ops.state": "*",
    "ops.symbolic": "*",
    "ops.tokens": "*",
    "ops.user_operations": "*",
    "ops.windows": "*",
    "options.ambient": "Ambient Override Scope TraceKey UNSET define_ambient subscribe trace_key with_overrides_of_this_thread",
    "options.config": """
        captured_constants_warn_bytes check check_leaks check_static_indices config cpu_kernels debug_infs debug_key_reuse debug_nans
        default_prng_impl disable_bwd_checks disable_jit enable_custom_prng enable_x64 explain_cache_misses high_dynamic_range_gumbel
        legacy_prng_key
        log_checkpoint_residuals log_compiles no_collectives no_tracing numpy_dtype_promotion numpy_rank_promotion
        remove_size_one_mesh_axis_from_type
        random_seed_offset show_progress softmax_custom_jvp""",
    "options.config_options": "ValueType boolean define find one_of",
    "options.fixed_options": "warn_of_environment",
    "options.interning": "Interned",
    "options.records": "Record",
    "options.restoring": "Restoring Together",
    "options.user_contexts": "make_user_context",
    "programs.calling_conventions": "CallingConvention HostTransfer PartitionedCall inspection_key partitioner_key",
    "programs.check": "check_jaxpr",
    "programs.dce": "dce_closed_jaxpr dce_jaxpr dce_rules",
    "programs.effects": """
        AccumEffect DebugEffect Effect OrderedDebugEffect ReadEffect RefEffect WriteEffect check_allowed control_flow_allowed_effects
        debug_effect has_ordered has_refs lowerable_effects ordered_debug_effect
        ordered_effects own_effects remat_allowed_effects set_call_context shardable_ordered_effects""",
    "programs.jaxpr": """
        Atom ClosedJaxpr DropVar Jaxpr JaxprEqn Literal Var called_program jaxprs_among joined_effects no_effects programs_within
        subjaxprs""",
    "programs.primitive": "Primitive RuleTable Trait effects_rule shape_rule",
    "programs.result_types": "has_sums is_explicit typed_results",
    "pytrees.pytree": """
        * DictKey Partial PyTreeDef __all__ broadcast_over broadcast_prefix dispatch_registry flatten flatten_axes
        flatten_one_level is_tree_node keystr leaf_paths make_from_node_data_and_children mismatch_details
        register_dataclass register_pytree_node register_pytree_node_class register_pytree_with_keys register_static
        static structure_errors tree_all tree_broadcast tree_flatten tree_flatten_with_path tree_leaves
        tree_leaves_with_path tree_map tree_map_with_path tree_reduce tree_reduce_associative tree_structure
        tree_transpose tree_unflatten treedef_is_leaf""",
    "pytrees.wrapping": "alias wraps",
    "random.generators": "threefry_program word_program",
    "random.key_reuse": "key_uses",
    "recording.discharge": "discharged discharged_with_constants pure_program without_refs",
    "recording.evaluation": "eval_jaxpr jaxpr_as_fun",
    "recording.recordings": "RecordedFunction",
    "recording.staging": "stage",
    "recording.staging_trace": "StagedTracer StagingTrace literal_types record_explicitly",
    "recording.type_lowering": "bind_lowered has_hi_types lowered needs_lowering",
    "reference.exact_programs": "ExactPart exact_part",
    "reference.evaluate": "evaluate_primitive reference_rule",
    "refs.dynamic_slices": "Slice ds dslice",
    "refs.ref_primitives": "get_p swap_p",
    "refs.refs": "Ref RefView ValueRef argument_namer check_aliases check_returned freeze is_traced new_ref read write",
    "symbolic.sized_programs": "at_sizes value_at_sizes",
    "symbolic.symbolic_bounds": "bounds",
    "symbolic.symbolic_dims": """
        DimSize SymbolicDim exceeds is_constant_shape is_dimension is_symbolic_dim
        known_size max_dim min_dim size_of variable""",
    "symbolic.symbolic_parsing": "parse_dimension parse_shape",
    "symbolic.symbolic_scope": "SymbolicScope",
    "symbolic.symbolic_solving": "ShapeSpecification",
    "symbolic.symbolic_values": "dim_as_value dim_as_value_p",
    "tracing.explicit_axes": "abstract_mesh check_in_device_memory context_mesh is_resolving out_sharding sums_left_open without_mesh",
    "tracing.gc_pause": "paused_collection",
    "tracing.leaks": "check_for_leaks check_no_tracers",
    "tracing.manual_axes": "checked_axes manual_axes manual_mesh mesh_of_shard_map running_along varies_beyond",
    "tracing.name_stacks": "JVP NameStack TRANSPOSE VMAP no_names scope_path",
    "tracing.operation_attributes": "attribute_text attributes_around attributes_of changed_attributes in_use",
    "tracing.source": """
        SourceInfo SourceInfoWithCallers current is_internal pass_over position register_internal_folder summarize
        unknown""",
    "tracing.trace": """
        ConstantFoldingTrace Trace Tracer at_work axis_env axis_size current_trace eval_trace extend_axis_env is_tracing
        name_scope set_evaluator set_tracing_hook state tracing_threads""",
    "tracing.tracebacks": "UnfilteredStackTrace api_boundary filter_traceback hidden_paths hide_path is_hidden shorten",
    "tracing.type_attributes": "aval_method aval_property",
    "tracing.user_warnings": "warn_at_user",
    "tracing.wrapped_functions": "Store StoreException WrappedFun wrap_init",
    "types.abstract_meshes": "AbstractMesh AxisType NamedGrid normal_axis_types",
    "types.accuracy": "AccuracyMode Tolerance",
    "types.arguments": "as_int by_position check_callable check_hashable check_rank check_size function_name",
    "types.array_layouts": "AUTO Format Layout in_use",
    "types.avals": """
        AbstractValue ShapedArray aval_in get_aval insert_axis is_array_like
        placed_aval register_value_type remove_axis split_aval type_classes""",
    "types.canonical_dtypes": "canonicalize_dtype coerce_to_array float0 scalar_dtype",
    "types.dot_algorithms": "DotAlgorithm DotAlgorithmPreset TF32 concrete_algorithm storage_dtype",
    "types.dtypes": """
        ExtendedDType KeyDType PRNGImpl PrimalTangentDType TypePromotionError bfloat16 bit_width canonicalize_dtype
        check_user_dtype_supported coerce_to_array complexfloating dtype dtype_name extended finfo float0 floating
        iinfo inexact integer is_extended is_kept_wide issubdtype itemsize_bits key_dtype number primal_tangent_dtype prng_impls prng_key
        promote_types python_scalar_types requested_dtype result_type scalar_dtype scalar_type_of signedinteger supported_dtype
        supported_dtypes tangent_dtype_of to_complex_dtype to_floating_dtype to_inexact_dtype unsignedinteger""",
    "types.errors": """
        ConcretizationTypeError DTypeError DocumentedError ForbiddenCollectiveError InconclusiveDimensionOperation JAXIndexError
        JAXTypeError JaxprTypeError KeyReuseError LeakedTracerError NonConcreteBooleanIndexError ShapeError
        ShardingTypeError TracerArrayConversionError TracerBoolConversionError TracerIntegerConversionError
        UnboundAxisNameError UnexpectedTracerError""",
    "types.extended_dtypes": "WordFunctions has_user_dtypes rule_of",
    "types.hi_types": """
        HiPspec HiType MappingSpec batched_type lo_avals lowered_values raised_values register_hitype types_in_use""",
    "types.manual_axis_types": "ManualAxisType",
    "types.memory_spaces": "HOST_KIND MemorySpace kind_of_space space_of_kind",
    "types.partition_specs": "P PartitionSpec UNCONSTRAINED UnreducedKind refuse_extrema",
    "types.python_scalars": "check_has_truth_value check_is_index check_is_scalar",
    "types.ref_types": "AbstractRef",
    "types.shape_dtype_structs": "ShapeDtypeStruct",
    "types.symbolic_zeros": "SymbolicZero",
    "types.type_shardings": "TypeSharding in_use names_of set_sharding_maker type_sharding",
}
