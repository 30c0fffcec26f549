"""The numerics stand on one module: what they take of the rooms above them in the api is named in `numerics/floor.py`."""

from import_graph import imports_of

from laminax._src.numerics import floor

NUMERICS = "laminax._src.numerics"
FLOOR = f"{NUMERICS}.floor"
NAMES_OF_NUMPY = "laminax._numpy_names"  # which module has which function; the public module is made of it too
LIBRARIES = ("laminax._src.names", "laminax._src.linen", "laminax._src.pallas")  # what stands on the numerics, beside the core
COMPOSITION = {"laminax._src", "laminax._src.setup"}  # gives arrays their methods


def is_below(module: str, folder: str) -> bool:
    return module == folder or module.startswith(f"{folder}.")


def listed(found) -> str:
    return "\n".join(f"{x.source}:{x.line} imports {x.target}{f', {x.name}' if x.name else ''}" for x in found)


def test_the_numerics_import_nothing_of_the_api_but_the_floor():
    own = [x for x in imports_of("laminax") if is_below(x.source, NUMERICS) and x.source != FLOOR]
    assert len(own) > 300
    wrong = [x for x in own if x.target.split(".")[0] == "laminax" and not is_below(x.target, NUMERICS) and x.target != NAMES_OF_NUMPY]
    assert not wrong, f"take what is needed from {FLOOR}, or from ir, transforms and runtime:\n{listed(wrong)}"


def test_the_floor_is_narrow():
    taken = set(floor.__all__)
    used = {x.name for x in imports_of("laminax") if x.target == FLOOR}
    assert taken == used, f"only what the numerics use stands in {FLOOR}: {taken ^ used}"
    assert len(taken) <= 12, "a floor that names everything is none"


def test_the_core_does_not_import_the_numerics():
    above = [x for x in imports_of("laminax") if is_below(x.target, NUMERICS) and is_below(x.source, "laminax._src")
             and not any(is_below(x.source, folder) for folder in (NUMERICS, *LIBRARIES))]
    wrong = [x for x in above if x.source not in COMPOSITION]
    assert not wrong, f"let the numerics register what the core needs, or move it below both:\n{listed(wrong)}"
    assert {x.target for x in above} == {f"{NUMERICS}.numpy.array_methods"}
