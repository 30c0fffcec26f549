"""Traces, which interpret operations; the ambient state while a trace is at work; and the source position of each operation."""
