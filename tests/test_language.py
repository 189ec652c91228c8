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
    r"(is|are|was|were|be|been|being) told": "raises, logs, receives",
    r"who (would|keeps|wants|has|came|goes|waits|asks)": "name the actor",
    r"goes? without": "is left out, runs without",
    r"comes? of": "results from",
    r"has it that": "says that",
    r"eight[- ]bits?": "int8",
    r"all eyes open": "with everything recorded",
    r"behind the back": "not tracked by",
    r"interference": "intervention",
    r"too close to tell": "inconclusive",
    r"c[ao]mes? out( as)?": "is, was reproduced",
    r"slopes": "gradients",
    r"trainings": "training runs",
    r"(a|each|every|this|that|one) training(?=[.,;:)]| (is|was|that|which|ends|stops|of)\b)": "a training run",
    r"graph recordings?|recording of (a|the) (graph|update|step|search|attention)": "CUDA graph capture; its weights",
    r"pieces?": "subwords; parts",
    r"twin": "the reference",
    r"look(s|ed|ing) at": "attends to; shows, views",
    r"go(es|ing)? on after": "resumes from",
}
PATTERN = re.compile(rf"\b({'|'.join(BANNED)})\b", re.IGNORECASE)
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "src").rglob("*.md"),
    *(ROOT / "src").rglob("*.yaml"),
    *(ROOT / "examples").rglob("*.md"),
    *(ROOT / "results").rglob("*.md"),
    *(ROOT / "benchmarks").rglob("*.md"),
]
SCRIPTS = [*(ROOT / "src").rglob("*.js")]
MODULES = [
    path
    for path in (ROOT / "src").rglob("*.py")
    if not {"english_french", "articles", "stories"} & {*path.parts} and path.parts[-2:] != ("spoken", "words.py")
]
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def prose(source):
    """(line, text) of every comment and of every string that is a sentence."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 2:
            yield node.lineno, node.value


def explanations(source):
    """(line, text) of every comment and docstring: other strings of tests are test data."""
    documented = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    lines = {node.value.lineno for node in documented if isinstance(node.value, ast.Constant)}
    return [(number, text) for number, text in prose(source) if text.startswith("#") or number in lines]


def script_prose(source):
    """(line, text) of every comment of a script and of every string that is a sentence."""
    pattern = r"/\*.*?\*/|(?<![:\w])//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`"
    for match in re.finditer(pattern, source, re.DOTALL):
        if match[0].startswith("/") or match[0].count(" ") > 2:
            yield source.count("\n", 0, match.start()) + 1, match[0]


def without_code(text):
    """Text without what stands between backticks: names of code are no prose."""
    return re.sub(r"`[^`\n]*`", "`", text)


def found(lines):
    return [(number, match[0]) for number, text in lines for match in PATTERN.finditer(text)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules(path):
    lines = prose(path.read_text(encoding="utf-8"))
    assert found((number, without_code(text)) for number, text in lines) == [], BANNED


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_tests(path):
    lines = explanations(path.read_text(encoding="utf-8"))
    assert found((number, without_code(text)) for number, text in lines) == [], BANNED


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents(path):
    assert found(enumerate(without_code(path.read_text(encoding="utf-8")).splitlines(), 1)) == [], BANNED


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts(path):
    assert found(script_prose(path.read_text(encoding="utf-8"))) == [], BANNED


def test_the_words_are_noticed_where_they_are_prose():
    source = '"""It is told of nobody."""\nwhoever = 1  # in company\nx = "company"\n'
    assert [word for _, word in found(prose(source))] == ["in company"[3:], "is told", "nobody"]


def test_the_words_are_noticed_where_tests_explain():
    source = '"""A kernel and its twin."""\nx = "the data is told by nobody"  # whoever\n'
    assert [word for _, word in found(explanations(source))] == ["whoever", "twin"]


def test_the_words_are_noticed_in_scripts_and_documents():
    script = 'const pieces = 1; // whoever\nselect("pieces", "the text that it looks at");\n/* its\n twin */\n'
    assert found(script_prose(script)) == [(1, "whoever"), (2, "looks at"), (3, "twin")]
    assert found([(1, without_code("The slopes of `pieces`: a training ends, a training run does not."))]) == [
        (1, "slopes"),
        (1, "a training"),
    ]
