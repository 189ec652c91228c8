"""FigureSpec: defaults, and unknown styles."""

import pytest

from saccade.errors import ConfigError
from saccade.look import FigureSpec
from saccade.look.figure_spec import STYLES


def test_a_view_is_of_a_style_that_there_is():
    assert [FigureSpec(style).style for style in (None, *STYLES)] == [None, *STYLES]
    with pytest.raises(ConfigError, match=r"figure 'matrx' does not exist\. Did you mean 'matrix'"):
        FigureSpec("matrx")


def test_words_are_whole_and_marks_are_shown_unless_asked_otherwise():
    assert (FigureSpec().words, FigureSpec().sinks, FigureSpec(words=False, sinks=False).words) == (True, True, False)
