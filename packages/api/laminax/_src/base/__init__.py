"""Settings, tables of contents, and names of arguments, leaves and programs."""
