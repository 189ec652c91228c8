"""The table of metrics knows every metric that a task computes, and which direction is better."""

import pytest

from saccade.metrics import METRICS
from saccade.tasks.table import TASKS


@pytest.mark.parametrize("task", TASKS)
def test_every_metric_that_a_run_can_be_chosen_by_has_a_row(task):
    assert set(TASKS[task].metrics) <= set(METRICS)
    assert TASKS[task].metrics


def test_errors_and_losses_are_better_when_lower_and_everything_else_when_higher():
    lower = {name for name, metric in METRICS.items() if metric.better == "lower"}
    losses = {"loss", "ter", "aer", "perplexity", "perplexity_per_word", "bits_per_character"}
    assert lower == losses | {
        "repeated_trigrams",
        "tour_length",
        "dull",
        "wer",
        "cer",
        "time_error",
        "onset_error",
        "fid",
        "kid",
    }
    neither = {name for name, metric in METRICS.items() if metric.better == "neither"}
    assert neither == {"novel_words", "novel_bigrams", "summary_length", "copied", "reply_length"}


@pytest.mark.parametrize("task", TASKS)
def test_no_run_is_chosen_by_a_metric_that_merely_describes(task):
    assert all(METRICS[name].better != "neither" for name in TASKS[task].metrics)


def test_titles_are_different():
    assert len({metric.title for metric in METRICS.values()}) == len(METRICS)
