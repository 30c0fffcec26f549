"""Options and what mirrors them where jaxlib looks, errors, logs."""
