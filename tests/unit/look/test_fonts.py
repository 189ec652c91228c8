"""Fonts: those installed after matplotlib cached its list, and characters that a font has."""

import pytest

from saccade.look import fonts

manager = pytest.importorskip("matplotlib.font_manager")


@pytest.fixture
def machine(monkeypatch):
    """Fake the names in matplotlib's font list and the font files; return the list of fonts added."""
    added = []

    def make(known, files=()):
        def add(path):
            added.append(path)
            if "broken" in path:
                raise RuntimeError("no font")
            known.append("Noto Sans CJK JP")

        monkeypatch.setattr(manager.fontManager, "get_font_names", lambda: known)
        monkeypatch.setattr(manager.fontManager, "addfont", add)
        monkeypatch.setattr(manager, "findSystemFonts", lambda: list(files))
        return added

    return make


def test_new_fonts_that_are_wanted_are_added_and_a_broken_one_is_none(machine):
    listed = manager.fontManager.ttflist[0].fname
    files = ["/f/NotoSansCJK-Regular.ttc", "/f/NotoSansJP-broken.otf", "/f/Other.ttf", "/f/NotoEmoji-Color.ttf", listed]
    added = machine(["DejaVu Sans", "Other"], files)
    assert fonts.families.__wrapped__() == ["DejaVu Sans", "Noto Sans CJK JP"]
    assert added == files[:2]


def test_nothing_is_looked_for_where_the_fonts_are_known(machine):
    added = machine(["Other", "Noto Sans CJK SC", "DejaVu Sans"], ["/f/NotoSansCJK-Regular.ttc"])
    assert fonts.families.__wrapped__() == ["DejaVu Sans", "Noto Sans CJK SC"], "in the order of preference"
    assert added == []


def test_a_letter_is_known_if_one_font_has_it(monkeypatch):
    monkeypatch.setattr(fonts, "_letters", lambda: [frozenset({ord("a")}), frozenset({ord("b")})])
    assert [fonts.knows.__wrapped__(letter) for letter in "abc"] == [True, True, False]
