"""Processes that clouds start: on Cloud TPU machines, in Kubernetes. What the environment does not say, their servers are asked for.

Sources: Google's "Cloud TPU: Multislice" and "VM metadata"; the Kubernetes documentation, "Accessing the API from a Pod", "Indexed Job" and
"JobSet".
"""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from functools import cached_property
from typing import Any

from laminax._src.placement.clusters import Cluster

_TPU_PORT = 8482
_KUBERNETES_PORT = 55527
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_GOOGLE = "0x1ae0"
_TPUS = {"0x0027", "0x005e", "0x0056", "0x0062", "0x0063", "0x006f", "0x0076"}  # v2 and v3, v4, pre-v4, v5p, v5e, v6e, 7x


def is_tpu_machine() -> bool:
    """Whether libtpu is installed and the machine has TPUs; JAX_FORCE_TPU_INIT takes them for granted."""
    if importlib.util.find_spec("libtpu") is None and "TPU_LIBRARY_PATH" not in os.environ:
        return False
    return "JAX_FORCE_TPU_INIT" in os.environ or any(_is_tpu(folder) for folder in glob.glob("/sys/bus/pci/devices/*"))


def _is_tpu(folder: str) -> bool:
    try:
        return _line(f"{folder}/vendor") == _GOOGLE and _line(f"{folder}/device") in _TPUS
    except OSError:
        return False


def _line(path: str) -> str:
    with open(path) as file:
        return file.read().strip()


class _Tpu(Cluster):
    """Machines of one or several TPU slices; the slices of several are told by variables whose names begin with MEGASCALE."""

    def workers(self) -> list[str]:
        """The hosts of this process's slice."""
        raise NotImplementedError

    def worker_id(self) -> int:
        """This process's number in its slice."""
        raise NotImplementedError

    def variable(self, name: str) -> str | None:
        """A variable of the environment."""
        return os.environ.get(name)

    def coordinator_host(self) -> str:
        host = (self.variable("MEGASCALE_COORDINATOR_ADDRESS") or self.workers()[0]).split(":")[0]
        wait_for_host(host, self.timeout)
        return host

    def coordinator_port(self) -> int:
        return _TPU_PORT

    def process_count(self) -> int:
        return len(self.workers()) * int(self.variable("MEGASCALE_NUM_SLICES") or 1)

    def process_id(self) -> int:
        return self.worker_id() + len(self.workers()) * int(self.variable("MEGASCALE_SLICE_ID") or 0)


class GkeTpu(_Tpu):
    """TPUs in Google's Kubernetes Engine."""

    name = "gketpu"

    def is_present(self) -> bool:
        return is_tpu_machine() and self._hosts is not None

    @cached_property
    def _hosts(self) -> str | None:
        if path := os.environ.get("TPU_PROCESS_ADDRESSES_PATH"):
            if not (text := _line(path)):
                raise ValueError(f"distributed.initialize: the file of TPU_PROCESS_ADDRESSES_PATH, {path}, is empty")
            return text
        return os.environ.get("TPU_PROCESS_ADDRESSES") or os.environ.get("TPU_WORKER_HOSTNAMES")

    def workers(self) -> list[str]:
        return (self._hosts or "").split(",")

    def worker_id(self) -> int:
        return int(os.environ["TPU_WORKER_ID"])


class GceTpu(_Tpu):
    """TPUs of Google's Compute Engine, whose metadata server knows them."""

    name = "gcetpu"

    def is_present(self) -> bool:
        if "TPU_SKIP_MDS_QUERY" in os.environ or not is_tpu_machine():
            return False
        return read_metadata("agent-worker-number") is not None

    def variable(self, name: str) -> str | None:
        """A variable of the environment, or of the machine's description: lines such as `MEGASCALE_NUM_SLICES: '2'`."""
        if name in os.environ:
            return os.environ[name]
        lines = (line.partition(":") for line in (read_metadata("tpu-env") or "").splitlines())
        return next((value.strip().strip("'") for key, _, value in lines if key.strip() == name), None)

    def workers(self) -> list[str]:
        """The hosts of a list whose entries are hosts, or `name:id:host`."""
        found = []
        for entry in (read_metadata("worker-network-endpoints") or "").split(","):
            parts = entry.split(":")
            if len(parts) not in (1, 3):
                raise ValueError("distributed.initialize: the metadata's worker-network-endpoints have an entry that is neither a host nor "
                                 f"name:id:host, {entry!r}. Give coordinator_address, num_processes and process_id.")
            found.append(parts[-1])
        return found

    def worker_id(self) -> int:
        return int(read_metadata("agent-worker-number") or 0)


def read_metadata(key: str) -> str | None:
    """An attribute of the machine from Google's metadata server; None if it has none. It is asked up to six times."""
    host = os.environ.get("GCE_METADATA_IP", "metadata.google.internal")
    request = urllib.request.Request(f"http://{host}/computeMetadata/v1/instance/attributes/{key}", headers={"Metadata-Flavor": "Google"})
    for trial in range(6):
        time.sleep(0.5 * (trial > 0))
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
        except OSError:
            pass
    return None


class Kubernetes(Cluster):
    """Pods of an indexed Job, alone or in a JobSet. The API server says which job and how many."""

    name = "k8s"

    def is_present(self) -> bool:
        return "KUBERNETES_SERVICE_HOST" in os.environ and "JOB_COMPLETION_INDEX" in os.environ

    @cached_property
    def _pod(self) -> dict[str, Any]:
        address = socket.gethostbyname(os.environ.get("HOSTNAME") or socket.gethostname())
        (pod,) = ask_kubernetes(f"pods?fieldSelector={urllib.parse.quote(f'status.podIP={address}')}")["items"]
        return pod

    @cached_property
    def _job(self) -> dict[str, Any]:
        name = self._pod["metadata"].get("labels", {}).get("job-name")
        if name is None:
            raise RuntimeError(f"distributed.initialize: the pod {self._pod['metadata']['name']} belongs to no job. Start it as one of a "
                               "Job, or give coordinator_address, num_processes and process_id.")
        return ask_kubernetes(f"jobs/{name}")

    def coordinator_host(self) -> str:
        metadata = self._job["metadata"]
        domain = metadata.get("labels", {}).get("jobset.sigs.k8s.io/jobset-name") or self._pod["spec"].get("subdomain")
        if domain is None:
            raise RuntimeError(
                f"distributed.initialize: the pods of the job {metadata['name']} have no names by which they find each other. Make a "
                "Service with `clusterIP: None`, `publishNotReadyAddresses: true` and the selector "
                f"`job-name: {metadata['name']}`, and give its name as `subdomain` in the job's `spec.template.spec`.")
        host = f"{metadata['name']}-0.{domain}"
        wait_for_host(host, self.timeout)
        return host

    def coordinator_port(self) -> int:
        return _KUBERNETES_PORT

    def process_count(self) -> int:
        return self._job["spec"]["parallelism"]

    def process_id(self) -> int:
        return int(os.environ["JOB_COMPLETION_INDEX"])


def ask_kubernetes(path: str) -> Any:
    """What the API server of this pod's cluster answers about pods and jobs of the pod's namespace."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    group = "apis/batch/v1" if path.startswith("jobs") else "api/v1"
    request = urllib.request.Request(f"https://{host}:{port}/{group}/namespaces/{_line(f'{_ACCOUNT}/namespace')}/{path}",
                                     headers={"Authorization": f"Bearer {_line(f'{_ACCOUNT}/token')}"})
    try:
        with urllib.request.urlopen(request, timeout=60, context=ssl.create_default_context(cafile=f"{_ACCOUNT}/ca.crt")) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        kind = path.partition("?")[0]
        advice = " Its service account may not read them: bind a Role with `get` and `list` of pods and jobs to it."
        raise RuntimeError(f"distributed.initialize: Kubernetes does not say what the {kind} of this pod are: {error}."
                           f"{advice if error.code == 403 else ''}") from error


def wait_for_host(host: str, timeout: float) -> None:
    """Waits until a host has an address, which it may get only when its machine or pod has started.

    Raises:
      RuntimeError: if it has none in time.
    """
    end = time.monotonic() + timeout
    while True:
        try:
            socket.getaddrinfo(host, None)
            return
        except socket.gaierror as error:
            if time.monotonic() > end:
                raise RuntimeError(f"distributed.initialize: the host of process 0, {host}, has no address after {timeout} s: "
                                   f"{error}") from None
        time.sleep(1)
