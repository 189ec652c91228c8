"""Small span readers and batches of questions for them."""

import torch

from helpers.models import loud
from saccade.batch import AskedBatch, Batch
from saccade.data.question_features import MATCHES
from saccade.models import configure
from saccade.models.heads import build_head
from saccade.models.span_reader import SpanReaderConfig

FAMILIES = {
    "recurrent": configure("bahdanau", embedding=12, encoder={"width": 8}),
    "transformer": configure(
        "transformer-base", width=12, feed_forward=16, layers=1, dropout=0.0, attention={"heads": 2}
    ),
    "lstmn": configure("lstmn", embedding=8, width=8),
}


def reader(family, **settings):
    """A reader with random weights over an encoder of a family, for 20 words."""
    torch.manual_seed(3)
    return loud(build_head("span_reader", FAMILIES[family], 20, MATCHES, config=SpanReaderConfig(**settings)))


def asked(passages, questions, count=MATCHES):
    """A batch of questions on passages, with random matches that depend only on the position."""
    source, question = Batch.from_lists(passages), Batch.from_lists(questions)
    size = source.source.shape[1]
    some = torch.rand(100, count, generator=torch.Generator().manual_seed(1))[:size]
    matches = some * source.source_mask[..., None]
    parts = {"question": question.source, "question_mask": question.source_mask, "matches": matches}
    return AskedBatch(source.source, source.source_mask, **parts)
