"""Taylor-mode rules, one module per family of operations, named like the one that defines them."""
