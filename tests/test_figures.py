"""Figures in the documents are those of the results files, so that neither drifts from the other."""

import json
import re
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
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
    lines = (RESULTS / "cpu_2cores_202611.jsonl").read_text(encoding="utf-8").splitlines()
    return [found for found in map(json.loads, lines) if found["benchmark"] == benchmark]


def test_growth_powers_are_those_that_were_measured():
    powers = [row for row in table_rows(RESULTS / "growth.md") if len(row) == 4]
    time, memory = ({row[0]: row[column] for row in powers} for column in (1, 2))
    readme = text_of("README.md")
    said = f"power {time['no attention']} without attention and {time['additive']} with additive attention"
    assert said in readme
    assert f"is on its way there with {time['dot']}." in readme
    assert memory["additive"] == memory["dot"]
    assert f"grows with the power {memory['additive']} with it" in readme


def test_memory_of_a_large_corpus_is_what_was_measured():
    own = {row[0]: (row[4], row[5]) for row in table_rows(RESULTS / "corpus_memory.md") if row[1] == "train"}
    (small_peak, small), (large_peak, large) = own["100,000"], own["10,000,000"]
    readme = text_of("README.md")
    assert f"ten million pairs took {large} MB of its own memory, on a hundred thousand {small} MB" in readme
    assert f"{large_peak} MB resident against {small_peak}." in readme


def test_speeds_beside_ctranslate2_are_those_of_the_last_two_runs():
    runs = [line for line in lines_of("decoding") if line["commit"] == "b9cef4d"]

    def between(key: str, precision: str, beam: int, digits: int) -> str:
        found = sorted({f"{r[key]:.{digits}f}" for r in runs if (r["precision"], r["beam"]) == (precision, beam)})
        assert len(found) <= 2
        return " to ".join(found)

    readme, ratios = text_of("README.md"), [("float32", 1), ("float32", 5), ("int8", 1), ("int8", 5)]
    greedy, beam, small_greedy, small_beam = (between("ratio", *case, 2) for case in ratios)
    assert f"{greedy} and {beam} times in float32, {small_greedy} and {small_beam} times in int8" in readme
    greedy, beam = (between("saccade_text_to_text", "int8", width, 0) for width in (1, 5))
    assert f"answers {greedy} sentences a second greedily and {beam} with a beam of 5" in readme


def test_speeds_of_recurrent_models_are_those_of_the_raw_lines():
    rate = {line["case"]: round(line["sentences_per_s"]) for line in lines_of("recurrent_cpu")}
    full, small, eole = (
        f"{rate[f'{way}, beam 1']} and {rate[f'{way}, beam 5']}"
        for way in ("saccade, full", "saccade, int8", "eole, 2 x 1")
    )
    readme = text_of("README.md")
    assert f"answers {full} sentences a second in float32, {small} in int8" in readme
    assert f"back, {eole} at best" in readme


def test_the_range_beside_generate_is_that_of_all_runs():
    report = (RESULTS / "gpu_h200_202611.md").read_text(encoding="utf-8")
    every = report.split("All runs:")[1].split("On other machines")[0]
    ratios = [float(edge) for pair in re.findall(r"(\d+\.\d) to (\d+\.\d)", every) for edge in pair]
    assert f"{min(ratios)} to {max(ratios)} times as fast" in text_of("README.md")


def test_training_speeds_are_those_of_the_raw_lines():
    rates = [line["target_tokens_per_second"] for line in lines_of("training")]
    assert f"{min(rates)} to {max(rates)} target tokens a second" in text_of("README.md")
    row = next(row for row in table_rows(RESULTS / "multi30k.md") if row[0] == "target tokens/s")
    assert row[1:] == [str(rate) for rate in rates]


def test_serving_together_is_as_much_faster_as_was_measured():
    (ratio,) = re.findall(r"together is (\S+) times as fast", text_of("benchmarks/results/serve.md"))
    assert f"on two cores {ratio} times as many answers" in text_of("README.md")


def test_the_models_of_the_built_in_corpus_are_as_good_as_was_measured():
    rows = {row[0]: [cell.split()[0] if cell else "" for cell in row[1:]] for row in table_rows(RESULTS / "demo.md")}
    (seeds, *plain), guided, fixed = rows["attention"], rows["guided attention"], rows["one fixed vector"]
    readme = text_of("README.md")
    assert "BLEU {}, chrF {}, alignment error rate {};".format(*plain) in readme
    assert f"with guided alignment BLEU {guided[1]} and {guided[3]} ([{NUMBERS[seeds]}](benchmarks" in readme
    assert f"the same data and steps: BLEU {fixed[1]} |" in readme
    transformer = rows["transformer"]
    assert f"BLEU {transformer[1]}, alignment error rate {transformer[3]} (the mean" in readme


@pytest.mark.parametrize("path", ["ARCHITECTURE.md", "src/saccade/models/settings.py"])
def test_what_large_word_vectors_cost_is_what_was_measured(path):
    with_them, without = (
        mean(
            json.loads(found.read_text(encoding="utf-8"))["metrics"]["perplexity_per_word"]
            for found in (ROOT / "results" / "ptb" / row).glob("seed-*/metrics.json")
        )
        for row in ("lstm-large-vectors", "lstm")
    )
    assert re.search(rf"perplexity (was )?{with_them:.1f} with it .*{without:.1f} with", text_of(path))
