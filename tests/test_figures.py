"""Figures in the documents are those of the results files, so that neither drifts from the other."""

import json
import lzma
import re
import sys
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT / "results"))

import archive  # noqa: E402

DECODING = {
    "base Transformer": ("greedy", "beam 5"),
    "bi-LSTM": ("additive attention, greedy", "additive attention, beam 5"),
}
NUMBERS = {"1": "one seed", "2": "two seeds", "3": "three seeds"}


def text_of(path: str) -> str:
    """A file on one line, so that a sentence can be found wherever it is broken."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def table_rows(path: Path) -> list[list[str]]:
    """The cells of every row of the tables in a results file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines if line.startswith("|")]


def lines_of(benchmark: str) -> list[dict]:
    """Raw lines of one benchmark of the two-core machine."""
    with lzma.open(RESULTS / "cpu_2cores_202611.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [found for found in map(json.loads, lines) if found["benchmark"] == benchmark]


def test_growth_powers_are_those_that_were_measured():
    time = {row[0]: row[1] for row in table_rows(RESULTS / "growth.md") if len(row) == 4}
    said = f"length^{time['no attention']} without attention, length^{time['additive']} with it"
    assert said in text_of("README.md")


def test_memory_of_a_large_corpus_is_what_was_measured():
    own = {row[0]: int(row[5]) for row in table_rows(RESULTS / "corpus_memory.md") if row[1] == "train"}
    more = own["10,000,000"] - own["100,000"]
    assert f"From 100,000 to ten million pairs, memory grows by [{more} MB]" in text_of("README.md")


def test_speeds_beside_ctranslate2_are_those_of_the_last_two_runs():
    runs = [line for line in lines_of("decoding") if line["commit"] == "b9cef4d" and line["precision"] == "int8"]

    def between(beam: int) -> str:
        found = sorted({f"{run['ratio']:.2f}" for run in runs if run["beam"] == beam})
        assert len(found) <= 2
        return " to ".join(found)

    assert f"int8, × CTranslate2's speed | {between(1)} / {between(5)} | 1 |" in text_of("README.md")


def test_the_range_beside_generate_is_that_of_all_runs():
    report = (RESULTS / "gpu_h200_202611.md").read_text(encoding="utf-8")
    every = report.split("All runs:")[1].split("On other machines")[0]
    ratios = [float(edge) for pair in re.findall(r"(\d+\.\d) to (\d+\.\d)", every) for edge in pair]
    assert f"{min(ratios)} to {max(ratios)} times as fast" in text_of("README.md")


def gpu_row(*start: str) -> list[str]:
    """The cells after the first one of a row of the GPU report, without emphasis."""
    rows = [[cell.replace("*", "") for cell in row] for row in table_rows(RESULTS / "gpu_h200_202611.md")]
    return next(row[1:] for row in rows if row[0].startswith(start))


def test_speeds_of_training_on_a_gpu_are_those_of_the_report():
    ours, torch = (int(gpu_row(name)[1].replace(" ", "")) / 1e6 for name in ("our kernels, CUDA", "nn.Transformer"))
    said = f"target tokens/s | {ours:.2f} M | {torch:.2f} M (`nn.Transformer`, `torch.compile`)"
    assert said in text_of("README.md")


@pytest.mark.parametrize(("name", "said"), [("base Transformer", "8400 / 5800"), ("bi-LSTM", "22 700 / 12 700")])
def test_speeds_of_decoding_on_a_gpu_are_means_of_the_report(name, said):
    rows = [gpu_row(f"{name}, {rest}") for rest in DECODING[name]]
    means = [round(mean(int(rate) for rate in row[0].split(", ")), -2) for row in rows]
    assert " / ".join(f"{value:,.0f}".replace(",", " " if value > 9999 else "") for value in means) == said
    assert f"| {said} |" in text_of("README.md")


def test_speeds_of_generate_are_those_of_all_runs():
    pairs = [
        row[1].split("; ") for row in table_rows(RESULTS / "gpu_h200_202611.md") if len(row) == 3 and ";" in row[1]
    ]
    greedy, beam = (sorted(int(rate) for rate in column) for column in zip(*pairs, strict=True))
    said = " / ".join(f"{round(rates[0], -1)}-{round(rates[-1], -1)}" for rates in (greedy, beam))
    assert f"{said} (transformers `generate`, eager)" in text_of("README.md")


def test_the_range_beside_compiled_generate_is_that_of_the_report():
    (found,) = re.findall(r"ours is (\d\.\d to \d\.\d) times as fast", text_of("benchmarks/results/gpu_h200_202611.md"))
    assert f"{found} times as fast as compiled `generate`" in text_of("README.md")


def test_bleu_without_r_drop_is_what_was_measured():
    found = [
        json.loads(text)["metrics"]["bleu"]
        for name, text in archive.read(ROOT / "results").items()
        if re.fullmatch(r"multi30k-en-de/transformer-plain/seed-\d/metrics.json", name)
    ]
    assert len(found) == 3
    assert f"On Multi30k only the Transformer uses R-Drop ({mean(found):.1f} BLEU without)" in text_of("README.md")


def test_captioning_in_short_is_what_its_page_says():
    rows = {row[0].replace("*", ""): row for row in table_rows(ROOT / "docs" / "captioning.md")}
    exact, pointing = rows["`saccade train scenes`, soft attention"][-2:]
    said = f"on synthetic scenes {exact} of captions are exact, and attention finds the object of {pointing} of nouns"
    assert said in text_of("README.md")
    bleu = rows["soft attention, from scratch"][4].replace("*", "")
    assert f"validation BLEU-4 is {bleu} (" in text_of("README.md")


def test_training_speeds_are_those_of_the_raw_lines():
    rates = [line["target_tokens_per_second"] for line in lines_of("training")]
    row = next(row for row in table_rows(RESULTS / "multi30k.md") if row[0] == "target tokens/s")
    assert row[1:] == [str(rate) for rate in rates]


def test_served_answers_are_those_that_were_measured():
    rates = [row[2] for row in table_rows(RESULTS / "serve.md") if len(row) == 8 and row[2].isdigit()]
    together, one_at_a_time = rates[:2]
    assert f"answers/s | {together} | {one_at_a_time} (no batching) |" in text_of("README.md")


def test_the_models_of_the_built_in_corpus_are_as_good_as_was_measured():
    rows = {row[0]: [cell.split()[0] if cell else "" for cell in row[1:]] for row in table_rows(RESULTS / "demo.md")}
    bleu = {name: row[1] for name, row in rows.items() if name in ("attention", "one fixed vector", "transformer")}
    said = "RNN {one fixed vector}, with attention {attention}, small Transformer {transformer}"
    assert NUMBERS[rows["attention"][0]] in text_of("README.md")
    assert said.format(**bleu) in text_of("README.md")


@pytest.mark.parametrize("path", ["docs/explanation/deviations.md", "src/saccade/models/model_config.py"])
def test_what_large_word_vectors_cost_is_what_was_measured(path):
    with_them, without = (
        mean(
            json.loads(text)["metrics"]["perplexity_per_word"]
            for name, text in archive.read(ROOT / "results").items()
            if re.fullmatch(rf"ptb/{row}/seed-\d/metrics.json", name)
        )
        for row in ("lstm-large-vectors", "lstm")
    )
    assert re.search(rf"perplexity (was )?{with_them:.1f}\b.{{,40}}\b{without:.1f}\b", text_of(path))
