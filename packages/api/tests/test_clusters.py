"""Schedulers and launchers that are found by what they leave in the environment of a process."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from laminax._src.placement import cloud_clusters, clusters
from laminax._src.placement.cluster_detection import detect

SLURM = {"SLURM_JOB_ID": "4097", "SLURM_NTASKS": "8", "SLURM_PROCID": "5", "SLURM_LOCALID": "1"}
OPEN_MPI_4 = {"OMPI_COMM_WORLD_SIZE": "6", "OMPI_COMM_WORLD_RANK": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}


@pytest.fixture
def environment(monkeypatch):
    """Sets the variables that a scheduler sets, and no others."""
    for name in [name for name in os.environ if name.startswith(("JAX_", "SLURM_", "OMPI_", "KUBERNETES_", "TPU_", "MEGASCALE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(cloud_clusters.socket, "getaddrinfo", lambda host, port: [])

    def set_variables(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return variables
    return set_variables


def _seen(cluster):
    return cluster.name, cluster.coordinator_address(), cluster.process_count(), cluster.process_id(), cluster.local_process_id()


@pytest.mark.parametrize("hosts, first", [
    ("node001", "node001"), ("node001,host2", "node001"), ("node[001-0015],host2", "node001"), ("node[001,007-015],host2", "node001"),
    ("gpu[3]-ib,x", "gpu3-ib")])
def test_slurm(environment, hosts, first):
    environment(**SLURM, SLURM_STEP_NODELIST=hosts)
    assert _seen(detect(None, 1)) == ("slurm", f"{first}:61441", 8, 5, 1)  # 65535 - 4096 + 1 + 4097 % 4096


@pytest.mark.parametrize("uri, host, port", [
    ("1531576320.0;tcp://10.96.0.1,10.148.0.1,10.108.0.1:34911", "10.96.0.1", 61440 + 1531576320 // 4096 % 4096),
    ("1314521088.0;tcp6://[fe80::b9b:ac5d:9cf0:b858,2620:10d:c083:150e::3000:2]:43370", "[fe80::b9b:ac5d:9cf0:b858]",
     61440 + 1314521088 // 4096 % 4096)])
def test_open_mpi(environment, uri, host, port):
    environment(**OPEN_MPI_4, OMPI_MCA_orte_hnp_uri=uri)
    assert _seen(detect(None, 1)) == ("ompi", f"{host}:{port}", 6, 4, 1)
    environment(JAX_COORDINATOR_PORT="77")
    assert detect("ompi", 1).coordinator_address() == f"{host}:77"


def test_open_mpi_5_on_one_machine(environment):
    environment(**OPEN_MPI_4, OMPI_COMM_WORLD_LOCAL_SIZE="6", PMIX_NAMESPACE="prterun-host-12@1")
    found, again = detect(None, 1), detect(None, 1)
    assert found.coordinator_host() == "127.0.0.1" and 61440 <= found.coordinator_port() <= 65535
    assert found.coordinator_address() == again.coordinator_address()


def test_open_mpi_5_on_several_machines_asks_mpi(environment, monkeypatch):
    environment(**OPEN_MPI_4, OMPI_COMM_WORLD_LOCAL_SIZE="3", PMIX_NAMESPACE="prterun-host-12@1")
    monkeypatch.setattr(clusters.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="Install mpi4py, or give coordinator_address"):
        detect(None, 1).coordinator_address()


def test_mpi4py_is_asked_only_where_it_is_named(environment, monkeypatch):
    sent = []
    world = SimpleNamespace(Get_rank=lambda: 0, Get_size=lambda: 3, bcast=lambda value, root: sent.append((value, root)) or value,
                            Split_type=lambda kind: SimpleNamespace(Get_rank=lambda: 2 if kind == "shared" else None))
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", SimpleNamespace(COMM_WORLD=world, COMM_TYPE_SHARED="shared"))
    monkeypatch.setattr(clusters.importlib.util, "find_spec", lambda name: name if name == "mpi4py" else None)
    monkeypatch.setattr(clusters.socket, "gethostname", lambda: "first")
    assert detect(None, 1) is None
    name, address, count, index, local = _seen(detect("mpi4py", 1))
    assert (name, count, index, local) == ("mpi4py", 3, 0, 2)
    assert sent == [("first", 0), (int(address.removeprefix("first:")), 0)]


@pytest.fixture
def tpus(monkeypatch):
    monkeypatch.setattr(cloud_clusters, "is_tpu_machine", lambda: True)


def test_tpus_in_kubernetes(environment, tpus, tmp_path):
    environment(TPU_WORKER_HOSTNAMES="a.pod,b.pod", TPU_WORKER_ID="1")
    assert _seen(detect(None, 1)) == ("gketpu", "a.pod:8482", 2, 1, None)
    environment(MEGASCALE_COORDINATOR_ADDRESS="first.pod:99", MEGASCALE_NUM_SLICES="4", MEGASCALE_SLICE_ID="2")
    assert _seen(detect(None, 1)) == ("gketpu", "first.pod:8482", 8, 5, None)
    (tmp_path / "hosts").write_text("x,y,z\n")
    environment(TPU_PROCESS_ADDRESSES_PATH=str(tmp_path / "hosts"))
    assert detect("gketpu", 1).process_count() == 12


def test_tpus_whose_metadata_are_asked(environment, tpus, monkeypatch):
    metadata = {"agent-worker-number": "1", "worker-network-endpoints": "w0:0:10.0.0.3,w1:1:10.0.0.4",
                "tpu-env": "ZONE: 'z'\nMEGASCALE_NUM_SLICES: '2'\nMEGASCALE_SLICE_ID: '1'"}
    monkeypatch.setattr(cloud_clusters, "read_metadata", metadata.get)
    assert _seen(detect(None, 1)) == ("gcetpu", "10.0.0.3:8482", 4, 3, None)
    metadata["worker-network-endpoints"] = "h0,h1,h2"
    assert detect(None, 1).process_count() == 6
    metadata["worker-network-endpoints"] = "a:b"
    with pytest.raises(ValueError, match="neither a host nor name:id:host, 'a:b'"):
        detect(None, 1).process_count()
    environment(TPU_SKIP_MDS_QUERY="1")
    assert detect(None, 1) is None


@pytest.fixture
def kubernetes(monkeypatch):
    """A cluster's pods and jobs, as its API server shows them."""
    shown = {"pods": {"items": [{"metadata": {"name": "train-3-x", "labels": {"job-name": "train"}}, "spec": {}}]},
             "jobs/train": {"metadata": {"name": "train", "labels": {}}, "spec": {"parallelism": 5}}}
    monkeypatch.setattr(cloud_clusters, "ask_kubernetes", lambda path: shown[path.split("?")[0]])
    monkeypatch.setattr(cloud_clusters.socket, "gethostbyname", lambda host: "10.1.2.3")
    return shown


def test_kubernetes(environment, kubernetes):
    environment(KUBERNETES_SERVICE_HOST="10.0.0.1", JOB_COMPLETION_INDEX="3")
    with pytest.raises(RuntimeError, match="the selector `job-name: train`"):
        detect(None, 1).coordinator_address()
    kubernetes["pods"]["items"][0]["spec"]["subdomain"] = "pods"
    assert _seen(detect(None, 1)) == ("k8s", "train-0.pods:55527", 5, 3, None)
    kubernetes["jobs/train"]["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] = "all"
    assert detect("k8s", 1).coordinator_address() == "train-0.all:55527"
    del kubernetes["pods"]["items"][0]["metadata"]["labels"]["job-name"]
    with pytest.raises(RuntimeError, match="the pod train-3-x belongs to no job"):
        detect(None, 1).process_count()


def test_nothing_is_found_on_an_ordinary_machine(environment):
    assert detect(None, 1) is None


def test_a_host_without_address_is_waited_for(monkeypatch):
    def fail(host, port):
        raise cloud_clusters.socket.gaierror("unknown")
    monkeypatch.setattr(cloud_clusters.socket, "getaddrinfo", fail)
    with pytest.raises(RuntimeError, match="the host of process 0, nowhere, has no address after 0 s"):
        cloud_clusters.wait_for_host("nowhere", 0)
