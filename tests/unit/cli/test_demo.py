"""saccade demo, in seconds: from nothing to numbers, pictures and a model."""

import json
import re

import pytest

from helpers.commands import run

SMALL = [
    "train.steps=5",
    "data.size=300",
    "data.held_out=20",
    "model.embedding=8",
    "model.encoder.width=8",
    "model.decoder.width=8",
    "model.decoder.output_width=8",
]


@pytest.fixture
def small(tmp_path):
    """The settings of a demo that takes seconds."""
    return [word for change in (*SMALL, f"data.cache={tmp_path / 'cache'}") for word in ("--set", change)]


def test_it_shows_numbers_pictures_and_what_comes_next(capsys, tmp_path, small):
    out = tmp_path / "demo"
    ran = run(capsys, "demo", *small, "--out", out)
    assert ran.code == 0, ran
    assert re.search(r"BLEU \d+\.\d   chrF \d+\.\d   alignment error rate \d\.\d{3}   on 20 unseen sentences", ran.out)
    assert " Read  the European Economic Area\nWrote  " in ran.out
    assert f"saccade predict {out}" in ran.out
    assert f"saccade demo --compare --out {out}\n" in ran.out
    assert f"\nFigures    {out / 'alignment.png'}  {out / 'report.html'}\nThe model  {out}\n" in ran.out
    assert re.search(r"^ *\S+ [ ░▒▓█]*[░▒▓█]$", ran.out, re.M), "the attention figure"
    assert "guided_alignment" not in (out / "recipe.yaml").read_text()
    names = {path.name for path in out.iterdir()}
    assert names >= {
        "recipe.yaml",
        "tokenizer.json",
        "model.safetensors",
        "report.json",
        "alignment.png",
        "report.html",
    }
    page = (out / "report.html").read_text()
    assert "English to French" in page
    assert page.count("<svg") == 6
    assert "<img" not in page.replace("data:image", ""), "no figure without the comparison"
    assert "aer" in json.loads((out / "report.json").read_text())["metrics"]
    assert run(capsys, "predict", out, "the red book").code == 0
    again = run(capsys, "demo", *small, "--out", out, "--json")
    assert again.code == 0, "the second run resumes at the end"
    assert json.loads(again.out)["files"] == [str(out / "alignment.png"), str(out / "report.html")]


def test_it_compares_and_guides(capsys, tmp_path, small):
    out = tmp_path / "demo"
    ran = run(capsys, "demo", *small, "--out", out, "--compare", "--guided", "--json")
    assert ran.code == 0, ran
    found = json.loads(ran.out)
    assert found["files"] == [str(out / name) for name in ("alignment.png", "lengths.png", "report.html")]
    assert found["metrics"].keys() == {"bleu", "chrf", "ter", "aer"}
    assert (out / "lengths.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo-fixed" / "model.safetensors").exists()
    assert "data:image/png" in (out / "report.html").read_text()
    assert "guided_alignment:\n    weight: 1.0" in (out / "recipe.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "folder", "changes"),
    [
        ((), "runs/demo", []),
        (("--guided",), "runs/demo-guided", ["objective.guided_alignment.weight=1.0"]),
        (("--guided", "--out", "x", "--set", "a=1"), "x", ["objective.guided_alignment.weight=1.0", "a=1"]),
        (("--out", "x"), "x", []),
    ],
)
def test_a_guided_demo_has_a_folder_of_its_own(capsys, monkeypatch, words, folder, changes):
    calls = []
    monkeypatch.setattr("saccade.cli.demo.run_demo", lambda out, **more: calls.append((str(out), more["changes"])))
    assert run(capsys, "demo", *words).code == 1, "as if it was interrupted"
    assert calls == [(folder, changes)]


def test_interrupted_it_says_how_to_go_on(capsys, tmp_path, small, monkeypatch):
    from saccade.train import loop

    real = loop._Run._update

    def interrupt(self, group):
        real(self, group)
        self.stopping = self.progress.step == 2

    monkeypatch.setattr(loop._Run, "_update", interrupt)
    ran = run(capsys, "demo", *small, "--out", tmp_path / "demo")
    assert (ran.code, ran.out) == (1, "")
    assert "Stopped; a checkpoint is written. Run the same command to resume." in ran.err
    assert "went wrong" not in ran.err
    assert run(capsys, "demo", *small, "--out", tmp_path / "demo").code == 0
