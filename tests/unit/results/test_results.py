"""The scripts behind the results: the runner, the measurement of heads, the aligner's links, and the table."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.recipes import sentences, untrained
from saccade.data.example import Example, Links
from saccade.metrics import align, alignment_statistics, error_rate, sums_interval
from saccade.prediction import NOTHING, AttentionMaps, Side
from saccade.recipes import shipped
from saccade.runs.recipe import load_recipe
from saccade.train.terms import GuidedAlignment

RESULTS = Path(__file__).parents[3] / "results"
sys.path.insert(0, str(RESULTS))

import aligner  # noqa: E402
import figures  # noqa: E402
import findings  # noqa: E402
import measure  # noqa: E402
import run as runner  # noqa: E402
import table  # noqa: E402
from plan import GROUPS  # noqa: E402

NO_ATTENTION = AttentionMaps(NOTHING, NOTHING, {}, ())
TINY = ["model.embedding=8", "model.width=8", "classifier.hidden=4", "train.steps=4", "train.validate_every=2"]


def command(folder, *words):
    sets = [part for change in TINY for part in ("--set", change)]
    places = ["--data", folder / "data", "--runs", folder / "runs", "--out", folder / "out", "--device", "cpu"]
    return [str(word) for word in (RESULTS / "run.py", "sst-fine", "--rows", "lstmn", *places, *sets, *words)]


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the script in this process, and return its exit code and what it printed."""

    def ended(folder, *words):
        monkeypatch.setattr("sys.argv", command(folder, *words))
        code = runner.main()
        return code, capsys.readouterr().out

    return ended


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Train two seeds of a tiny row in parallel."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "data" / "sst").mkdir(parents=True)
    for split in ("train", "dev"):
        lines = [f"{n % 5} {'good' if n % 5 > 2 else 'bad'} film number {n}\n" for n in range(40)]
        (folder / "data" / "sst" / f"stsa.fine.{split}").write_text("".join(lines))
    words = [sys.executable, *command(folder, "--seeds", "2", "--jobs", "2", "--final")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_seed_leaves_its_files(ran):
    for seed in (1, 2):
        place = ran / "out" / "sst-fine" / "lstmn" / f"seed-{seed}"
        files = {path.name for path in place.iterdir()}
        assert files == {"metrics.json", "log.jsonl", "recipe.yaml"}
        report = json.loads((place / "metrics.json").read_text())
        assert (report["row"], report["seed"], report["final"]) == ("lstmn", seed, True)
        assert report["split"] == "valid", "there is no test file"
        assert 0 <= report["metrics"]["accuracy"] <= 1
        assert [entry["step"] for entry in report["learning"]] == [2, 4]
        assert f"--first-seed {seed}" in report["command"]
        for file in files:
            assert str(ran) not in (place / file).read_text(), "no paths of this machine"
        assert load_recipe(str(place / "recipe.yaml")).train.seed == seed
    assert (ran / "out" / "sst-fine" / "learning.svg").exists()
    assert (ran / "out" / "sst-fine" / "lengths.svg").exists()


def test_what_is_done_is_not_done_again(ran, run):
    before = (ran / "out" / "sst-fine" / "lstmn" / "seed-1" / "metrics.json").stat().st_mtime_ns
    code, said = run(ran, "--final")
    assert code == 0
    assert "begins" not in said
    assert (ran / "out" / "sst-fine" / "lstmn" / "seed-1" / "metrics.json").stat().st_mtime_ns == before


def test_when_the_time_is_up_what_is_done_stays(ran, run):
    code, said = run(ran, "--first-seed", "3", "--set", "train.steps=1000000", "--minutes", "0.05", "--final")
    assert code == 1
    assert "the time is up: 1 not done" in said
    assert not (ran / "out" / "sst-fine" / "lstmn" / "seed-3").exists()
    assert (ran / "out" / "sst-fine" / "lstmn" / "seed-2" / "metrics.json").exists()


def test_the_table_has_means_and_spread_of_what_there_is(ran):
    reports = {name: figures.every_report(name, ran / "out") for name in GROUPS}
    lines = table.group_table("sst-fine", GROUPS["sst-fine"], reports["sst-fine"])
    row = next(line for line in lines if "[LSTMN](" in line)
    values = [report["metrics"]["accuracy"] for report in reports["sst-fine"]["lstmn"]]
    assert f"{sum(values) / 2:.3f} ({min(values):.3f} to {max(values):.3f})" in row
    assert any(line.startswith("| LSTM | not measured yet |") for line in lines)
    said = table.document(reports, ran / "out")
    assert "not measured yet" in said
    assert "](../results/sst-fine/lengths.svg)" in said


def report(metric, value, **more):
    return {"metric": metric, "metrics": {metric: value}, "learning": [], "split": "test", **more}


def of_ptb(split="test", **rows):
    """The verdicts on perplexities, given a list of seeds for each row."""
    reports = {name: {} for name in GROUPS}
    reports["ptb"] = {
        name.replace("_", "-"): [report("perplexity_per_word", value, split=split) for value in values]
        for name, values in rows.items()
    }
    return {row[0]: row[2:] for row in findings.finding_rows(reports)}


LOWER = "An LSTM with attention over its past states (LSTMN) has a lower perplexity"


def test_findings_and_goals_are_read_from_the_numbers():
    rows = of_ptb(lstm=[114.0, 116.0], lstmn=[109.5])
    assert rows[LOWER] == ("115.0 → 109.5", "yes")
    assert rows["The LSTMN has a perplexity of at most 108"] == ("109.5", "missed")
    assert rows["and is at least 5 below the LSTM"] == ("5.5 below", "reached")
    assert rows["and a still lower one with three layers"] == ("not measured yet", "–")


def test_what_was_not_measured_on_test_data_is_said_to_be_so():
    rows = of_ptb(split="valid", lstm=[115.0], lstmn=[107.0])
    assert rows["The LSTMN has a perplexity of at most 108"] == ("107.0 (validation data)", "reached")


@pytest.mark.parametrize(
    ("lstm", "lstmn", "verdict"),
    [
        ([114.0, 116.0], [113.5], "inconclusive"),
        ([114.0, 116.0], [116.5], "inconclusive"),
        ([114.0, 116.0], [117.5], "no"),
        ([115.0], [114.9], "yes (one seed)"),
    ],
)
def test_a_difference_counts_where_it_is_greater_than_that_of_seeds(lstm, lstmn, verdict):
    assert of_ptb(lstm=lstm, lstmn=lstmn)[LOWER][1] == verdict


def test_how_soon_is_read_from_the_log():
    learning = [{"seconds": 60.0, "bleu": 30.0}, {"seconds": 90.0, "bleu": 35.5}, {"seconds": 120.0, "bleu": 34.0}]
    measured = report("bleu", 36.0, learning=learning, device="old laptop")
    reports = {name: {} for name in GROUPS} | {"speed": {"luong-general": [measured]}}
    (found,) = (row[2:] for row in findings.finding_rows(reports) if row[0].startswith("35 BLEU"))
    assert found == ("35 BLEU on the validation data: luong-general after 1.5 minutes, on one old laptop", "reached")


def test_every_finding_can_be_read_once_all_is_measured():
    bins = [{"high": high, "score": 50.0 - high / 2} for high in (10, 20, 30, 40, 50, 60, 70)]
    reports = {
        name: {row.name: [report(group.metric, 0.5, by_length=bins, device="CPU")] for row in group.rows}
        for name, group in GROUPS.items()
    }
    reports["alignment"]["eflomal"] = [report("aer", 0.2)]
    assert all(row[2] != findings.UNMEASURED for row in findings.finding_rows(reports))


def test_the_documents_are_what_the_numbers_say():
    done = subprocess.run(
        [sys.executable, RESULTS / "table.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_pictures_that_were_drawn_are_shown(tmp_path):
    (tmp_path / "ptb").mkdir()
    (tmp_path / "ptb" / "attention-lstmn.svg").touch()
    lines = "\n".join(table.figures("ptb", GROUPS["ptb"], tmp_path))
    assert "LSTMN, attention of each word:\n\n![attention](../results/ptb/attention-lstmn.svg)" in lines
    assert lines.count("![") == 1


def test_the_attention_of_a_model_is_drawn_small_and_nothing_where_there_is_none(tmp_path, monkeypatch):
    words = Side(["a", "b"], ["a", "b"], [0, 1])
    found = {"heads": {"chosen": {"site": "cross", "head": 1}}}
    weights = {"cross": np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]]])}
    for maps, drawn in ((AttentionMaps(words, words, weights, ("cross",)), True), (NO_ATTENTION, False)):
        task = SimpleNamespace(
            name="translation", predict=lambda texts, search, maps=maps: [SimpleNamespace(attention=maps)]
        )
        model = SimpleNamespace(task=task, search=lambda: None)
        monkeypatch.setattr(measure, "load", lambda folder, device, model=model: model)
        path = tmp_path / f"{drawn}.svg"
        measure.draw(GROUPS["alignment"], tmp_path, path, found if drawn else {}, "cpu")
        assert path.exists() == drawn
    assert 500 < len((tmp_path / "True.svg").read_text()) < 10_000


def test_marks_must_stand_in_the_readme():
    assert (
        table.put_between(f"a\n{table.BEGIN}\nold\n{table.END}\nb", "new") == f"a\n{table.BEGIN}\nnew\n{table.END}\nb"
    )
    with pytest.raises(SystemExit, match="the README must hold"):
        table.put_between("nothing", "new")


def test_every_row_has_a_recipe_that_ships_and_settings_that_fit():
    for group in GROUPS.values():
        for row in group.rows:
            assert row.recipe in shipped()
            assert load_recipe(row.recipe, list(row.set)).task


def test_rows_of_a_group_have_the_same_data_and_tokens():
    for name, group in GROUPS.items():
        recipes = [load_recipe(row.recipe, list(row.set)) for row in group.rows]
        assert len({recipe.tokenizer.model_dump_json() for recipe in recipes}) == 1, name
        texts = {
            str(
                recipe.data
                if recipe.data.corpus
                else [recipe.data.train[:2], recipe.data.valid, recipe.data.placeholders]
            )
            for recipe in recipes
        }
        assert len(texts) == 1, "but for links in a third file"


def test_heads_are_chosen_by_the_aligners_links():
    model = {"preset": "transformer-base", "width": 8, "feed_forward": 8, "layers": 2, "tied": False}
    task = untrained("translation", {**model, "attention": {"heads": 2}})
    gold = [Example(source="ant bee", target="ANT BEE", links=Links(frozenset({(0, 0), (1, 1)})))] * 3
    silver = [Example(source="cat dog elk", target="CAT DOG", links=Links(frozenset({(0, 0), (1, 1)})))] * 2
    found = measure.heads(task, gold, silver)
    assert len(found["all"]) == (1 + 2 * (1 + 2)) * 2  # all, and of two layers each and its heads, under two shifts
    assert found["chosen"]["silver"] == min(row["silver"] for row in found["all"])
    assert found["lowest"]["aer"] == min(row["aer"] for row in found["all"])
    low, high = found["chosen"]["band"]
    assert low <= found["chosen"]["aer"] <= high
    alone = measure.heads(task, gold, [])["chosen"]
    assert (alone["site"], alone["head"], alone["shift"]) == (None, None, 0)


def test_a_guided_head_is_the_one_that_is_read():
    model = {"preset": "transformer-base", "width": 8, "feed_forward": 8, "layers": 2, "tied": False}
    task = untrained("translation", {**model, "attention": {"heads": 2}})
    task.terms = {"guided_alignment": GuidedAlignment(site="decoder.layers.1.cross", head=1)}
    gold = [Example(source="ant bee", target="ANT BEE", links=Links(frozenset({(0, 0), (1, 1)})))]
    chosen = measure.heads(task, gold, gold)["chosen"]
    assert (chosen["site"], chosen["head"]) == ("decoder.layers.1.cross", 1)


def test_the_band_of_an_error_rate_is_that_of_the_head_that_was_chosen():
    model = {"preset": "transformer-base", "width": 8, "feed_forward": 8, "layers": 2, "tied": False}
    task = untrained("translation", {**model, "attention": {"heads": 2}})
    texts = sentences(12, seed=4)
    every = [Links(frozenset((n, n) for n in range(len(text.split())))) for text in texts]
    gold = [Example(source=text, target=text.upper(), links=links) for text, links in zip(texts, every, strict=True)]
    chosen = measure.heads(task, gold, gold)["chosen"]
    looked = task.attend(gold)
    matrices = [seen.matrix(chosen["site"], chosen["head"])[:, : len(seen.source.words)] for seen in looked]
    links = [align(matrix, shift=chosen["shift"], words=len(matrix) - 1) for matrix in matrices]
    band = sums_interval(alignment_statistics(links, every), error_rate)
    assert (chosen["aer"], chosen["band"]) == (band.score, [band.lower, band.upper])


@pytest.mark.parametrize("name", GROUPS)
def test_a_page_has_a_section_for_each_row_that_says_which_part_was_measured(name):
    text = (RESULTS / name / "README.md").read_text(encoding="utf-8")
    sections = dict(section.split("\n", 1) for section in text.split("\n## ")[1:])
    reports = figures.every_report(name, RESULTS)
    assert set(sections) == set(reports), "the table links to them"
    for row in GROUPS[name].rows:
        measured = (
            "the test part; " + row.test_note if reports[row.name][0]["split"] == "test" else "the validation part"
        )
        assert f"Measured on {measured}" in sections[row.name]
        assert sections[row.name].count("\n| ") == 1 + len(reports[row.name])


def test_a_short_log_keeps_every_validation(tmp_path):
    lines = [json.dumps({"step": n, "valid": {}} if n % 50 == 0 else {"step": n}) for n in range(1, 1001)]
    (tmp_path / "log.jsonl").write_text("".join(f"{line}\n" for line in lines))
    kept = [json.loads(line) for line in measure.short_log(tmp_path / "log.jsonl").splitlines()]
    assert sum("valid" in entry for entry in kept) == 20
    assert measure.LOGGED / 2 <= sum("valid" not in entry for entry in kept) <= measure.LOGGED
    assert [entry["step"] for entry in kept] == sorted(entry["step"] for entry in kept)


def test_a_short_log_has_round_numbers(tmp_path):
    entry = {"step": 12345, "loss": 1.23456789, "valid": {"bleu": 34.5678, "loss": None}}
    (tmp_path / "log.jsonl").write_text(json.dumps(entry) + "\n")
    kept = json.loads(measure.short_log(tmp_path / "log.jsonl"))
    assert kept == {"step": 12345, "loss": 1.235, "valid": {"bleu": 34.57, "loss": None}}


def test_two_directions_are_joined():
    forward, backward = {(0, 0), (1, 1), (2, 3)}, {(0, 0), (1, 1), (2, 2)}
    assert aligner.grow_diag_final_and(forward, backward) == {(0, 0), (1, 1), (2, 2), (2, 3)}
    far = {(0, 0), (4, 9)}
    assert aligner.grow_diag_final_and(far, {(0, 0)}) == {(0, 0), (4, 9)}, "unaligned words are linked last"
    assert aligner.grow_diag_final_and({(0, 0), (4, 0)}, {(0, 0)}) == {(0, 0)}, "but not if one of them is aligned"


def test_the_aligner_reads_files_that_are_compressed(tmp_path, monkeypatch):
    for part in aligner.PARTS:
        for end, line in (("en", "the cat"), ("fr", "le chat"), ("align", "0-0 1-1")):
            (tmp_path / f"{part}.{end}.gz").write_bytes(gzip.compress(f"{line}\n".encode()))
    found = [{(0, 0), (1, 1)}] * 3
    monkeypatch.setattr(aligner, "run_aligner", lambda command, examples: (found, found))
    words = [tmp_path, "--links", tmp_path / "links", "--out", tmp_path / "out"]
    monkeypatch.setattr(sys, "argv", ["aligner.py", *map(str, words)])
    aligner.main()
    report = json.loads((tmp_path / "out" / "alignment" / "eflomal" / "seed-1" / "metrics.json").read_text())
    assert (report["sentences"], report["metrics"]["aer"]) == (1, 0)
    assert gzip.decompress((tmp_path / "links" / "train.align.gz").read_bytes()) == b"0-0 1-1\n"


def test_a_data_set_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"has no folder ptb\. See: saccade data ptb"):
        measure.prepared("ptb", tmp_path, tmp_path)
