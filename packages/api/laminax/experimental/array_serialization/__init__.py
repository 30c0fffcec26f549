"""Arrays in files. Libraries such as orbax write and read them; here is only the interface of JAX's own, which libraries ask for."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {}, submodules=["serialization"])
