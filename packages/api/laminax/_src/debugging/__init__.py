"""Checks inside of programs, breakpoints, and helpers of tests."""
