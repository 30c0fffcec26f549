"""Source positions of equations. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.extend.source_info_util": """
    NameStack SourceInfo current current_name_stack extend_name_stack new_name_stack new_source_info register_exclusion summarize"""})
