#!/usr/bin/env bash
# One layer's release: ci/release.sh LAYER [--publish], where LAYER is ir, transforms, lowering, runtime or api.
# The version is held against the change log and the tags; the wheel and the sources are built twice, and must be the same bytes; twine checks
# them; the layer's tests run against the wheel beside the last released wheels of the layers below it, in an environment of its own. Then it
# says what it would upload; --publish uploads. The tag LAYER-vVERSION is set afterwards, by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/environment.sh
python="$(make_environment release 3.12 twine==6.2.0)"
exec "$python" tools/release.py "$@"
