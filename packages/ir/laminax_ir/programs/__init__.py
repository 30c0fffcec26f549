"""Programs as data: primitives, jaxprs, their checker and printer."""
