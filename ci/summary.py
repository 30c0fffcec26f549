"""Adds up what the lanes of ci/*.sh did, and fails unless all of it passed.

Usage: summary.py <lane>=<result>..., where a result is `skipped:<reason>`, `failed:<reason>`, `pytest:<exit code>:<XML report>` or
`<exit code of bazel test>:<file of its build events>`. The events name each test's XML report; a
target that failed without one (it did not build, or was stopped) counts as one failed case.
"""

import json
import pathlib
import sys
import urllib.parse
import xml.etree.ElementTree
from collections import Counter


def main(*results: str) -> int:
    total = Counter()
    for argument in results:
        lane, _, result = argument.partition("=")
        kind, _, detail = result.partition(":")
        if kind == "skipped":
            print(f"{lane}: skipped. {detail}; nothing was tested in this lane")
            continue
        if kind == "failed":
            count = Counter(failed=1)
        elif kind == "pytest":
            exit_code, _, report = detail.partition(":")
            count = pytest_count(int(exit_code), pathlib.Path(report))
        else:
            count = lane_count(int(kind), pathlib.Path(detail))
        print(f"{lane}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
        if kind == "failed":
            print(f"{lane}: {detail}")
        total += count
    print(f"{total['passed']} passed, {total['failed']} failed")
    return 0 if total["passed"] and not total["failed"] else 1


def lane_count(exit_code: int, events: pathlib.Path) -> Counter:
    """The cases of all targets of one run of Bazel."""
    count = Counter()
    for line in events.read_text().splitlines() if events.exists() else ():
        event = json.loads(line)
        if "testResult" in event:
            count += target_count(event["testResult"])
        elif event.get("completed", {}).get("success") is False or "aborted" in event:
            count += not_built(event)
    if exit_code != 0 and not count["failed"]:
        print(f"bazel test ended with {exit_code}")
        count["failed"] += 1
    return count


def pytest_count(exit_code: int, report: pathlib.Path) -> Counter:
    """The cases of one run of pytest; a run that failed otherwise, or did nothing, counts as one failed case."""
    count = report_count(report) if report.exists() else Counter()
    if exit_code != 0 and not count["failed"]:
        print(f"pytest ended with {exit_code}")
        count["failed"] += 1
    return count


def target_count(result: dict) -> Counter:
    """The cases of one attempt of one test target."""
    for output in result.get("testActionOutput", ()):
        report = pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(output.get("uri", "")).path))
        if output["name"] == "test.xml" and report.exists():
            count = report_count(report)
            break
    else:
        count = Counter()
    if result["status"] != "PASSED" and not count["failed"]:
        count["failed"] += 1
    return count


def report_count(report: pathlib.Path) -> Counter:
    """The cases of an XML report."""
    count = Counter()
    for suite in xml.etree.ElementTree.parse(report).iter("testsuite"):
        tests, failures, errors, skipped = (
            int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")
        )
        count += Counter(passed=tests - failures - errors - skipped, failed=failures + errors, skipped=skipped)
    return count


def not_built(event: dict) -> Counter:
    """One failed case for a target that was not built."""
    label = event["id"].get("targetCompleted", {}).get("label", "")
    if label:
        print(f"{label} did not build")
    return Counter(failed=1 if label else 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
