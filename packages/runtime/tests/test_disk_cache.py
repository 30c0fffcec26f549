"""Values in a folder: whole or not there, whoever else writes and whatever happens to the writers."""

import multiprocessing
import os
import random
import signal
import time

import pytest

from laminax_runtime.compiling.disk_cache import DamagedEntryError, DiskCache


def files(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("value", [b"", b"x", os.urandom(100_000), bytes(1_000_000)])
def test_what_is_written_is_read(tmp_path, value):
    cache = DiskCache(tmp_path / "a" / "b")
    assert cache.read("key") is None
    assert cache.write("key", value)
    assert DiskCache(tmp_path / "a" / "b").read("key") == value
    cache.remove("key")
    assert cache.read("key") is None
    cache.remove("key")


def test_the_folder_and_its_files_are_the_users_own(tmp_path):
    cache = DiskCache(tmp_path / "mine")
    cache.write("key", b"value")
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "mine" / "key.cached").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode, is_private", [(0o777, True), (0o777, False), (0o770, True)])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path, mode, is_private):
    """Who can write there could choose the machine code that this user runs."""
    tmp_path.chmod(mode)
    cache = DiskCache(tmp_path, is_private=is_private)
    with pytest.raises(PermissionError, match=r"can be written by (everybody|other users); make it .*chmod"):
        cache.read("key")
    with pytest.raises(PermissionError):
        cache.write("key", b"value")
    assert files(tmp_path) == []


def test_a_folder_shared_with_a_group_can_be_chosen(tmp_path):
    tmp_path.chmod(0o770)
    cache = DiskCache(tmp_path, is_private=False)
    cache.write("key", b"value")
    assert cache.read("key") == b"value"


def test_what_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("hello")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError):
            DiskCache(folder).read("key")
        with pytest.raises(OSError):
            DiskCache(folder).write("key", b"value")


def damage_cut(data):
    return data[: len(data) // 2]


def damage_flip(data):
    position = len(data) - 7
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


@pytest.mark.parametrize("damage", [damage_cut, damage_flip, lambda d: b"", lambda d: b"text", lambda d: d + b"\0"])
def test_damaged_values_are_noticed_and_removed(tmp_path, damage):
    cache = DiskCache(tmp_path)
    cache.write("key", b"some value" * 100)
    path = tmp_path / "key.cached"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DamagedEntryError, match="key.cached"):
        cache.read("key")
    assert cache.read("key") is None and files(tmp_path) == []


def test_the_least_recently_used_values_make_room(tmp_path):
    cache = DiskCache(tmp_path, max_bytes=3500)
    for position, name in enumerate("abc"):
        cache.write(name, os.urandom(1000))
        os.utime(tmp_path / f"{name}.cached", (position, position))  # as if long ago, one after the other
    assert files(tmp_path) == ["a.cached", "b.cached", "c.cached"]
    cache.read("a")
    cache.write("d", os.urandom(1000))
    assert files(tmp_path) == ["a.cached", "c.cached", "d.cached"]
    assert not cache.write("large", os.urandom(4000))
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) <= 3500


def test_small_values_are_bounded_too(tmp_path):
    """The folder is not looked through on every write, and stays within the limit and a 64th of it all the same."""
    cache = DiskCache(tmp_path, max_bytes=64_000)
    for i in range(400):
        cache.write(f"{i}", os.urandom(200))
        assert i % 50 or sum(p.stat().st_size for p in tmp_path.iterdir()) <= 64_000 + 64_000 // 64 + 300
    assert cache.read("399") is not None and cache.read("0") is None


def test_other_files_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("x" * 10_000)
    cache = DiskCache(tmp_path, max_bytes=2000)
    cache.write("a", os.urandom(1000))
    cache.write("b", os.urandom(1000))
    assert "notes.txt" in files(tmp_path)


def test_what_a_killed_writer_left_is_removed_after_an_hour(tmp_path):
    old, new = tmp_path / "writing-old", tmp_path / "writing-new"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    an_hour_ago = time.time() - 3700
    os.utime(old, (an_hour_ago, an_hour_ago))
    DiskCache(tmp_path).write("key", b"value")
    assert files(tmp_path) == ["key.cached", "writing-new"]


# Each name has one right value, so that a reader can tell a whole one.
NAMES = [f"name{i}" for i in range(5)]


def value_of(name):
    return random.Random(name).randbytes(200_000)


def write_for_ever(folder):
    cache = DiskCache(folder, max_bytes=700_000)
    values = {name: value_of(name) for name in NAMES}
    while True:
        for name, value in values.items():
            cache.write(name, value)
            assert cache.read(name) in (value, None)


def start_writer(folder):
    process = multiprocessing.get_context("spawn").Process(target=write_for_ever, args=(folder,), daemon=True)
    process.start()
    return process


def test_concurrent_writers_some_of_them_killed(tmp_path):
    """A reader sees whole values or none, while writers write, evict each other's values and are killed in the middle."""
    folder = tmp_path / "cache"
    cache = DiskCache(folder)
    values = {name: value_of(name) for name in NAMES}
    writers = [start_writer(folder) for _ in range(3)]
    try:
        deadline = time.monotonic() + 60
        while not folder.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        hits, generator = 0, random.Random(0)
        for round_number in range(8):
            end = time.monotonic() + 0.1 + 0.1 * generator.random()
            while time.monotonic() < end:
                for name, value in values.items():
                    found = cache.read(name)
                    assert found is None or found == value
                    hits += found is not None
            if round_number % 4 == 3:
                victim = writers.pop()
                assert victim.is_alive()  # the writers' own reads have not failed either
                os.kill(victim.pid, signal.SIGKILL)
                victim.join()
        assert hits and all(writer.is_alive() for writer in writers)
    finally:
        for writer in writers:
            writer.kill()
            writer.join()
    for name, value in values.items():
        cache.write(name, value)
        assert cache.read(name) == value


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a writer to kill it at a chosen point")
def test_killed_between_writing_and_renaming(tmp_path, monkeypatch):
    cache = DiskCache(tmp_path)
    cache.write("key", b"old")
    child = os.fork()
    if child == 0:
        os.replace = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
        cache.write("key", b"new")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert cache.read("key") == b"old"
    assert len(files(tmp_path)) == 2
    cache.write("key", b"new")
    assert cache.read("key") == b"new"
