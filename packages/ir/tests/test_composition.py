"""The rooms of the layer are put together when the first thing that needs it is used, whichever that is; each in a fresh interpreter."""

import os
import pickle
import subprocess
import sys

import pytest

from laminax_ir.key_arrays.keys import random_wrap_p
from laminax_ir.ops import elementwise, random_bits, state, symbolic
from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.refs.ref_primitives import swap_p
from laminax_ir.symbolic.symbolic_values import dim_as_value_p


def run(code: str) -> str:
    """What a fresh interpreter prints, or its error."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", f"import sys\nimport numpy as np\n{code}"], env=environment, capture_output=True,
                          text=True, timeout=120)
    return (done.stdout + done.stderr).strip()


@pytest.mark.parametrize("code, expected", [
    ("from laminax_ir.ops import elementwise as op; print(op.add(np.float32(1), np.float32(2)))", "3.0"),
    ("from laminax_ir.recording.staging import stage\nfrom laminax_ir.types.avals import ShapedArray\n"
     "print(stage(lambda x: [x * 2.0], [ShapedArray((), 'float32')]))", "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }"),
    ("from laminax_ir.ops.state import new_ref; r = new_ref(np.float32(1)); r[...] = np.float32(5); print(r[...])", "5.0"),
    ("from laminax_ir.key_arrays.keys import PRNGKeyArray; print(PRNGKeyArray('threefry2x32', np.zeros((3, 2), np.uint32))[1].shape)",
     "()"),
])
def test_whatever_is_used_first_works(code, expected):
    assert run(code) == expected


def test_what_few_programs_need_waits_until_it_is_used():
    code = """
from laminax_ir import setup
needed_later = ("programs.printer", "programs.layout", "reference.evaluate", "functions.array_parts", "recording.discharge", \
"options.absl_flags")
print([name for name in needed_later if f"laminax_ir.{name}" in sys.modules])"""
    assert run(code) == "[]"


def test_the_settings_alone_put_nothing_together():
    assert run("from laminax_ir.options import config; print('laminax_ir.setup' in sys.modules)") == "False"


@pytest.mark.parametrize("primitive, family",
                         [(random_wrap_p, random_bits), (swap_p, state), (dim_as_value_p, symbolic), (convert_element_type_p, elementwise)])
def test_primitives_that_stand_apart_from_their_family_are_pickled_and_found_in_it(primitive, family):
    assert pickle.loads(pickle.dumps(primitive)) is primitive
    assert getattr(family, f"{primitive.name}_p") is primitive
