"""View: what to draw, and what there is not to choose."""

import pytest

from saccade.errors import ConfigError
from saccade.look import View
from saccade.look.view import STYLES


def test_a_view_is_of_a_style_that_there_is():
    assert [View(style).style for style in (None, *STYLES)] == [None, *STYLES]
    with pytest.raises(ConfigError, match=r"picture 'matrx' does not exist\. Did you mean 'matrix'"):
        View("matrx")


def test_words_are_whole_and_marks_are_shown_unless_asked_otherwise():
    assert (View().words, View().sinks, View(words=False, sinks=False).words) == (True, True, False)
