"""Recording programs: from a Python function to a jaxpr, and running a jaxpr again."""
