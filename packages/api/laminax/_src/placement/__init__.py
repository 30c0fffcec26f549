"""Placement: the devices that programs run on, and the shardings, layouts and memories of values."""
