"""The archive of runs: it round-trips its files, new runs replace old ones, and foreign archives are refused."""

import io
import json
import lzma
import sys
import tarfile
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[3] / "results"
sys.path.insert(0, str(RESULTS))

import archive  # noqa: E402
import figures  # noqa: E402

from saccade.recipes import parse_yaml  # noqa: E402
from saccade.runs.recipe import parse_recipe  # noqa: E402


def put(out, run, *, final=True, tag="", score=1.0):
    """Write the files of a run into its folder."""
    (out / run).mkdir(parents=True, exist_ok=True)
    group, row, seed = run.split("/")
    report = {"group": group, "row": row, "seed": int(seed[5:]), "tag": tag, "final": final, "score": score}
    (out / run / "metrics.json").write_text(json.dumps(report))
    (out / run / "recipe.yaml").write_text("task: x\n")


def scores(out, group="ptb"):
    return {row: [report["score"] for report in several] for row, several in figures.every_report(group, out).items()}


def test_runs_move_from_their_folders_into_the_archive(tmp_path):
    put(tmp_path, "ptb/lstm/seed-1")
    put(tmp_path, "ptb/lstm/seed-2", score=2.0)
    before = archive.read(tmp_path)
    assert len(before) == 4
    assert archive.add(tmp_path) == ["ptb/lstm/seed-1", "ptb/lstm/seed-2"]
    assert [path.name for path in (tmp_path / "ptb").iterdir()] == []
    assert archive.read(tmp_path) == before
    assert scores(tmp_path) == {"lstm": [1.0, 2.0]}


def test_a_new_run_replaces_that_of_the_archive(tmp_path):
    put(tmp_path, "ptb/lstm/seed-1")
    (tmp_path / "ptb" / "lstm" / "seed-1" / "log.jsonl").write_text("{}\n")
    put(tmp_path, "ptb/gru/seed-1", score=7.0)
    archive.add(tmp_path)
    put(tmp_path, "ptb/lstm/seed-1", score=3.0)
    assert scores(tmp_path) == {"lstm": [3.0], "gru": [7.0]}
    archive.add(tmp_path)
    assert scores(tmp_path) == {"lstm": [3.0], "gru": [7.0]}
    assert "ptb/lstm/seed-1/log.jsonl" not in archive.read(tmp_path), "nothing is left of the old run"


def test_a_trial_does_not_hide_the_run_of_the_archive(tmp_path):
    put(tmp_path, "ptb/lstm/seed-1")
    archive.add(tmp_path)
    put(tmp_path, "ptb/lstm/seed-1", final=False, score=9.0)
    assert scores(tmp_path) == {"lstm": [1.0]}


@pytest.mark.parametrize("kind", [{"final": False}, {"tag": "sgd"}])
def test_trials_stay_out(tmp_path, kind):
    put(tmp_path, "ptb/lstm-trial/seed-1", **kind)
    assert archive.add(tmp_path) == []
    assert (tmp_path / "ptb" / "lstm-trial" / "seed-1" / "metrics.json").exists()


def test_equal_files_give_equal_archives_in_order_of_their_names(tmp_path):
    names = ["a/b/seed-2/metrics.json", "a/b/seed-1/metrics.json", "a/b/seed-1/log.jsonl"]
    for number, order in enumerate((names, names[::-1])):
        archive.pack({name: name.encode() for name in order}, tmp_path / f"{number}.tar.xz")
    assert (tmp_path / "0.tar.xz").read_bytes() == (tmp_path / "1.tar.xz").read_bytes()
    assert list(archive.packed(tmp_path / "0.tar.xz")) == [names[2], names[1], names[0]]


def test_the_archive_of_the_results_is_as_this_code_packs_it():
    with lzma.open(RESULTS / archive.ARCHIVE) as file, tarfile.open(fileobj=io.BytesIO(file.read())) as tar:
        members = tar.getmembers()
    names = [member.name for member in members]
    assert names == sorted(names, key=lambda name: (name.rpartition("/")[2], name))
    assert {(member.mtime, member.uid, member.uname) for member in members} == {(0, 0, "")}


@pytest.mark.parametrize("name", ["../metrics.json", "/a/b/seed-1/metrics.json", "a/b/seed-1/model.pickle"])
def test_other_files_are_refused(tmp_path, name):
    archive.pack({name: b"{}"}, tmp_path / "x.tar.xz")
    with pytest.raises(SystemExit, match="which is no file of a run"):
        archive.packed(tmp_path / "x.tar.xz")


def test_links_are_refused(tmp_path):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        link = tarfile.TarInfo("a/b/seed-1/metrics.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    (tmp_path / "x.tar.xz").write_bytes(lzma.compress(content.getvalue()))
    with pytest.raises(SystemExit, match="which is no file of a run"):
        archive.packed(tmp_path / "x.tar.xz")


def test_an_archive_that_grows_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "LARGEST", 1 << 16)
    archive.pack({"a/b/seed-1/metrics.json": bytes(1 << 17)}, tmp_path / "x.tar.xz")
    assert (tmp_path / "x.tar.xz").stat().st_size < 1000
    with pytest.raises(SystemExit, match="more than 65,536 bytes"):
        archive.packed(tmp_path / "x.tar.xz")


def test_a_file_is_shown_and_all_are_listed(tmp_path, monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["archive.py", *words, "--out", str(tmp_path)])
        archive.main()
        return capsys.readouterr().out

    put(tmp_path, "ptb/lstm/seed-1")
    assert run("add") == "added ptb/lstm/seed-1\n"
    assert run("add") == "there is no new final run\n"
    assert run("list", "ptb") == "ptb/lstm/seed-1/metrics.json\nptb/lstm/seed-1/recipe.yaml\n"
    assert run("list", "sst") == "\n"
    assert run("show", "ptb/lstm/seed-1/recipe.yaml") == "task: x\n"
    with pytest.raises(SystemExit, match="there is no file 'ptb/gru'"):
        run("show", "ptb/gru")


def test_recipes_of_all_measured_runs_are_read():
    files = archive.read(RESULTS)
    for name in (name for name in files if name.endswith("/recipe.yaml")):
        parse_recipe(parse_yaml(files[name].decode("utf-8"), name))
