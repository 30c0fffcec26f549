"""Derivatives of high order by Taylor mode, and its rules for users' own operations. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_transforms.taylor.taylor": "jet",
    "names.jet": """
        ZeroSeries ZeroTerm def_comp def_deriv deflinear defzero deriv_prop fact jet_rules linear_prop zero_prop zero_series zero_term""",
})
