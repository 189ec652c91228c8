"""The training runs behind the results: groups of rows to compare; each row is a recipe with changed settings."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Row:
    """One line of a table: a recipe, and the settings that differ."""

    name: str
    recipe: str
    label: str
    set: tuple[str, ...] = ()
    test_note: str = "no choice was based on it"
    """Note on the group's page: whether the test part was evaluated before the recipe was final."""


@dataclass(frozen=True)
class Group:
    """Rows on the same data, compared by `metric`. `data` is their folder below --data; None for a built-in corpus."""

    title: str
    data: str | None
    metric: str
    rows: tuple[Row, ...]
    bounds: tuple[int, ...] | None = None
    """Longest source of each bin of the length figure."""
    trained_to: int | None = None
    """Longest source in training, marked in the length figure."""
    picture: str | None = None
    """Sentence for the attention figure."""
    drawn: tuple[str, ...] = ()
    """Rows of the length figure; all if empty."""
    timed: bool = False
    """Whether the training runs had the machine to themselves, so that their times can be compared."""

    def row(self, name: str) -> Row:
        """Return a row by its name."""
        found = {row.name: row for row in self.rows}
        if name not in found:
            raise SystemExit(f"there is no row {name}. Known: {', '.join(found)}")
        return found[name]


_TWICE = (
    "it was used twice for this row, first without R-Drop, whose weight was chosen on English-French validation data"
)


def _languages(source: str, target: str) -> tuple[str, ...]:
    return (f"data.placeholders.source={source}", f"data.placeholders.target={target}")


def _multi30k(source: str, target: str, *, looked_twice: tuple[str, ...] = ()) -> tuple[Row, ...]:
    change = _languages(source, target)
    labels = {
        "none": "no attention (one fixed vector)",
        "bahdanau": "additive (Bahdanau)",
        "luong-dot": "dot, input feeding (Luong)",
        "luong-general": "general, input feeding (Luong)",
        "luong-concat": "concat, input feeding (Luong)",
        "luong-local-p": "local-p, input feeding (Luong)",
        "transformer": "Transformer",
    }
    rows = (Row(name, f"multi30k-{name}", label, change) for name, label in labels.items())
    return tuple(replace(row, test_note=_TWICE) if row.name in looked_twice else row for row in rows)


_LARGE = ("model.init.embedding=1.0",)
_ABLATION = "word vectors from N(0, 1)"


def _sst(labels: str) -> tuple[Row, ...]:
    change = (f"data.placeholders.labels={labels}",)
    names = {"lstm": "LSTM", "lstmn": "LSTMN", "lstmn-2": "LSTMN, two layers"}
    return tuple(Row(name, f"sst-{name}", label, change) for name, label in names.items())


_CAPTIONS = (6, 9, 12, 15, 18, 21)
_FEW = ("none", "bahdanau", "luong-general", "transformer")
_AREA = "the agreement on the European Economic Area was signed in August 1992 ."

GROUPS: dict[str, Group] = {
    "multi30k-en-de": Group(
        "Multi30k English-German",
        "multi30k",
        "bleu",
        (
            *_multi30k("en", "de", looked_twice=("transformer",)),
            Row("gnmt", "multi30k-gnmt", "GNMT, residual LSTMs", _languages("en", "de")),
            Row("transformer-plain", "multi30k-transformer", "Transformer, without agreement", ("train.r_drop=0",)),
            Row("transformer-additive", "multi30k-transformer-additive", "Transformer, additive score"),
            Row("general-large-vectors", "multi30k-luong-general", f"general, {_ABLATION}", _LARGE),
        ),
        _CAPTIONS,
        drawn=_FEW,
    ),
    "multi30k-en-fr": Group(
        "Multi30k English-French", "multi30k", "bleu", _multi30k("en", "fr"), _CAPTIONS, drawn=_FEW
    ),
    "multi30k-de-en": Group(
        "Multi30k German-English",
        "multi30k",
        "bleu",
        _multi30k("de", "en", looked_twice=("transformer",)),
        _CAPTIONS,
        drawn=_FEW,
    ),
    "cells": Group(
        "Built-in English-French, encoder-decoders without attention, two layers, bidirectional",
        None,
        "bleu",
        (
            Row("rnn", "english-french-rnn", "vanilla RNN"),
            Row("gru", "english-french-gru", "GRU"),
            Row("lstm", "english-french-lstm", "LSTM"),
        ),
        bounds=(6, 9, 12, 15, 18, 21),
    ),
    "lengths": Group(
        "Tatoeba English-French, trained on up to 30 words",
        "tatoeba",
        "bleu",
        (
            Row("none", "tatoeba-none", "no attention (RNNencdec)"),
            Row("bahdanau", "tatoeba-bahdanau", "additive (RNNsearch)"),
            Row("transformer", "tatoeba-transformer", "Transformer"),
        ),
        bounds=(10, 20, 30, 40, 50, 60, 70),
        trained_to=30,
    ),
    "ptb": Group(
        "Penn Treebank, a sentence at a time",
        "ptb",
        "perplexity_per_word",
        (
            Row("lstm", "ptb-lstm", "LSTM"),
            Row("lstmn", "ptb-lstmn", "LSTMN"),
            Row("lstm-3", "ptb-lstm-3", "LSTM, three layers"),
            Row("lstmn-3", "ptb-lstmn-3", "LSTMN, three layers"),
            Row("self-attentive", "ptb-self-attentive", "SimpleRNN + self-attention"),
            Row("transformer", "ptb-transformer", "Transformer"),
            Row("lstm-large-vectors", "ptb-lstm", f"LSTM, {_ABLATION}", _LARGE),
        ),
        bounds=(10, 15, 20, 25, 30, 40),
        picture="the fbi is chasing a criminal on the run",
        drawn=("lstm", "lstmn", "lstmn-3"),
    ),
    "sst-fine": Group(
        "Stanford Sentiment Treebank, five grades", "sst", "accuracy", _sst("fine"), (10, 15, 20, 25, 30)
    ),
    "sst-binary": Group(
        "Stanford Sentiment Treebank, two classes", "sst", "accuracy", _sst("binary"), (10, 15, 20, 25, 30)
    ),
    "alignment": Group(
        "Alignment error rate on the Hansards' gold links",
        "alignment",
        "aer",
        (
            Row("additive", "alignment-additive", "additive (Bahdanau)"),
            Row("general", "alignment-general", "general, input feeding (Luong)"),
            Row("local-p", "alignment-local-p", "local-p, input feeding (Luong)"),
            Row("transformer", "alignment-transformer", "Transformer"),
            Row("guided", "alignment-guided", "Transformer, one guided head"),
        ),
        bounds=(10, 15, 20, 25, 30),
        picture=_AREA,
    ),
    "speed": Group(
        "Multi30k English-German, validation BLEU against time",
        "multi30k",
        "bleu",
        tuple(
            Row(name, f"multi30k-{name}", label, ("train.validate_every=250", "search.beam=1"))
            for name, label in (
                ("luong-general", "general, input feeding (Luong)"),
                ("transformer", "Transformer"),
            )
        ),
        _CAPTIONS,
        timed=True,
    ),
}
LOWER_IS_BETTER = frozenset({"perplexity_per_word", "aer", "loss"})
