"""The pointer-generator, number by number: See et al. 2017, equations 8 and 9."""

import math
from dataclasses import replace

import torch

from helpers.models import MIXED, VOCABULARY, loud
from saccade.attention import Tape
from saccade.batch import PAD, UNK
from saccade.models import configure
from saccade.models.pointer import OutputConfig, build_pointer


@torch.no_grad()
def test_a_pointer_generator_by_hand():
    family = configure("bahdanau", embedding=6, encoder={"width": 8}, decoder={"width": 8, "output_width": 5})
    model = loud(build_pointer(family, VOCABULARY, OutputConfig(kind="pointer")).double())
    batch = MIXED.batch()
    copies = batch.source.masked_fill(batch.source == 9, VOCABULARY + 1).masked_fill(~batch.source_mask, PAD)
    batch = replace(batch, source=batch.source.masked_fill(batch.source == 9, UNK), copies=copies)
    tape = Tape()
    found = model(batch, tape=tape)
    inner = model.inner
    vectors = inner.hidden_states(replace(batch, target=batch.target.clamp_max(VOCABULARY - 1)))
    for row in range(batch.size):
        for t in range(int(batch.expected_mask[row].sum())):
            z = [float(inner.output.weight[w] @ vectors[row, t] + inner.output.bias[w]) for w in range(VOCABULARY + 1)]
            p_gen = 1 / (1 + math.exp(-z[VOCABULARY]))
            total = sum(math.exp(one) for one in z[:VOCABULARY])
            wanted = {word: p_gen * math.exp(z[word]) / total for word in range(VOCABULARY)}
            for s in range(int(batch.source_mask[row].sum())):
                word = int(copies[row, s])
                wanted[word] = wanted.get(word, 0.0) + (1 - p_gen) * float(tape["attention"][row, 0, t, s])
            for word, share in wanted.items():
                assert math.isclose(float(found[row, t, word].exp()), share, rel_tol=1e-6)
            assert math.isclose(sum(wanted.values()), 1.0, rel_tol=1e-6)
