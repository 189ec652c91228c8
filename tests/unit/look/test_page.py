"""The explorer page as text: one file, escaped, reproducible, with a policy that allows nothing else."""

import base64
import hashlib
import json
import re

import pytest

from saccade.errors import DataError
from saccade.look.page import assets, index, page, policy

HOSTILE = '{"text": "</script><script>alert(1)</script><!-- \u2028 \u2029 \ud800"}'
SOURCES = {name: content.decode() for name, content in assets().items() if name.endswith(".js")}


def imports_in(html):
    return json.loads(re.search(r'<script type="importmap"[^>]*>(.*?)</script>', html, re.S).group(1))["imports"]


def traces_in(html):
    return re.findall(r'<script type="application/json" class="trace">(.*?)</script>', html, re.S)


def test_a_page_holds_its_traces_and_its_modules():
    made = page(['{"a": 1}', '{"b": "é"}'], title="T")
    assert [json.loads(text) for text in traces_in(made)] == [{"a": 1}, {"b": "é"}]
    inside = imports_in(made)
    assert {f"saccade/{name[:-3]}" for name in SOURCES} == set(inside)
    for name, address in inside.items():
        kind, data = address.split(",")
        assert kind == "data:text/javascript;base64"
        assert base64.b64decode(data) == assets()[f"{name.removeprefix('saccade/')}.js"]


def test_equal_traces_give_equal_pages_and_others_other_nonces():
    one, same, other = page(["{}"], title="T"), page(["{}"], title="T"), page(["[]"], title="T")
    assert one == same
    nonces = [set(re.findall(r"nonce-(\w+)", made)) for made in (one, other)]
    assert len(nonces[0]) == len(nonces[1]) == 1
    assert nonces[0] != nonces[1]


def test_a_page_without_data_is_small():
    assert len(page(["{}"], title="T").encode()) < 360_000


def test_a_page_may_load_nothing():
    allowed = re.search(
        r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', page(["{}"], title="T")
    ).group(1)
    rules = dict(rule.strip().split(" ", 1) for rule in allowed.split(";"))
    nonce = rules["script-src"]
    assert re.fullmatch(r"'nonce-[0-9a-f]{32}'", nonce)
    assert rules == {
        "default-src": "'none'",
        "script-src": nonce,
        "style-src": nonce,
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_no_trace_ends_its_element():
    made = page([HOSTILE], title="</title><script>alert(2)</script>")
    assert made.count("alert(1)") == made.count("alert(2)") - 1 == 1
    assert "<script>alert" not in made
    assert "<!--" not in made
    assert not {"\u2028", "\u2029"} & set(made)
    made.encode()  # a lone surrogate in a trace does not make the file invalid
    assert json.loads(traces_in(made)[0])["text"].startswith("</script><script>alert(1)</script><!-- \u2028 \u2029 ")


def test_a_page_needs_a_trace():
    with pytest.raises(DataError, match="0 traces"):
        page([], title="T")


def test_the_served_page_finds_all_its_files():
    for address in [*imports_in(index()).values(), *re.findall(r'href="([^"]+)"', index())]:
        assert address.removeprefix("./static/") in assets()
    assert "index.html" not in assets()
    assert not traces_in(index())


def test_the_served_page_s_policy_allows_its_inline_scripts_and_no_others():
    inline = re.findall(r"<script[^>]*>(.*?)</script>", index(), re.S)
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in inline}
    rules = dict(rule.strip().split(" ", 1) for rule in policy().split(";"))
    assert set(rules["script-src"].split()) == {"'self'", *hashes}
    assert rules["connect-src"] == rules["style-src"] == "'self'"
    assert rules["default-src"] == rules["frame-ancestors"] == "'none'"


@pytest.mark.parametrize("name", SOURCES)
def test_modules_import_each_other_by_name_and_nothing_else(name):
    imported = re.findall(r'(?:from|import) "([^"]+)"', SOURCES[name])
    assert {one.removeprefix("saccade/") + ".js" for one in imported} <= set(SOURCES)
    assert all(one.startswith("saccade/") for one in imported)


@pytest.mark.parametrize("name", SOURCES)
def test_nothing_in_a_module_makes_markup_or_code_of_text(name):
    code = SOURCES[name]
    for way in [
        "innerHTML",
        "outerHTML =",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
        "srcdoc",
    ]:
        assert way not in code
    assert set(re.findall(r"https?://[^\"'` ]+", code)) <= {"http://www.w3.org/2000/svg"}
    assert code.count("\n") <= 250


def test_the_page_has_no_inline_handlers_or_styles():
    assert not re.search(r"<[^>]+\s(on\w+|style)=", index().split("<body>")[1])
