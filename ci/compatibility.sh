#!/usr/bin/env bash
# Which releases of the layers go together: for each layer the last released wheel with the head of the others, and the reverse. Prints a table;
# docs/install.md has the last one.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/environment.sh
python="$(make_environment release 3.12 twine==6.2.0)"
exec "$python" tools/release.py matrix
