"""Where programs run and values lie."""
