"""Small libraries that older programs use: a table of contents; a module is imported when it is first used."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {}, ("optimizers", "stax"))
