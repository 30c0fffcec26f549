"""`autojit`: a jit whose arguments and results are any Python objects, with the arrays found in them."""
