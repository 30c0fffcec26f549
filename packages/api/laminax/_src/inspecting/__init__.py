"""Compiled programs read as data: their text, the buffers in memory over a run, and the user's lines that made them."""
