"""Modules of neural networks, as Flax's `linen` has them. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    # modules
    "linen.module": "Module",
    "linen.calls": """
        compact compact_name_scope disable_named_call enable_named_call intercept_methods named_call nowrap override_named_call""",
    "linen.functional": "apply init init_with_output merge_param share_scope",
    "linen.lifted_calls": "add_metadata_axis checkpoint fold_rngs jit map_variables remat vmap",
    "linen.lifted_loops": "broadcast cond remat_scan scan switch while_loop",
    "linen.lifted_derivatives": "custom_vjp grad jvp value_and_grad vjp",
    "linen.lifting": "In Out",
    "linen.scope": "Variable",
    "linen.filters": "DenyList",
    "linen.frozen_dict": "FrozenDict freeze unfreeze",
    "linen.summary": "tabulate",
    "linen.metadata": "AxisMetadata PARTITION_NAME replace_boxed unbox",
    "linen.partitioning": "Partitioned get_partition_spec get_sharding with_partitioning",
    "linen.logical_axes": """
        LogicallyPartitioned RulesFallback get_logical_axis_rules logical_axis_rules logical_to_mesh logical_to_mesh_axes
        logical_to_mesh_sharding set_logical_axis_rules with_logical_constraint with_logical_partitioning""",
    # layers
    "linen.layers.linear": "Dense DenseGeneral Einsum Embed",
    "linen.layers.convolutions": "Conv ConvLocal ConvTranspose",
    "linen.layers.normalization": "BatchNorm GroupNorm InstanceNorm LayerNorm RMSNorm",
    "linen.layers.weight_normalization": "SpectralNorm WeightNorm",
    "linen.layers.stochastic": "Dropout",
    "linen.layers.attention": "combine_masks dot_product_attention dot_product_attention_weights make_attention_mask make_causal_mask",
    "linen.layers.multi_head_attention": "MultiHeadAttention MultiHeadDotProductAttention SelfAttention",
    "linen.layers.recurrent": "ConvLSTMCell GRUCell LSTMCell MGUCell OptimizedLSTMCell RNNCellBase SimpleCell",
    "linen.layers.sequences": "Bidirectional RNN flip_sequences",
    "linen.layers.combinators": "BatchApply Sequential",
    "linen.layers.pooling": "avg_pool max_pool min_pool pool",
    "linen.layers.activation": "PReLU normalize",
    "linen.layers.dtypes": "canonicalize_dtype promote_dtype",
    "numerics.nn.activations": """
        celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid relu relu6 selu sigmoid silu soft_sign softplus
        swish tanh""",
    "numerics.nn.normalization": "log_softmax one_hot softmax standardize",
    "numerics.numpy.logarithmic_sums": "logsumexp",
    "numerics.nn.initializers": "ones zeros",
    "linen.layers.initializers": "ones_init zeros_init",
}, submodules=["errors", "initializers", "serialization"])
