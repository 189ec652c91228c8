# %% [markdown]
# A first look: a model that reverses sentences.
#
# A Bahdanau model learns to write sentences backwards, in about ten seconds on two CPU cores. Then the script prints
# the attention matrix of one unseen sentence.
from __future__ import annotations

import random
import time

import torch
import torch.nn.functional as F

from saccade.batch import SPECIALS, Batch
from saccade.models import build_seq2seq
from saccade.search import Hypothesis, SearchConfig, decode

TEXT = "an eye jumps from one thing worth looking at to the next and reads between its leaps"
WORDS = TEXT.split()
VOCABULARY = [*SPECIALS, *WORDS]


# %% Sentences without repeated words, and the same sentences reversed.
def sentences(chance: random.Random, count: int) -> Batch:
    sources = [chance.sample(range(len(SPECIALS), len(VOCABULARY)), chance.randint(3, 9)) for _ in range(count)]
    return Batch.from_lists(sources, [source[::-1] for source in sources])


# %% The paper's model, small enough for a laptop.
def train(steps: int = 500) -> torch.nn.Module:
    torch.manual_seed(1)
    model = build_seq2seq(
        "bahdanau",
        len(VOCABULARY),
        len(VOCABULARY),
        embedding=32,
        encoder={"width": 64},
        decoder={"width": 64, "output_width": 32},
        init={"kind": "default"},
    )
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    chance, began = random.Random(1), time.perf_counter()
    for step in range(1, steps + 1):
        batch = sentences(chance, 64)
        loss = F.cross_entropy(model(batch)[batch.expected_mask], batch.expected[batch.expected_mask])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step:3d}   loss {loss.item():.3f}   {time.perf_counter() - began:4.1f} s")
    return model


# %% The attention matrix: a row for each target word, a column for each source word.
def show(source: list[str], hypothesis: Hypothesis) -> None:
    weights = hypothesis.attention["attention"][0]  # of the only head: (T, S)
    margin = max(map(len, source)) + 2
    for depth in range(max(map(len, source))):  # print the source words vertically above their columns
        letters = "".join(f" {word.rjust(max(map(len, source)))[depth]} " for word in source)
        print(" " * margin + letters)
    for token, row in zip(hypothesis.tokens, weights, strict=True):
        cells = "".join(" ░▒▓█"[min(4, int(5 * weight))] * 3 for weight in row.tolist())
        print(VOCABULARY[token].rjust(margin - 1) + " " + cells)


# %%
def main() -> None:
    model = train()
    test = sentences(random.Random(2), 500)
    found = decode(model, test, SearchConfig(beam=3, max_length=12))
    wanted = [row[mask].tolist() for row, mask in zip(test.expected, test.expected_mask, strict=True)]
    right = sum(best[0].tokens == want for best, want in zip(found, wanted, strict=True))
    print(f"\n{right} of {len(wanted)} unseen sentences exactly backwards\n")
    source = ["an", "eye", "leaps", "from", "one", "thing", "to", "the", "next"]
    ((best,),) = decode(model, Batch.from_lists([[VOCABULARY.index(word) for word in source]]))
    show(source, best)


if __name__ == "__main__":
    main()
