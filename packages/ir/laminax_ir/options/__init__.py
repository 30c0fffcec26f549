"""The settings: what they are, and how they are read and set."""
