"""Options and their mirrors in jaxlib's configuration, errors, logs."""
