"""The dependency diamond, checked on the imports themselves.

Bazel's visibility refuses a dependency against the diamond where it is declared; this reads the source
files, so it also holds for tests run without Bazel and for imports inside functions.
"""

import ast
import pathlib
import sys
from collections.abc import Iterator

import pytest

REPOSITORY = pathlib.Path(__file__).absolute().parents[2]
FOLDERS = {
    "laminax_ir": "packages/ir",
    "laminax_transforms": "packages/transforms",
    "laminax_lowering": "packages/lowering",
    "laminax_runtime": "packages/runtime",
    "laminax": "packages/api",
}
ALLOWED = {
    "laminax_ir": {"ml_dtypes", "numpy"},
    "laminax_transforms": {"laminax_ir", "ml_dtypes", "numpy"},
    "laminax_lowering": {"laminax_ir", "ml_dtypes", "numpy"},
    "laminax_runtime": {"laminax_ir", "ml_dtypes", "numpy", "platformdirs", "scipy"},
    "laminax": {*FOLDERS, "ml_dtypes", "numpy"},
}
# jaxlib's private names live in one module. ir works without jaxlib and SciPy, and uses them in one module
# each where they are installed: jaxlib's pytree registry, and the rarer special functions of SciPy. Programs that use
# absl have the options as its flags. The api takes the
# names of window functions from SciPy, as JAX does, and its solver of sparse linear equations; the bytes of checkpoints from msgpack.
ALLOWED_IN_MODULE = {
    "packages/api/laminax/_src/base/progress.py": {"tqdm"},
    "packages/api/laminax/_src/explaining/treescope_adapter.py": {"treescope"},
    "packages/api/laminax/_src/linen/serialization.py": {"msgpack"},
    "packages/api/laminax/_src/placement/clusters.py": {"mpi4py"},
    "packages/api/laminax/_src/numerics/scipy/spectra.py": {"scipy"},
    "packages/api/laminax/_src/numerics/sparse/solving.py": {"scipy"},
    "packages/ir/laminax_ir/pytrees/jaxlib_backend.py": {"jaxlib"},
    "packages/ir/laminax_ir/options/absl_flags.py": {"absl"},
    "packages/ir/laminax_ir/reference/special.py": {"scipy"},
    "packages/runtime/laminax_runtime/_jaxlib.py": {"jaxlib"},
}


def python_files(folder: str) -> list[pathlib.Path]:
    return sorted(REPOSITORY.joinpath(folder).rglob("*.py"))


def imports(file: pathlib.Path) -> Iterator[tuple[str, int]]:
    """(top-level name, line) of each absolute import, `import_module("name")` included.

    What stands in a `with pytest.raises` is left out: a test may show that an import is refused.
    """
    tree = ast.parse(file.read_text(), str(file))
    refused = {id(node) for block in ast.walk(tree) if expects_error(block) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in refused:
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                names = [node.args[0].value]
        yield from ((name.partition(".")[0], node.lineno) for name in names if not name.startswith("."))


def expects_error(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any("raises(" in ast.unparse(item) for item in node.items)


@pytest.mark.parametrize("layer", FOLDERS)
def test_a_layer_imports_only_what_it_stands_on(layer):
    files = python_files(f"{FOLDERS[layer]}/{layer}")
    assert files, f"no source file of {layer} was found in {REPOSITORY}"
    wrong = []
    for file in files:
        path = file.relative_to(REPOSITORY).as_posix()
        allowed = {layer} | ALLOWED[layer] | ALLOWED_IN_MODULE.get(path, set()) | sys.stdlib_module_names
        wrong += [f"{path}:{line} imports {name}" for name, line in imports(file) if name not in allowed]
    assert not wrong, f"{layer} may import {', '.join(sorted(ALLOWED[layer]))}:\n" + "\n".join(wrong)


def takes_laminax_for_it(file):
    """Whether the first import of a program is `laminax.experimental.as_jax`, after which `import jax` gives laminax."""
    first = next(node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, (ast.Import, ast.ImportFrom)))
    return isinstance(first, ast.Import) and first.names[0].name == "laminax.experimental.as_jax"


def test_jax_is_imported_in_benchmarks_only():
    files = [file for folder in ("packages", "examples", "tools", "docs", "ci") for file in python_files(folder)]
    wrong = [
        f"{file.relative_to(REPOSITORY)}:{line}"
        for file in files
        for name, line in imports(file)
        if name == "jax" and not takes_laminax_for_it(file)
    ]
    assert not wrong, "jax is imported in:\n" + "\n".join(wrong)
