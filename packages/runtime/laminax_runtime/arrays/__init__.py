"""Arrays on devices, how they are split, and how they get there."""
