#!/usr/bin/env bash
# Trains with Open MPI, and begins again from the checkpoint when a process has failed, which ends all others.
#
#   examples/fleet/mpirun.sh PROCESSES STARTS [training.py's options]
#   examples/fleet/mpirun.sh 4 10 --checkpoint=/tmp/training.npz
#
# STARTS is how often it is started at most. MPIRUN_OPTIONS are mpirun's: --hostfile, --bind-to and the like.
set -uo pipefail
processes="$1" starts="$2"
shift 2
for ((start = 1; start <= starts; start++)); do
  mpirun -np "$processes" ${MPIRUN_OPTIONS:-} "${PYTHON:-python3}" "$(dirname "$0")/training.py" "$@" && exit 0
  echo "start $start of $starts has failed" >&2
done
exit 1
