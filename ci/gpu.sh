#!/usr/bin/env bash
# The lane of GPUs. Where there is one, the tests of `ci/gpu` run on it, one process at a time. Where there is none, every operation is lowered for
# CUDA and for ROCm, and compiled for an H100 and an MI300X of which XLA's libraries have descriptions; that is then said. The last line is
# `N passed, N failed`.
#
#   ci/gpu.sh [--python=PYTHON] [pytest's arguments]
#
# PYTHON is one that has jaxlib, a GPU plugin and pytest, for machines without network; otherwise an environment is made with pip's packages.
set -uo pipefail
cd "$(dirname "$0")/.."
source ci/environment.sh

python=""
if [[ "${1:-}" == --python=* ]]; then
  python="${1#--python=}"
  shift
fi
results="$(mktemp -d)"
trap 'rm -rf "$results"' EXIT

has_gpu() { [[ -e /dev/nvidia0 || -e /dev/kfd ]]; }

if [[ -z "$python" ]]; then
  plugins=(jax-cuda13-plugin==0.12.0.1 jax-cuda13-pjrt==0.12.0.1)
  extra="--no-deps"  # compiling needs no libraries of CUDA
  if has_gpu; then
    plugins=("jax-cuda13-plugin[with-cuda]==0.12.0.1")
    [[ -e /dev/kfd ]] && plugins=(jax-rocm7-plugin==0.12.0 jax-rocm7-pjrt==0.12.0)
    extra=""
  fi
  if ! python="$(make_environment gpu 3.12 --requirement third_party/locks/py312.txt)" ||
      ! "$python" -m pip install --quiet --disable-pip-version-check $extra "${plugins[@]}"; then
    exec python3 ci/summary.py "gpu=failed:its environment could not be made"
  fi
fi

export LAMINAX_ENABLE_COMPILATION_CACHE=0 PYTHONPATH="$(packages_path)"
run() { "$python" -m pytest -p no:cacheprovider --rootdir=. -c pytest.ini --junitxml="$results/gpu.xml" -q "$@"; }
if has_gpu; then
  XLA_PYTHON_CLIENT_PREALLOCATE=false run ci/gpu/test_gpu_*.py "$@"
  status=$?
else
  LAMINAX_PLATFORMS=cpu run ci/gpu/test_compiled_for_gpus.py "$@"
  status=$?
  echo "There is no GPU on this machine: every operation was lowered for cuda and rocm, and compiled ahead of time where the plugin"
  echo "describes GPUs. Nothing ran on a GPU."
fi
python3 ci/summary.py "gpu=pytest:$status:$results/gpu.xml"
