"""Prefix probabilities of CTC, and searches with them, against the sum over all paths."""

from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from helpers.models import VOCABULARY, heard, same
from saccade import pytree
from saccade.batch import BOS, EOS, PAD, Batch
from saccade.models import build_language_model
from saccade.models.ctc_prefix import Heard, begin, extended, increments
from saccade.models.fusion import Fusion
from saccade.search import SearchConfig, decode


def slow_labelings(logs):
    """The probability of each labeling, by brute force over all paths."""
    found = {}
    for path in product(range(logs.shape[1]), repeat=len(logs)):
        kept = [token for place, token in enumerate(path) if token != PAD and (place == 0 or path[place - 1] != token)]
        share = float(np.exp(sum(logs[place, token] for place, token in enumerate(path))))
        found[tuple(kept)] = found.get(tuple(kept), 0.0) + share
    return found


@pytest.fixture
def said():
    torch.manual_seed(0)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]) > 0
    logs = torch.randn(2, 5, 6).double().log_softmax(-1)
    return Heard(logs.masked_fill(~mask[..., None], 0.0), mask)


@pytest.mark.parametrize("words", [[], [4], [4, 4], [5, 4, 3], [3, 3, 4]])
def test_prefix_probabilities_are_sums_over_labelings(said, words):
    """Two recordings of different lengths with two hypotheses each: these words, and others."""
    prefixes = pytree.repeat_rows(begin(said), 2)
    for step, token in enumerate([BOS, *words]):
        prefixes = extended(said, prefixes, torch.tensor([token, min(step + BOS, 5)] * 2))
    for row, size in enumerate((5, 3)):
        labelings = slow_labelings(said.logs[row, :size].numpy())

        def total(prefix, found=labelings):
            return sum(share for one, share in found.items() if one[: len(prefix)] == tuple(prefix))

        assert float(prefixes.total[2 * row].exp()) == pytest.approx(total(words))
        after = increments(said, prefixes)[2 * row].exp()
        whole = total(words)
        if whole == 0:
            continue
        assert float(after[EOS]) == pytest.approx(labelings.get(tuple(words), 0.0) / whole)
        for token in (3, 4, 5):
            assert float(after[token]) == pytest.approx(total([*words, token]) / whole)


def listener(**changes):
    torch.manual_seed(2)
    model = heard("las", ctc=True, **changes).eval()
    nn.init.normal_(model.ctc.weight)
    return model


def sources():
    return Batch.from_lists([[4, 5, 6], [7, 8, 9, 10, 4]])


def test_a_search_by_ctc_alone_finds_the_likeliest_labeling():
    model, batch = listener(), sources()
    memory = Fusion(model, ctc=1.0).requires_grad_(False).encode(batch)
    search = SearchConfig(beam=600, length_penalty=0.0, ctc=1.0)
    found = decode(Fusion(model, ctc=1.0), batch, search, lengths=[6, 6])
    for row in range(2):
        size = int(memory.heard.mask[row].sum())
        labelings = slow_labelings(memory.heard.logs[row, :size].numpy())
        allowed = {one: share for one, share in labelings.items() if not {BOS, EOS} & set(one)}
        best = max(allowed, key=allowed.__getitem__)
        assert found[row][0].tokens == [*best, EOS]
        assert float(np.exp(found[row][0].log_probability)) == pytest.approx(allowed[best], rel=1e-4)


def test_scores_of_a_fused_search_are_the_weighted_sum():
    """The score of the answer is recomputed from teacher forcing of both models and the labelings of CTC."""
    model, batch = listener(), sources().take(slice(0, 1))
    torch.manual_seed(3)
    language = build_language_model("bahdanau", VOCABULARY, embedding=6, decoder={"width": 8}).eval()
    numbers = torch.tensor([0, 1, 2, 3, 10, 9, 8, 7, 6, 5, 4])
    fused = Fusion(model, ctc=0.4, language=language, weight=0.5, numbers=numbers).requires_grad_(False)
    (best, *_), = decode(fused, batch, SearchConfig(beam=5, length_penalty=0.0), lengths=[5])  # fmt: skip
    words = [token for token in best.tokens if token != EOS]
    target = Batch.from_lists([[4, 5, 6]], [words])
    own = model(target).log_softmax(-1)[0].gather(1, target.expected[0, :, None]).sum()
    other = Batch.from_lists(targets=[numbers[words].tolist()])
    beside = language(other).log_softmax(-1)[0].gather(1, other.expected[0, :, None]).sum()
    said = fused.encode(batch).heard
    share = slow_labelings(said.logs[0, : int(said.mask[0].sum())].numpy())[tuple(words)]
    expected = 0.6 * float(own) + 0.4 * np.log(share) + 0.5 * float(beside)
    assert best.log_probability == pytest.approx(expected, rel=1e-4)


def test_a_fused_search_is_batch_invariant_and_attends_as_the_model():
    model, batch = listener(), sources()
    fused, search = Fusion(model, ctc=0.5), SearchConfig(beam=3)
    together = decode(fused, batch, search, lengths=[6, 6], attention=True)
    for row in range(2):
        (alone,) = decode(fused, batch.take(slice(row, row + 1)).trimmed(), search, lengths=[6], attention=True)
        assert alone[0].tokens == together[row][0].tokens
        for site, weights in alone[0].attention.items():
            same(weights, together[row][0].attention[site])
