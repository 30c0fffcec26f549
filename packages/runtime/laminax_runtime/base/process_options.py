"""The options of programs of several processes, with the names that JAX's options have; read when processes meet or the CPU starts."""

from __future__ import annotations

from typing import Any

from laminax_ir.options import config_options


def _check_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise ValueError


def _parse_text(text: str) -> str | None:
    return None if text.strip().lower() in ("", "none") else text.strip()


def _check_positive(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise ValueError


_text = config_options.ValueType("None or a string", _check_text, _parse_text)
_minutes = config_options.ValueType("a positive number of minutes", _check_positive, lambda text: _check_positive(int(text)))

cpu_collectives_implementation = config_options.define(
    "cpu_collectives_implementation",
    "gloo",
    config_options.one_of("gloo", "mpi", optional=True),
    "What carries values between the CPUs of several processes: gloo over TCP, or an MPI library (named by MPITRAMPOLINE_LIB); "
    "None is nothing.",
)
cpu_get_local_topology_timeout_minutes = config_options.define(
    "cpu_get_local_topology_timeout_minutes",
    2,
    _minutes,
    "How long the first process waits for each other one to say what CPU devices it has.",
)
cpu_get_global_topology_timeout_minutes = config_options.define(
    "cpu_get_global_topology_timeout_minutes",
    5,
    _minutes,
    "How long a process waits to be told what CPU devices all processes have.",
)
enable_recoverability = config_options.define(
    "enable_recoverability",
    False,
    config_options.boolean,
    "Let the processes of a program live on when one of them has failed, with an exception that names it.",
)
enable_preemption_service = config_options.define(
    "enable_preemption_service",
    True,
    config_options.boolean,
    "Watch for the signal (SIGTERM) that the machine will be taken away: see multihost_utils.reached_preemption_sync_point.",
)
check_programs_agree = config_options.define(
    "check_programs_agree",
    False,
    config_options.boolean,
    "Compare each program over several processes with that of the others before it is compiled, and raise where they differ.",
)
check_programs_timeout_seconds = config_options.define(
    "check_programs_timeout_seconds",
    300,
    config_options.ValueType("a positive number of seconds", _check_positive, lambda text: _check_positive(int(text))),
    "How long check_programs_agree waits for the others to come to a program.",
)
check_proxy_envs = config_options.define(
    "check_proxy_envs",
    True,
    config_options.boolean,
    "Warn of variables such as https_proxy, through which the processes of a program may not find each other.",
)
distributed_verify_secure_credentials = config_options.define(
    "distributed_verify_secure_credentials",
    False,
    config_options.boolean,
    "Refuse to connect the processes of a program without certificates; needs jaxlib 0.11 or newer.",
)

# The options of the certificates with which processes connect, by the name of the parameter of `distributed.initialize` for each.
credential_options = {
    name: config_options.define(name, None, _text, doc)
    for name, doc in (
        ("mtls_cert_file", "The file of this process's certificates, with which processes prove to each other who they are."),
        ("mtls_key_file", "The file of the private key that belongs to mtls_cert_file."),
        ("mtls_ca_file", "The file of the certificates by which those of other processes are judged."),
        ("mtls_peer_uri_prefix", "What the URI in others' certificates begins with, where it is judged in place of their host."),
    )
} | {"verify_secure_credentials": distributed_verify_secure_credentials}
