#!/usr/bin/env bash
# The compile-only lane of TPUs, on a machine that needs none: every operation, the models of the examples and benchmarks, and a transformer
# over 16 and over 8 chips are compiled by libtpu, and what they would move and keep is counted. Nothing runs.
# Needs Python 3.12, and the packages of pip. The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
source ci/environment.sh

readonly LIBTPU="libtpu==0.0.52"
results="$(mktemp -d)"
trap 'rm -rf "$results"' EXIT

if ! python="$(make_environment tpu 3.12 --requirement third_party/locks/py312.txt)" ||
    ! "$python" -m pip install --quiet --disable-pip-version-check --no-deps "$LIBTPU"; then
  exec python3 ci/summary.py "tpu=failed:its environment could not be made"
fi

# Without the first, libtpu asks the network what machine this is; the others keep it from warning.
export TPU_SKIP_MDS_QUERY=1 TPU_ACCELERATOR_TYPE=v5litepod-16 TPU_WORKER_HOSTNAMES=localhost
# No client of a TPU is made: there is none.
LAMINAX_PLATFORMS=cpu LAMINAX_ENABLE_COMPILATION_CACHE=0 PYTHONPATH="$(packages_path)" \
  "$python" -m pytest -p no:cacheprovider --rootdir=. -c pytest.ini --junitxml="$results/tpu.xml" -q ci/tpu "$@"
python3 ci/summary.py "tpu=pytest:$?:$results/tpu.xml"
