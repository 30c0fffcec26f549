"""Runs pytest on the test files given as arguments, the way Bazel asks its test runners to.

Bazel's contract (its "Test encyclopedia"): the results go to XML_OUTPUT_FILE, `--test_filter` arrives as
TESTBRIDGE_TEST_ONLY, temporary files belong into TEST_TMPDIR, a failure is a non-zero exit. Each shard of a target is a process of its own,
which touches TEST_SHARD_STATUS_FILE and runs its share. A run in which pytest collects nothing fails; a run in which the filter selects
nothing does not.
"""

import os
import pathlib
import sys

del sys.path[0]  # this file's own folder, which no test has declared

import pytest  # noqa: E402


class SelectionCounter:
    """Remembers how many tests the filter put aside."""

    deselected = 0

    def pytest_deselected(self, items):
        self.deselected += len(items)


def main(test_files: list[str]) -> int:
    scratch = os.environ["TEST_TMPDIR"]
    os.environ.update(HOME=scratch, XDG_CACHE_HOME=os.path.join(scratch, "cache"), MPLBACKEND="Agg")
    arguments = ["-c", "pytest.ini", "--rootdir=.", "-p", "no:cacheprovider", *share(test_files)]
    arguments += [f"--basetemp={scratch}/pytest", f"--junitxml={os.environ['XML_OUTPUT_FILE']}"]
    test_filter = os.environ.get("TESTBRIDGE_TEST_ONLY")
    if test_filter:
        arguments += ["-k", test_filter]
    counter = SelectionCounter()
    exit_code = pytest.main(arguments, plugins=[counter])
    if exit_code == pytest.ExitCode.NO_TESTS_COLLECTED and counter.deselected:
        return 0
    return int(exit_code)


def share(test_files: list[str]) -> list[str]:
    """The files of this shard: one of so many, since neighbours in the alphabet tend to be alike."""
    if "TEST_SHARD_STATUS_FILE" in os.environ:
        pathlib.Path(os.environ["TEST_SHARD_STATUS_FILE"]).touch()
    return test_files[int(os.environ.get("TEST_SHARD_INDEX", 0)) :: int(os.environ.get("TEST_TOTAL_SHARDS", 1))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
