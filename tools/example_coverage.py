"""Prints how many public functions have an example in their docstring, module by module, and with `--missing` the names of those without.

    ./bazelw run //tools:example_coverage -- --missing laminax.lax

A function that is listed in several modules counts in each; classes count as functions, constants and types of elements not at all.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import types

DISTRIBUTIONS = (
    "bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l gumbel_r laplace logistic multinomial "
    "multivariate_normal nbinom norm pareto poisson t truncnorm uniform vonmises wrapcauchy").split()
SCIPY = (
    "cluster.vq fft integrate interpolate linalg ndimage optimize signal sparse.linalg spatial.transform special stats").split()
MODULES = {
    "transformations": ["laminax"],
    "numpy": ["laminax.numpy", "laminax.numpy.fft", "laminax.numpy.linalg"],
    "lax": ["laminax.lax", "laminax.lax.linalg"],
    "nn": ["laminax.nn", "laminax.nn.initializers"],
    "random": ["laminax.random"],
    "scipy": [f"laminax.scipy.{name}" for name in [*SCIPY, *(f"stats.{name}" for name in DISTRIBUTIONS)]],
}


def functions(module: types.ModuleType) -> dict[str, str]:
    """Name to docstring of each public function and class of laminax's own in a module; primitives and types of elements are neither."""
    found = {}
    for name in dir(module):
        value = getattr(module, name, None)
        if name.startswith("_") or name.endswith("_p") or not callable(value) or inspect.ismodule(value):
            continue
        plain = inspect.unwrap(value) if inspect.isroutine(value) else value
        if getattr(plain, "__module__", "").startswith("laminax") and not is_dtype(value):
            found[name] = plain.__doc__ or ""
    return found


def is_dtype(value: object) -> bool:
    return hasattr(value, "dtype") and not hasattr(value, "nin")


def counts(names: list[str]) -> tuple[int, int, list[str]]:
    """How many functions the modules have, how many with an example, and the full names of the others."""
    total, missing = 0, []
    for name in names:
        for function, text in functions(importlib.import_module(name)).items():
            total += 1
            if ">>>" not in text:
                missing.append(f"{name}.{function}")
    return total, total - len(missing), missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missing", metavar="MODULE", help="print the names without an example in this module, or `all`")
    asked = parser.parse_args().missing
    print("| part | functions | with an example | without |\n|---|---|---|---|")
    for part, names in MODULES.items():
        total, shown, missing = counts(names)
        print(f"| {part} | {total} | {shown} | {total - shown} |")
        if asked is not None:
            print(*(f"    {name}" for name in missing if asked == "all" or name.rpartition(".")[0] == asked), sep="\n")


if __name__ == "__main__":
    main()
