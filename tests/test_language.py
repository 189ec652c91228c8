"""Prose uses the words that people of the field search for, not the ones that used to stand in their place."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BANNED = {
    r"company": "the rest of the batch",
    r"whoever|nobody|somebody": "name the actor: the caller, the model, the server",
    r"(is|are|was|were) told": "raises, logs, receives",
    r"who (would|keeps|wants|has|came|goes|waits|asks)": "name the actor",
    r"goes? without": "is left out, runs without",
    r"comes? of": "results from",
    r"has it that": "says that",
    r"eight bits": "int8",
    r"all eyes open": "with everything recorded",
    r"behind the back": "not tracked by",
    r"interference": "intervention",
    r"too close to tell": "inconclusive",
}
PATTERN = re.compile(rf"\b({'|'.join(BANNED)})\b", re.IGNORECASE)
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "src").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
]
MODULES = [
    path for path in (ROOT / "src").rglob("*.py") if not {"english_french", "articles", "stories"} & {*path.parts}
]


def prose(source):
    """(line, text) of every comment and of every string that is a sentence."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 2:
            yield node.lineno, node.value


def found(lines):
    return [(number, match[0]) for number, text in lines for match in PATTERN.finditer(text)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules(path):
    assert found(prose(path.read_text(encoding="utf-8"))) == [], BANNED


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents(path):
    assert found(enumerate(path.read_text(encoding="utf-8").splitlines(), 1)) == [], BANNED


def test_the_words_are_noticed_where_they_are_prose():
    source = '"""It is told of nobody."""\nwhoever = 1  # in company\nx = "company"\n'
    assert [word for _, word in found(prose(source))] == ["in company"[3:], "is told", "nobody"]
