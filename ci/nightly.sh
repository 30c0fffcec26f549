#!/usr/bin/env bash
# The lanes that continuous integration leaves to the night, because it is to end within 45 minutes and these take longer together: Python 3.13,
# the oldest versions that the packages' metadata permit, the compiler of TPUs, GPUs or what compiles for them, and launchers. Each ends with its own
# `N passed, N failed`; this script fails if one of them does.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=()
LAMINAX_LANES="py313 lowest" bash ci/cpu.sh || failed+=(cpu)
bash ci/tpu.sh || failed+=(tpu)
bash ci/gpu.sh || failed+=(gpu)
bash ci/fleet.sh || failed+=(fleet)
if [[ ${#failed[@]} == 0 ]]; then echo "nightly: all lanes passed"; else echo "nightly: failed: ${failed[*]}"; fi
[[ ${#failed[@]} == 0 ]]
