"""Builds a project's wheel with setuptools, the same bytes from the same sources.

Usage: build_wheel.py <pyproject.toml> <output folder> <source file>...

The declared files are copied to a folder of their own, so that nothing else can slip into the wheel.
Times and file modes are fixed: setuptools takes the time from SOURCE_DATE_EPOCH, and the modes from
the copies.
"""

import logging
import os
import pathlib
import shutil
import sys
import tempfile

from setuptools import build_meta

EARLIEST_ZIP_TIME = "315532800"  # 1980-01-01, the first time that a zip archive can hold


def main(project: str, output: str, *sources: str) -> None:
    project_folder = pathlib.Path(project).parent
    output_folder = pathlib.Path(output).absolute()
    with tempfile.TemporaryDirectory() as copy:
        for source in (project, *sources):
            target = pathlib.Path(copy, pathlib.Path(source).relative_to(project_folder))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o644)
        os.environ["SOURCE_DATE_EPOCH"] = EARLIEST_ZIP_TIME
        os.umask(0o022)
        os.chdir(copy)
        logging.disable(logging.INFO)  # setuptools reports every file that it copies
        build_meta.build_wheel(str(output_folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
