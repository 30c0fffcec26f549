"""Writes a lane's lock files: every package pinned, with the sha256 of each wheel that may be installed.

Run it with the lane's own interpreter after changing a `.in` file:

    python3.11 third_party/locks/lock.py py311
    python3.12 third_party/locks/lock.py py312

pip resolves the lane for this machine first; the same versions are then looked up for the other
platforms, so that one lock serves all of them. What only some targets need, the jax of benchmarks/, the
tools that build the documentation, Flax for an example, is resolved against the lane's pins and written to
files of their own, which hold only what the lane does not have already. `lock.py py311 docs` writes one alone.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

PARTS = ("jax", "docs", "flax")  # lock files beside the lane's own
LOCKS = pathlib.Path(__file__).parent
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64")


def main(lane: str, *parts: str) -> None:
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    if version != lane:
        raise SystemExit(f"lock.py: lane {lane} is locked by its own interpreter; this one is {version}")
    if parts:
        pins = written_pins(lane)
    else:
        pins = resolve("-r", str(LOCKS / f"{lane}.in"))
        write(lane, pins)
    for part in parts or PARTS:
        together = resolve("-r", str(LOCKS / f"{lane}-{part}.in"), "-r", str(LOCKS / f"{lane}.in"), *constraints(pins))
        write(f"{lane}-{part}", {name: pin for name, pin in together.items() if name not in pins})


def written_pins(lane: str) -> dict[str, str]:
    """Name to version of what the lane's lock file has."""
    return dict(re.findall(r"^(\S+)==(\S+)", (LOCKS / f"{lane}.txt").read_text(), re.MULTILINE))


def resolve(*requirements: str) -> dict[str, str]:
    """Canonical name to version of everything the requirements need on this machine."""
    return {name: version for name, version, _ in pip_report(*requirements)}


def constraints(pins: dict[str, str]) -> list[str]:
    return [f"{name}=={version}" for name, version in pins.items()]


def write(lock: str, pins: dict[str, str]) -> None:
    hashes = {name: set() for name in pins}
    for platform in PLATFORMS:
        for name, _, sha256 in pip_report("--no-deps", *platform_options(platform), *constraints(pins)):
            hashes[name].add(sha256)
    lines = [f"# Written by third_party/locks/lock.py from {lock}.in. Do not edit.\n"]
    for name in sorted(pins):
        entry = [f"{name}=={pins[name]}", *(f"--hash=sha256:{sha256}" for sha256 in sorted(hashes[name]))]
        lines.append(" \\\n    ".join(entry) + "\n")
    (LOCKS / f"{lock}.txt").write_text("".join(lines))
    print(f"{lock}.txt: {len(pins)} packages")


def platform_options(platform: str) -> list[str]:
    """Older manylinux tags are named too: pip takes `--platform` literally."""
    machine = platform.removeprefix("manylinux_2_28_")
    tags = [f"manylinux_{glibc}_{machine}" for glibc in ("2_28", "2_27", "2_26", "2_24", "2_17")]
    return [f"--platform={tag}" for tag in [*tags, f"manylinux2014_{machine}"]] + ["--target=unused"]


def pip_report(*arguments: str) -> list[tuple[str, str, str]]:
    """(canonical name, version, sha256) of each wheel that `pip install` would fetch."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--only-binary=:all:", f"--report={report}", *arguments], check=True)
        installs = json.loads(report.read_text())["install"]
    return [
        (
            re.sub(r"[-_.]+", "-", install["metadata"]["name"]).lower(),
            install["metadata"]["version"],
            install["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for install in installs
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
