#!/usr/bin/env bash
# Builds and tests everything on the CPU, in each lane whose Python is on this machine. A lane without its
# Python is reported as skipped. LAMINAX_LANES names the lanes, by default py311 and py312; ci/nightly.sh has the others.
# Ends with the number of pytest cases, over all lanes: `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."

events="$(mktemp -d)"
trap 'rm -rf "$events"' EXIT
results=()
# What does not depend on the lane is tested in the first one only: the types, which mypy reads for the oldest Python.
filter=""

for lane in ${LAMINAX_LANES:-py311 py312}; do
  echo "=== lane $lane"
  if ! answer="$(./bazelw query "@python_$lane//:runtime" 2>&1)"; then
    grep --max-count=1 --after-context=3 '^Error in fail: No Python' <<<"$answer" || echo "$answer"
    reason="$(grep --only-matching --max-count=1 'No Python [0-9.]* was found' <<<"$answer")" || reason=""
    results+=("$lane=${reason:+skipped:}${reason:-failed:its interpreter could not be looked for}")
    continue
  fi
  ./bazelw test --config="$lane" --keep_going --show_progress_rate_limit=60 \
    --build_event_json_file="$events/$lane" ${filter:+"$filter"} //...
  results+=("$lane=$?:$events/$lane")
  filter="--test_tag_filters=-one-lane,-gpu,-tpu"
done

python3 ci/summary.py "${results[@]}"
