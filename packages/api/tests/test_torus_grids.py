"""Meshes of TPUs: mesh axes on the dimensions of their network. The devices are stand-ins with coordinates."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from laminax.experimental.mesh_utils import create_device_mesh


def network(*shape, cores=1):
    """Chips of a network, x fastest, as libtpu numbers them."""
    sizes = (*shape, *(1,) * (3 - len(shape)))
    places = [(x, y, z, core) for z in range(sizes[2]) for y in range(sizes[1]) for x in range(sizes[0]) for core in range(cores)]
    return [SimpleNamespace(id=i, platform="tpu", coords=place[:3], core_on_chip=place[3], process_index=0)
            for i, place in enumerate(places)]


def hops(a, b):
    return sum(abs(p - q) for p, q in zip((*a.coords, a.core_on_chip), (*b.coords, b.core_on_chip)))


@pytest.mark.parametrize("shape, mesh_shape", [((4, 4), (4, 4)), ((4, 4, 4), (16, 4)), ((4, 4, 4), (4, 16)), ((2, 4), (4, 2)),
                                               ((4, 4, 8), (8, 1, 16)), ((2, 2, 2), (2, 2, 2)), ((8, 16), (16, 8))])
def test_an_axis_is_whole_dimensions_of_the_network(shape, mesh_shape):
    grid = create_device_mesh(mesh_shape, network(*shape))
    assert grid.shape == mesh_shape and len({d.id for d in grid.flat}) == grid.size
    for axis, size in enumerate(mesh_shape):
        lines = np.moveaxis(grid, axis, -1).reshape(-1, size)
        for line in lines:  # its chips fill a box, of the dimensions that vary
            varying = [len({d.coords[i] for d in line}) for i in range(3)]
            assert np.prod(varying) == size
            assert all(n in (1, (*shape, 1)[i]) for i, n in enumerate(varying))


def test_the_last_axis_gets_most_dimensions():
    assert len({d.coords[:2] for d in create_device_mesh((4, 16), network(4, 4, 4))[0]}) == 16
    # as JAX 0.12 lays out v5p:4x4x4 for (16, 4): its first ids
    assert [d.id for d in create_device_mesh((16, 4), network(4, 4, 4)).flat][:8] == [0, 1, 2, 3, 16, 17, 18, 19]


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (8, 2), (2, 2, 2), (2, 2, 4), (2,)])
@pytest.mark.parametrize("ones", [0, 1])
def test_one_axis_over_a_narrow_network_is_a_ring(shape, ones):
    ring = create_device_mesh((1,) * ones + (int(np.prod(shape)),), network(*shape)).reshape(-1)
    assert [hops(a, b) for a, b in itertools.pairwise([*ring, ring[0]])] == [1] * len(ring)


def test_cores_of_a_chip_are_a_dimension():
    grid = create_device_mesh((4, 2), network(2, 2, cores=2))
    assert all(a.coords == b.coords for a, b in grid)


@pytest.mark.parametrize("shape, mesh_shape", [((4, 4), (2, 8)), ((4, 4), (2, 2, 4)), ((8, 8), (2, 2, 16)), ((4, 6), (3, 8))])
def test_dimensions_are_split_when_they_may_be(shape, mesh_shape):
    with pytest.raises(NotImplementedError, match="Failed to find assignment for axis .*allow_split_physical_axes=True"):
        create_device_mesh(mesh_shape, network(*shape))
    grid = create_device_mesh(mesh_shape, network(*shape), allow_split_physical_axes=True)
    assert grid.shape == mesh_shape and len({d.id for d in grid.flat}) == grid.size
    # as JAX 0.12 splits v5e:4x4 for (2, 8)
    if mesh_shape == (2, 8):
        assert [d.id for d in grid.flat] == [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15]


def test_chips_that_fill_no_box_stay_in_their_order():
    devices = network(2, 2)[:3]
    assert create_device_mesh((3,), devices).tolist() == devices


def test_what_is_not_there_is_refused():
    with pytest.raises(NotImplementedError, match="contiguous_submeshes"):
        create_device_mesh((4,), network(4), contiguous_submeshes=True)
    with pytest.raises(ValueError, match="3 places, but there are 4"):
        create_device_mesh((3,), network(4))


@pytest.mark.parametrize("shape, mesh_shape", [((2, 2), (8,)), ((2, 2), (2, 4)), ((2, 2, 4), (4, 8)), ((2, 2, 4), (8, 4)),
                                               ((2, 2, 2), (4, 2, 2)), ((4, 4), (4, 8))])
def test_cores_of_a_host_follow_the_ring_of_its_chips(shape, mesh_shape):
    hosts = create_device_mesh(mesh_shape, network(*shape, cores=2)).reshape(-1, 4, 2)
    assert len({d.id for d in hosts.flat}) == hosts.size
    for host in hosts:
        assert all(a.coords == b.coords for a, b in host)
        assert [sum(abs(p - q) for p, q in zip(a.coords, b.coords)) for a, b in zip(host[:, 0], np.roll(host[:, 0], -1))] == [1] * 4


def test_sizes_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match=r"`mesh_shape` passed to `create_device_mesh` should be a sequence of ints; got \(\(4,\), 4\)"):
        create_device_mesh(((4,), 4))
