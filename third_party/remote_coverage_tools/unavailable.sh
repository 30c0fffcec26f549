#!/bin/sh
echo "bazel coverage is not set up for laminax: run pytest with a coverage plugin outside Bazel" >&2
exit 1
