#!/usr/bin/env bash
# The lane of launchers: Open MPI and Ray start the training of examples/fleet on this machine, a process is killed, and training goes on.
# Needs Python 3.12, the packages of pip, and mpirun, which is installed by apt where this may. The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
source ci/environment.sh

readonly RAY="ray==2.60.0"
results="$(mktemp -d)"
trap 'rm -rf "$results"' EXIT

if ! command -v mpirun >/dev/null && { [[ "$(id -u)" != 0 ]] || ! apt-get install --yes --quiet openmpi-bin >&2; }; then
  exec python3 ci/summary.py "fleet=failed:mpirun is not there and could not be installed"
fi
if ! python="$(make_environment fleet 3.12 --requirement third_party/locks/py312.txt)" ||
    ! "$python" -m pip install --quiet --disable-pip-version-check "$RAY"; then
  exec python3 ci/summary.py "fleet=failed:its environment could not be made"
fi
LAMINAX_ENABLE_COMPILATION_CACHE=0 PYTHONPATH="$(packages_path)" \
  "$python" -m pytest -p no:cacheprovider --rootdir=. -c pytest.ini --junitxml="$results/fleet.xml" -q examples/fleet "$@"
python3 ci/summary.py "fleet=pytest:$?:$results/fleet.xml"
