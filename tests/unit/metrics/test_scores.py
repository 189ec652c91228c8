"""Properties of all metrics."""

import dataclasses

import pytest

from saccade import metrics

SCORES = [thing for thing in vars(metrics).values() if isinstance(thing, type) and dataclasses.is_dataclass(thing)]


@pytest.mark.parametrize("kind", SCORES)
def test_a_score_cannot_be_changed_once_it_is_made(kind):
    made = object.__new__(kind)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(kind)[0].name, 0.0)
