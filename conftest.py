"""Settings of all tests: hypothesis draws the same examples in each run, no clock fails a test, nothing is compiled before."""

import os

import hypothesis

hypothesis.settings.register_profile("deterministic", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "deterministic"))

# What a test compiles is neither taken from the user's cache on disk nor left there; the cache's own tests switch it on.
os.environ.setdefault("LAMINAX_ENABLE_COMPILATION_CACHE", "0")
