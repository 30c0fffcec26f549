"""A cache of bytes in a folder: bounded, shared by processes, and safe against being killed at any moment.

A value is one file. It is written under a temporary name and renamed, so that a name has a whole value or none; it
carries a digest, so that what the disk spoils is noticed; and a folder that others can write to is refused, since
whoever reads compiled programs from it would run them. The files least recently used go first.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
import zlib
from pathlib import Path

try:
    from _blake2 import blake2b  # hashlib's own, without OpenSSL, which takes 5 ms to load
except ImportError:
    from hashlib import blake2b

_MAGIC = b"laminax cache 1\n"
_DIGEST_BYTES = 32
_SUFFIX = ".cached"
_TEMPORARY_PREFIX = "writing-"
_BINARY = getattr(os, "O_BINARY", 0)  # Windows
_ABANDONED_SECONDS = 3600.0  # the age at which a temporary file is taken to be left by a writer that was killed


class DamagedEntryError(Exception):
    """A file of the cache does not hold what was written."""


class DiskCache:
    """Values of bytes by name, in one folder.

    Args:
        folder: where; made, for this user alone, on the first write.
        max_bytes: the size that the folder is kept below; None for no limit.
        is_private: whether to refuse a folder that is not this user's own.

    All methods raise OSError when the folder or a file cannot be used, PermissionError if others can write to it.
    """

    def __init__(self, folder: Path, max_bytes: int | None = None, *, is_private: bool = True) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self._is_private = is_private
        self._unaccounted: int | None = None  # bytes written since the folder was last looked through

    def read(self, name: str) -> bytes | None:
        """The value, or None if there is none; it counts as used now.

        Raises:
            DamagedEntryError: there was one, and it is spoilt; it has been removed.
        """
        path = self._path(name)
        if not self._check_folder():
            return None
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            value = _unpack(data)
        except (ValueError, zlib.error) as error:
            self.remove(name)
            raise DamagedEntryError(f"{path} ({error})") from None
        with contextlib.suppress(OSError):  # in a folder that can only be read, nothing is evicted either
            os.utime(path)
        return value

    def write(self, name: str, value: bytes) -> bool:
        """Stores a value, and removes the ones least recently used for which there is no room any more.

        Returns:
            Whether it was stored; a value that is larger than the limit is not.
        """
        data = _pack(value)
        if self.max_bytes is not None and len(data) > self.max_bytes:
            return False
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._check_folder()
        temporary = self.folder / f"{_TEMPORARY_PREFIX}{os.urandom(8).hex()}"
        try:
            with open(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o600), "wb") as file:
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
        return self.folder / f"{name}{_SUFFIX}"

    def _check_folder(self) -> bool:
        """Whether the folder exists; it must belong to who may choose what this user runs."""
        try:
            found = os.stat(self.folder)
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(f"{self.folder} is not a folder")
        if hasattr(os, "geteuid"):
            if found.st_mode & stat.S_IWOTH:
                raise PermissionError(f"{self.folder} can be written by everybody; make it `chmod o-w`")
            if self._is_private and (found.st_uid != os.geteuid() or found.st_mode & stat.S_IWGRP):
                raise PermissionError(f"{self.folder} can be written by other users; make it yours, with `chmod 700`")
        return True

    def _evict(self) -> None:
        """Other processes may be doing the same: what is gone already is no trouble."""
        files, size = [], 0
        abandoned = time.time() - _ABANDONED_SECONDS
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat()
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


def _remove(path: str | Path) -> None:
    with contextlib.suppress(OSError):  # gone already, or not ours to remove
        os.unlink(path)


def _pack(value: bytes) -> bytes:
    body = zlib.compress(value, 1)  # compiled programs shrink to a fifth, at 100 MB/s
    return _MAGIC + _digest(body) + body


def _unpack(data: bytes) -> bytes:
    start = len(_MAGIC) + _DIGEST_BYTES
    if not data.startswith(_MAGIC):
        raise ValueError("it does not begin as a file of this cache")
    body = data[start:]
    if data[len(_MAGIC) : start] != _digest(body):
        raise ValueError("its contents do not have the digest they were written with")
    return zlib.decompress(body)


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST_BYTES).digest()
