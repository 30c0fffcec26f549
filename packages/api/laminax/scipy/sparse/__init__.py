"""Linear equations given by functions, as in `scipy.sparse`. A table of contents: modules load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {}, ("linalg",))
