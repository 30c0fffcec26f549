"""Source positions of equations. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.extend.source_info_util": """
    SourceInfo current new_source_info register_exclusion summarize"""})
