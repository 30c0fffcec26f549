"""Schedulers and launchers that start the processes of a program, as the environment shows them: Open MPI, Slurm, mpi4py.

Those of clouds are in `cloud_clusters`. Sources of the variables: the manual page of Open MPI's mpirun, section "Exported environment
variables"; that of Slurm's srun, section "Output environment variables".
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import socket
import zlib
from typing import Any

_FIRST_PORT = 65535 - 2**12 + 1  # of the ports that are seldom in use, from which one is chosen by the job's number


class Cluster:
    """A way in which processes were started; it says where they meet and which of them this one is."""

    name = ""
    must_be_named = False  # whether it is used only where the caller asks for it

    def __init__(self, timeout: float = 300) -> None:
        self.timeout = timeout

    def is_present(self) -> bool:
        """Whether this process was started so."""
        raise NotImplementedError

    def coordinator_host(self) -> str:
        """The host of process 0."""
        raise NotImplementedError

    def coordinator_port(self) -> int:
        """A port that is free there, the same for all processes."""
        raise NotImplementedError

    def coordinator_address(self) -> str:
        """Where the processes meet; the port is JAX_COORDINATOR_PORT, where that is set."""
        return f"{self.coordinator_host()}:{os.environ.get('JAX_COORDINATOR_PORT') or self.coordinator_port()}"

    def process_count(self) -> int:
        raise NotImplementedError

    def process_id(self) -> int:
        raise NotImplementedError

    def local_process_id(self) -> int | None:
        """The process's number on its machine, which is that of the GPU that it gets; None if it gets all."""
        return None


class OpenMpi(Cluster):
    """Processes of Open MPI's mpirun."""

    name = "ompi"

    def is_present(self) -> bool:
        return "OMPI_COMM_WORLD_SIZE" in os.environ and "OMPI_COMM_WORLD_RANK" in os.environ

    def coordinator_host(self) -> str:
        if match := re.search(r"tcp://(.+?)[,:]|tcp6://\[(.+?)[,\]]", os.environ.get("OMPI_MCA_orte_hnp_uri", "")):
            return match[1] or f"[{match[2]}]"
        if self.process_count() == int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", -1)):
            return "127.0.0.1"  # all on this machine
        # From version 5 on, mpirun does not say where it runs. Its own library knows where process 0 is.
        if importlib.util.find_spec("mpi4py") is None:
            raise RuntimeError("distributed.initialize: Open MPI 5 and newer do not say on which host process 0 is. Install mpi4py, "
                               "or give coordinator_address.")
        return Mpi4py(self.timeout).coordinator_host()

    def coordinator_port(self) -> int:
        uri = os.environ.get("OMPI_MCA_orte_hnp_uri", "")
        if job := re.match(r"(\d+)\.", uri):  # a multiple of 2 ** 12
            return int(job[1]) // 2**12 % 2**12 + _FIRST_PORT
        return _port_of(os.environ.get("PMIX_NAMESPACE", "").rsplit("@", 1)[0])

    def process_count(self) -> int:
        return int(os.environ["OMPI_COMM_WORLD_SIZE"])

    def process_id(self) -> int:
        return int(os.environ["OMPI_COMM_WORLD_RANK"])

    def local_process_id(self) -> int | None:
        return int(os.environ["OMPI_COMM_WORLD_LOCAL_RANK"]) if "OMPI_COMM_WORLD_LOCAL_RANK" in os.environ else None


def _port_of(job: str) -> int:
    return zlib.crc32(job.encode()) % 2**12 + _FIRST_PORT


class Slurm(Cluster):
    """Tasks of a step of Slurm's srun."""

    name = "slurm"
    _needed = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")

    def is_present(self) -> bool:
        return all(name in os.environ for name in self._needed)

    def coordinator_host(self) -> str:
        """The first of the step's hosts, a list such as `node001,host2` or `node[001,007-015],host2`."""
        hosts = os.environ["SLURM_STEP_NODELIST"]
        match = re.match(r"([^,\[]+)(?:\[([^,\-\]]+)[^\]]*\]([^,\[]*))?", hosts)
        if match is None:
            raise ValueError(f"distributed.initialize: SLURM_STEP_NODELIST={hosts!r} is no list of hosts. Give coordinator_address.")
        return match[1] + (match[2] or "") + (match[3] or "")

    def coordinator_port(self) -> int:
        return int(os.environ["SLURM_JOB_ID"]) % 2**12 + _FIRST_PORT

    def process_count(self) -> int:
        return int(os.environ["SLURM_NTASKS"])

    def process_id(self) -> int:
        return int(os.environ["SLURM_PROCID"])

    def local_process_id(self) -> int | None:
        return int(os.environ["SLURM_LOCALID"])


class Mpi4py(Cluster):
    """Processes of any MPI, which its library tells about."""

    name = "mpi4py"
    must_be_named = True  # since its import starts MPI

    def is_present(self) -> bool:
        return importlib.util.find_spec("mpi4py") is not None

    @property
    def _mpi(self) -> Any:
        return importlib.import_module("mpi4py.MPI")  # by its name, since the library is nothing that laminax depends on

    def coordinator_host(self) -> str:
        return self._mpi.COMM_WORLD.bcast(socket.gethostname(), root=0)

    def coordinator_port(self) -> int:
        """A port that is free on the first process's host now."""
        port = 0
        if self.process_id() == 0:
            with socket.socket() as found:
                found.bind(("", 0))
                port = found.getsockname()[1]
        return self._mpi.COMM_WORLD.bcast(port, root=0)

    def process_count(self) -> int:
        return self._mpi.COMM_WORLD.Get_size()

    def process_id(self) -> int:
        return self._mpi.COMM_WORLD.Get_rank()

    def local_process_id(self) -> int | None:
        mpi = self._mpi
        return mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED).Get_rank()
