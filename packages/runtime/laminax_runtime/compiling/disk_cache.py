"""A cache of bytes in a folder: bounded, shared by processes, and safe against being killed at any moment.

A value is one file. It is written under a temporary name and renamed, so that a name has a whole value or none; it carries a digest, so
that damage on the disk is noticed. The files least recently used go first.

A process that reads compiled programs runs them. It therefore reads values only if this user or root has written them: the file is a
regular one of theirs in a folder of theirs, and nobody else can write to either. A folder that several users write to needs a secret that
they have in common: digests are then keyed with the secret, and nobody can make them without it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
import zlib
from pathlib import Path

try:
    from _blake2 import blake2b  # hashlib's own, without OpenSSL, which takes 5 ms to load
except ImportError:
    from hashlib import blake2b

_MAGIC = b"laminax cache 2\n"
_DIGEST_BYTES = 32
_SIZE_BYTES = 8  # of the value's length
_MOST_BYTES = 1 << 32  # of a file, where no limit is set
# a pipe is not waited for
_OPEN_FLAGS = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_BINARY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))
_SUFFIX = ".cached"
_TEMPORARY_PREFIX = "writing-"
_BINARY = getattr(os, "O_BINARY", 0)  # Windows
_ABANDONED_SECONDS = 3600.0  # the age at which a temporary file is taken to be left by a writer that was killed


def read_secret(path: Path) -> bytes:
    """The secret in a file, which the users of a shared folder have in common.

    Raises:
        OSError: the file cannot be read, or is no regular file of 16 to 4096 bytes; PermissionError if everybody can read or write it.
    """
    with open(path, "rb", opener=lambda path, _flags: os.open(path, _OPEN_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or not 16 <= found.st_size <= 4096:
            raise OSError(f"{path} is no regular file of 16 to 4096 bytes, as one with a secret is; "
                          "make one with `head -c 32 /dev/urandom`")
        if hasattr(os, "geteuid") and found.st_mode & (stat.S_IROTH | stat.S_IWOTH):
            raise PermissionError(f"{path} can be read, or written, by everybody, so that what it holds is no secret; make it `chmod o=`")
        return file.read(found.st_size)


class DamagedEntryError(Exception):
    """A file of the cache does not hold what was written."""


class DiskCache:
    """Values of bytes by name, in one folder.

    Args:
        folder: where; made, with the folders around it, for this user alone, on the first write.
        max_bytes: the size that the folder is kept below; None for no limit.
        secret: a secret that the users of a folder have in common, for a folder that a group writes to or that belongs to another user. It
            keys the digests of values; without a secret such a folder is refused.

    All methods raise OSError when the folder or a file cannot be used, PermissionError if others can write to it.
    """

    def __init__(self, folder: Path, max_bytes: int | None = None, *, secret: bytes | None = None) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self._key = b"" if secret is None else blake2b(secret, digest_size=64).digest()
        self._suffix = f"-{blake2b(b'name', digest_size=8, key=self._key).hexdigest()}{_SUFFIX}" if self._key else _SUFFIX
        self._unaccounted: int | None = None  # bytes written since the folder was last looked through

    def read(self, name: str) -> bytes | None:
        """The value, or None if there is none; it counts as used now.

        Raises:
            DamagedEntryError: the value is damaged, or was not written by this class; it has been removed.
        """
        path = self._path(name)
        if not self._check_folder():
            return None
        try:
            value = _unpack(self._contents(path), self._key)
        except FileNotFoundError:
            return None
        except (ValueError, zlib.error) as error:
            self.remove(name)
            raise DamagedEntryError(f"{path} ({error})") from None
        with contextlib.suppress(OSError):  # in a folder that can only be read, nothing is evicted either
            os.utime(path)
        return value

    def _contents(self, path: Path) -> bytes:
        try:
            descriptor = os.open(path, _OPEN_FLAGS)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):  # the error of O_NOFOLLOW for a link, and of O_NONBLOCK for a socket
                raise ValueError("it is no regular file") from None
            raise
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise ValueError("it is no regular file")
            if not self._key and not _is_ours(found):
                raise ValueError("it belongs to another user, or others can write to it")
            if found.st_size > (most := _MOST_BYTES if self.max_bytes is None else self.max_bytes):
                raise ValueError(f"it has {found.st_size} bytes, more than the {most} that are kept")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(found.st_size)
        finally:
            os.close(descriptor)

    def write(self, name: str, value: bytes) -> bool:
        """Stores a value, and removes the ones least recently used for which there is no room any more.

        Returns:
            Whether it was stored; a value that is larger than the limit is not.
        """
        data = _pack(value, self._key)
        if self.max_bytes is not None and len(data) > self.max_bytes:
            return False
        _make_folders(self.folder)
        self._check_folder()
        temporary = self.folder / f"{_TEMPORARY_PREFIX}{os.urandom(8).hex()}"
        try:
            with open(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o600), "wb") as file:
                if self._key and hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), 0o640)  # for the others of the group, whatever the umask
                file.write(data)
            os.replace(temporary, self._path(name))
        except BaseException:
            _remove(temporary)
            raise
        if self._needs_eviction(len(data)):
            self._evict()
        return True

    def _needs_eviction(self, written: int) -> bool:
        """Looking through a folder of many files takes time: on the first write, then after each 64th part of the limit."""
        if self._unaccounted is not None:
            self._unaccounted += written
            if self.max_bytes is None or self._unaccounted <= self.max_bytes // 64:
                return False
        self._unaccounted = 0
        return True

    def remove(self, name: str) -> None:
        """Removes a value if it is there."""
        _remove(self._path(name))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{self._suffix}"

    def _check_folder(self) -> bool:
        """Whether the folder exists; only this user and root may be able to write to it, unless a secret shows who wrote the values."""
        try:
            found = os.stat(self.folder)
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(f"{self.folder} is not a folder")
        if hasattr(os, "geteuid"):
            if found.st_mode & stat.S_IWOTH:
                raise PermissionError(f"{self.folder} can be written by everybody; make it `chmod o-w`")
            if not self._key and not _is_ours(found):
                raise PermissionError(
                    f"{self.folder} can be written by other users; make it yours, with `chown` and `chmod 700` (it belongs to user "
                    f"{found.st_uid} with mode {stat.S_IMODE(found.st_mode):o}), or let its users have a secret in common, "
                    "with the option compilation_cache_secret_file"
                )
        return True

    def _evict(self) -> None:
        """Removes the files least recently used. Other processes may be doing the same, so that files may be gone already."""
        files, size = [], 0
        abandoned = time.time() - _ABANDONED_SECONDS
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if entry.name.startswith(_TEMPORARY_PREFIX) and status.st_mtime < abandoned:
                        _remove(entry.path)
                    elif entry.name.startswith(_TEMPORARY_PREFIX) or entry.name.endswith(_SUFFIX):
                        size += status.st_size
                        files.append((status.st_mtime_ns, status.st_size, entry.path))
        if self.max_bytes is None or size <= self.max_bytes:
            return
        for _, file_size, path in sorted(files):
            if path.endswith(_SUFFIX):
                _remove(path)
                size -= file_size
            if size <= self.max_bytes:
                return


def _is_ours(found: os.stat_result) -> bool:
    """Whether nobody but this user and root can write to a file or folder."""
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _make_folders(folder: Path) -> None:
    """Makes a folder and its missing parents for this user alone: `mkdir(parents=True)` leaves the rights of the parents to the umask."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


def _remove(path: str | Path) -> None:
    with contextlib.suppress(OSError):  # gone already, or not ours to remove
        os.unlink(path)


def _pack(value: bytes, key: bytes) -> bytes:
    body = len(value).to_bytes(_SIZE_BYTES, "little") + zlib.compress(value, 1)  # compiled programs shrink to a fifth, at 100 MB/s
    return _MAGIC + _digest(body, key) + body


def _unpack(data: bytes, key: bytes) -> bytes:
    start = len(_MAGIC) + _DIGEST_BYTES
    if not data.startswith(_MAGIC):
        raise ValueError("it does not begin as a file of this cache")
    body = data[start:]
    if data[len(_MAGIC) : start] != _digest(body, key):
        raise ValueError("its contents do not have the digest they were written with")
    size = int.from_bytes(body[:_SIZE_BYTES], "little")
    value = zlib.decompressobj().decompress(body[_SIZE_BYTES:], size + 1)
    if len(value) != size:
        raise ValueError("its value does not have the length it was written with")
    return value


def _digest(body: bytes, key: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST_BYTES, key=key).digest()
