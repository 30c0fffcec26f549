"""Breakpoints, a report of the environment, and helpers of tests."""
