"""What type checkers, and so editors, say of programs that use laminax: every planted mistake, and nothing else."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

import pytest

REPOSITORY = pathlib.Path(__file__).absolute().parents[2]
PROGRAMS = pathlib.Path(__file__).absolute().parent / "typed_programs"
LAYERS = {"laminax_ir": "ir", "laminax_transforms": "transforms", "laminax_lowering": "lowering", "laminax_runtime": "runtime",
          "laminax": "api"}
LIBRARIES = ("numpy", "ml_dtypes", "scipy")


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """The environment variables of a process whose `python` has the packages installed, as after `pip install`."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for package, layer in LAYERS.items():
        shutil.copytree(REPOSITORY / "packages" / layer / package, site / package)
    for library in LIBRARIES:
        found = next(path for path in sys.path if pathlib.Path(path, library, "__init__.py").is_file())
        (site / library).symlink_to(pathlib.Path(found, library))
    variables = os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    return variables | {"INSTALLED": str(site), "MYPYPATH": ""}


def pyright(environment: dict[str, str], *arguments: str, cwd: pathlib.Path) -> str:
    """What pyright prints, with its standard rules."""
    (cwd / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    without_paths = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    code = f"import sys; sys.path[:0] = {sys.path!r}; from basedpyright.pyright import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=without_paths, cwd=cwd, capture_output=True, text=True)
    return done.stdout + done.stderr


def mypy(environment: dict[str, str], program: pathlib.Path, cwd: pathlib.Path) -> str:
    """What mypy prints of one program."""
    interpreter = pathlib.Path(environment["INSTALLED"]).parents[2] / "bin" / "python"
    options = [f"--python-executable={interpreter}", "--follow-imports=silent", "--cache-dir", str(cwd / "cache")]
    done = subprocess.run([sys.executable, "-m", "mypy", *options, str(program)], env=environment, cwd=cwd, capture_output=True, text=True)
    return done.stdout + done.stderr


def lines_with_errors(program: pathlib.Path, output: str) -> set[int]:
    """The lines of a program that a type checker objects to."""
    return {int(line) for line in re.findall(rf"{re.escape(program.name)}:(\d+)(?::\d+)?(?: -|:) error", output)}


def planted() -> set[int]:
    """The lines of `planted.py` that have a mistake."""
    return {i for i, line in enumerate((PROGRAMS / "planted.py").read_text().splitlines(), 1) if "# mistake" in line}


def test_pyright_finds_the_planted_mistakes_and_no_other(environment, tmp_path):
    program = PROGRAMS / "planted.py"
    output = pyright(environment, str(program), cwd=tmp_path)
    assert lines_with_errors(program, output) == planted(), output


def test_pyright_finds_nothing_in_a_correct_program(environment, tmp_path):
    output = pyright(environment, str(PROGRAMS / "correct.py"), cwd=tmp_path)
    assert "0 errors" in output, output


def test_mypy_finds_the_planted_mistakes_and_no_other(environment, tmp_path):
    program = PROGRAMS / "planted.py"
    output = mypy(environment, program, tmp_path)
    assert lines_with_errors(program, output) == planted(), output


def test_mypy_finds_nothing_in_a_correct_program(environment, tmp_path):
    output = mypy(environment, PROGRAMS / "correct.py", tmp_path)
    assert "Success" in output, output


def test_nearly_every_public_name_has_a_whole_type(environment, tmp_path):
    output = pyright(environment, "--verifytypes", "laminax", "--ignoreexternal", cwd=tmp_path)
    (score,) = re.findall(r"Type completeness score: ([\d.]+)%", output)
    assert float(score) >= 95, output[-3000:]
