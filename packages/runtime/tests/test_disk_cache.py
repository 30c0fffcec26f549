"""Values in a folder: whole or not there, whoever else writes and whatever happens to the writers."""

import multiprocessing
import os
import random
import signal
import time

import pytest

from laminax_runtime.compiling.disk_cache import DamagedEntryError, DiskCache, read_secret


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


SECRET = b"what the users of a folder know, and nobody else"


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_the_folders_around_it_are_the_users_own_too(tmp_path, umask):
    """They had the umask's rights once: with umask 0 everybody could put another folder in the cache's place."""
    before = os.umask(umask)
    try:
        DiskCache(tmp_path / "a" / "b" / "c").write("key", b"value")
    finally:
        os.umask(before)
    for folder in ("a", "a/b", "a/b/c"):
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode, secret", [(0o777, None), (0o777, SECRET), (0o770, None), (0o720, None)])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path, mode, secret):
    """Who can write there could choose the machine code that this user runs."""
    tmp_path.chmod(mode)
    cache = DiskCache(tmp_path, secret=secret)
    with pytest.raises(PermissionError, match=r"can be written by (everybody|other users); make it .*chmod"):
        cache.read("key")
    with pytest.raises(PermissionError):
        cache.write("key", b"value")
    assert files(tmp_path) == []


def test_a_folder_shared_with_a_group_can_be_chosen(tmp_path):
    tmp_path.chmod(0o770)
    cache = DiskCache(tmp_path, secret=SECRET)
    before = os.umask(0o077)
    try:
        cache.write("key", b"value")
    finally:
        os.umask(before)
    assert DiskCache(tmp_path, secret=SECRET).read("key") == b"value"
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o777 == 0o640  # the group reads it


def test_only_who_knows_the_secret_writes_what_is_read(tmp_path):
    """An entry with a digest made to fit ended the process once."""
    cache = DiskCache(tmp_path, secret=SECRET)
    cache.write("key", b"value")
    (path,) = tmp_path.iterdir()
    forger = DiskCache(tmp_path / "forged", secret=b"not the secret, but as long as that")
    forger.write("key", b"machine code")
    (forged,) = (tmp_path / "forged").iterdir()
    assert forger.read("key") == b"machine code"
    assert DiskCache(tmp_path, secret=b"not the secret, but as long as that").read("key") is None  # it does not remove what it cannot know
    path.write_bytes(forged.read_bytes())
    with pytest.raises(DamagedEntryError, match="digest"):
        cache.read("key")
    DiskCache(tmp_path).write("key", b"without a secret")
    path.write_bytes((tmp_path / "key.cached").read_bytes())
    with pytest.raises(DamagedEntryError, match="digest"):
        cache.read("key")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["folder", "entry"])
def test_what_belongs_to_another_user_is_refused(tmp_path, what):
    """Whoever made the folder first could supply machine code."""
    folder = tmp_path / "cache"
    cache = DiskCache(folder)
    cache.write("key", b"value")
    _give_away(folder if what == "folder" else folder / "key.cached")
    with pytest.raises(PermissionError if what == "folder" else DamagedEntryError, match="belongs to (user 12345|another user)"):
        cache.read("key")
    if what == "folder":
        with pytest.raises(PermissionError, match="compilation_cache_secret_file"):
            cache.write("other", b"value")
        shared = DiskCache(folder, secret=SECRET)
        shared.write("key", b"value")
        assert shared.read("key") == b"value"


def _give_away(path):
    try:
        os.chown(path, 12345, 12345)
    except OSError as error:  # a sandbox may know no other user
        pytest.skip(f"files cannot be given away here: {error}")


def test_an_entry_that_others_can_write_to_is_refused(tmp_path):
    cache = DiskCache(tmp_path)
    cache.write("key", b"value")
    (tmp_path / "key.cached").chmod(0o660)
    with pytest.raises(DamagedEntryError, match="others can write to it"):
        cache.read("key")
    assert cache.read("key") is None


def _pipe(path):
    os.mkfifo(path)


def _link_to_endless(path):
    path.symlink_to("/dev/zero")


def _link_to_itself(path):
    path.symlink_to(path)


def _folder(path):
    path.mkdir()


@pytest.mark.parametrize("make", [_pipe, _link_to_endless, _link_to_itself, _folder])
def test_what_is_no_regular_file_is_not_read(tmp_path, make):
    """A pipe was waited for, for ever, and a link to an endless file ended in MemoryError, once."""
    make(tmp_path / "key.cached")
    cache = DiskCache(tmp_path)
    with pytest.raises(DamagedEntryError, match="key.cached .*no regular file"):
        cache.read("key")
    if make is not _folder:
        assert files(tmp_path) == []
        cache.write("key", b"value")
        assert cache.read("key") == b"value"


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with open(tmp_path / "key.cached", "wb") as file:
        file.truncate(1 << 40)  # it has holes, and takes no room
    (tmp_path / "key.cached").chmod(0o600)
    with pytest.raises(DamagedEntryError, match=f"it has {1 << 40} bytes"):
        DiskCache(tmp_path).read("key")


@pytest.mark.parametrize("mode, contents, error", [
    (0o600, b"short", OSError), (0o600, b"x" * 5000, OSError), (0o604, b"x" * 32, PermissionError), (0o602, b"x" * 32, PermissionError)])
def test_a_file_that_holds_no_secret(tmp_path, mode, contents, error):
    (tmp_path / "secret").write_bytes(contents)
    (tmp_path / "secret").chmod(mode)
    with pytest.raises(error, match="secret.*(16 to 4096 bytes|by everybody)"):
        read_secret(tmp_path / "secret")
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "secret").chmod(0o640)
    assert read_secret(tmp_path / "secret") == SECRET


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
