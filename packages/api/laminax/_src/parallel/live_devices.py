"""Devices whose processes are alive, and steps that all processes take at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import laminax_runtime as runtime
from laminax_runtime.backends import processes
from laminax_runtime.backends.processes import ProcessFailureError


@contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """Context manager: gives those of the devices whose processes are alive, the same ones to all of these processes.

    It waits at its beginning and at its end for all that are alive. Processes live on when another fails only with the option
    `enable_recoverability`.

    Args:
      devices: devices, of which some are this process's.

    Raises:
      RuntimeError: if `distributed.initialize` was not called.
      ValueError: if there are no devices, or none of them is this process's.
      ProcessFailureError: at the end, if the process of one of the devices has failed since the beginning.
    """
    if processes.state.client is None:
        raise RuntimeError("multihost_utils.live_devices: distributed.initialize() has not been called. Without it all devices are this "
                           "process's own, and live.")
    if not devices:
        raise ValueError("multihost_utils.live_devices: No devices provided. Give some, such as laminax.devices().")
    before = _live(devices)
    raised: BaseException | None = None
    try:
        yield sorted(before, key=lambda device: device.id)
    except Exception as error:  # it may be the failure's consequence
        raised = error
    after = _live(devices)
    failed = {device for device, incarnation in before.items() if after.get(device) != incarnation}
    if failed:
        raise ProcessFailureError(failed) from raised
    if raised is not None:
        raise raised


def _live(devices: Sequence[Any]) -> dict[Any, int]:
    """The devices whose processes are alive, with the incarnations of these."""
    wanted = {device.process_index for device in devices}
    if runtime.process_index() not in wanted:
        raise ValueError("multihost_utils.live_devices: Provided devices do not have any local devices. Leave the call to the processes "
                         "that have one.")
    incarnations = processes.state.client.get_live_nodes(sorted(wanted))
    return {device: incarnations[device.process_index] for device in devices if device.process_index in incarnations}


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether a machine will be taken away, and this is the step after which all processes should save.

    When a process gets the signal SIGTERM, which schedulers send some time before they take a machine away, all processes agree on a step
    that none has begun yet. Each must call this at every step, from the same one on.

    Args:
      step_id: the number of the step.

    Returns:
      True in all processes at the step that they have agreed on; False at all others, and where `distributed.initialize` was not called.

    Raises:
      RuntimeError: if the option `enable_preemption_service` was off when the processes met.
    """
    if processes.state.client is None:
        return False
    if processes.state.preemption_sync_manager is None:
        raise RuntimeError("multihost_utils.reached_preemption_sync_point: Preemption sync manager has not been initialized. Set the "
                           "option enable_preemption_service before distributed.initialize().")
    return processes.state.preemption_sync_manager.reached_sync_point(step_id)
