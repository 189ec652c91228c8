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
    assert f"instead of 100,000 take [{more} MB more]" in text_of("README.md")


def test_speeds_beside_ctranslate2_are_those_of_the_last_two_runs():
    runs = [line for line in lines_of("decoding") if line["commit"] == "b9cef4d" and line["precision"] == "int8"]

    def between(beam: int) -> str:
        found = sorted({f"{run['ratio']:.2f}" for run in runs if run["beam"] == beam})
        assert len(found) <= 2
        return " to ".join(found)

    assert f"int8, against CTranslate2 | {between(1)} / {between(5)} | 1 |" in text_of("README.md")


def test_the_range_beside_generate_is_that_of_all_runs():
    report = (RESULTS / "gpu_h200_202611.md").read_text(encoding="utf-8")
    every = report.split("All runs:")[1].split("On other machines")[0]
    ratios = [float(edge) for pair in re.findall(r"(\d+\.\d) to (\d+\.\d)", every) for edge in pair]
    assert f"{min(ratios)} to {max(ratios)} times as fast" in text_of("README.md")


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
    said = "{attention} with attention, {one fixed vector} without, {transformer} with a small Transformer"
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
