"""The registration functions of JAX's interpreters, on the rule tables of laminax."""
