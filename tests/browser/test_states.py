"""Screenshots of twelve states, in both themes and on a phone, look like those that a person approved.

python docs/images/make.py takes them again, after an intended change.
"""

import numpy as np
import pytest
from PIL import ImageFilter

from helpers.page_states import STATES, VARIANTS, golden, take

NEAR = 3.0
"""Mean difference of blurred pixels (of 255) that fonts and versions of the browser may cause."""


def difference(one, two):
    pixels = [np.asarray(each.filter(ImageFilter.GaussianBlur(2)), np.float64) for each in (one, two)]
    return float(np.abs(pixels[0] - pixels[1]).mean())


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_state_looks_as_it_did(variant, browser):
    kept, taken = golden(variant), take(browser, variant)
    for name in STATES:
        own = difference(taken[name], kept[name])
        others = {other: difference(taken[name], kept[other]) for other in STATES if other != name}
        assert own < NEAR, f"{name} looks different: {own:.1f}"
        assert own < min(others.values()), f"{name} looks more like {min(others, key=others.get)}"
