"""Settings of all tests: hypothesis draws the same examples in each run, and no clock fails a test."""

import os

import hypothesis

hypothesis.settings.register_profile("deterministic", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "deterministic"))
