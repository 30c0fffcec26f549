"""`jit`: from a call to an executable, and eager operations."""
