"""The site builds without a warning: every link between its pages leads somewhere, every page is in its contents."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    missing = [name for name in ("sphinx", "furo", "myst_parser") if importlib.util.find_spec(name) is None]
    if missing and "CI" not in os.environ:
        pytest.skip(f"needs {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("site")
    options = ["-b", "html", "-q", "-W", "--keep-going", "-c", "docs", "-d", str(folder / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(folder / "html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_document_is_a_page(site):
    documents = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *(ROOT / "docs").rglob("*.md")]
    missing = [path for path in documents if not (site / path.relative_to(ROOT)).with_suffix(".html").exists()]
    assert missing == []
    assert "docs/index.html" in (site / "index.html").read_text()


def test_it_needs_no_network(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|link)\b[^>]*(?:src|href)=\"(\w+:)?//", page.read_text("utf-8"))
        assert loaded == [], page


def test_it_can_be_searched(site):
    index = (site / "searchindex.js").read_text("utf-8")
    assert "docs/reference/glossary" in index
    assert "doubly_stochast" in index


def test_equations_are_drawn(site):
    page = (site / "docs/explanation/how-attention-works.html").read_text("utf-8")
    assert page.count("<math") > 20
    assert "$" not in re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)
