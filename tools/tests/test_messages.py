"""Messages name what the user called: JAX's names stand in those sentences only that docs/architecture.md lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from import_graph import FOLDERS, REPOSITORY, modules

# Names of JAX in messages: not attributes in the text of modules (`jax.result_info`), or addresses.
_NAME = re.compile(r"(?<![\w./'\"])jax\.(?!_src|buffer_donor|global_constant|result_info|uses_shape_polymorphism)[A-Za-z]")


def listed() -> list[str]:
    text = (REPOSITORY / "docs" / "architecture.md").read_text()
    return text.partition("no other message says `jax.`:\n\n```\n")[2].partition("\n```")[0].splitlines()


def messages() -> Iterator[tuple[str, str]]:
    """Every text in the product that is no docstring: where it is, and what it says; the parts of an f-string in one."""
    for package in FOLDERS:
        for file in modules(package).values():
            tree = ast.parse(file.read_text())
            inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
            inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    parts = [part.value if isinstance(part, ast.Constant) else "..." for part in node.values]
                    yield f"{file.relative_to(REPOSITORY)}:{node.lineno}", "".join(map(str, parts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
                    yield f"{file.relative_to(REPOSITORY)}:{node.lineno}", node.value


def test_messages_say_laminax_but_for_the_sentences_that_programs_match_on():
    known = listed()
    wrong = [f"{where}: {text[:160]!r}" for where, text in messages()
             if " " in text and _NAME.search(text) and not any(words in text for words in known)]
    assert not wrong, "say laminax, or list the words in docs/architecture.md if JAX's tests look for them:\n" + "\n".join(wrong)


def test_every_listed_sentence_is_said():
    said = [text for _, text in messages()]
    assert len(listed()) > 10
    assert not [words for words in listed() if not any(words in text for text in said)]
