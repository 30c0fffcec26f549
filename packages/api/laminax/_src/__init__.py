"""The implementation of the api: one module per subject. Users import from `laminax` and its public modules."""
