"""Who interprets an operation: traces, what is ambient while one is at work, and where each operation came from."""
