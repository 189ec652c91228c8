"""saccade predict: a line out for every line in."""

import gzip
import json

import numpy as np
import pytest

from helpers.commands import refused, run
from helpers.recipes import MODEL, sentences, untrained, write_folder, write_lines
from saccade.models import MODELS


def lines(ran):
    assert ran.code == 0, ran
    assert ran.out.endswith("\n")
    return ran.out[:-1].split("\n")


def test_texts_as_arguments(capsys, translator):
    ran = run(capsys, "predict", translator, "ant bee", "", "dog", "  ", "elk")
    assert lines(ran) == ["ANT BEE", "", "DOG", "", "ELK"]
    assert ran.err == ""


@pytest.mark.parametrize("packed", [False, True])
def test_lines_of_a_file(capsys, translator, tmp_path, packed):
    texts = [*sentences(80, seed=4), "", "ant"]
    path = write_lines(tmp_path / "lines.txt", texts)
    if packed:
        path = tmp_path / "lines.txt.gz"
        path.write_bytes(gzip.compress((tmp_path / "lines.txt").read_bytes()))
    assert lines(run(capsys, "predict", translator, "--file", path)) == [text.upper() for text in texts]


def test_lines_before_one_that_cannot_be_read_are_answered(capsys, translator, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"ant\nbee\ncaf\xe9\ndog\n")
    ran = run(capsys, "predict", translator, "--file", tmp_path / "latin.txt")
    assert (ran.code, ran.out) == (1, "ANT\nBEE\n")
    assert "latin.txt, line 3 is not UTF-8" in ran.err


def test_jsonl_has_scores_and_attention_that_fits(capsys, translator):
    ran = run(capsys, "predict", translator, "ant bee cat", "", "dog", "--format", "jsonl")
    first, empty, third = (json.loads(line) for line in lines(ran))
    assert (first["source"], first["text"]) == ("ant bee cat", "ANT BEE CAT")
    assert first["tokens"] == ["ANT", "BEE", "CAT", "<eos>"]
    assert first["score"] <= 0
    assert first["attention"]["source"] == ["ant", "bee", "cat", "<eos>"]
    weights = np.array(first["attention"]["sites"]["attention"])
    assert weights.shape == (1, 4, 4)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-4)
    assert empty == {"source": "", "text": "", "score": 0.0, "tokens": []}
    assert np.array(third["attention"]["sites"]["attention"]).shape == (1, 2, 2)


def test_letters_stand_in_jsonl_as_they_are(capsys, translator):
    assert '"source": "été"' in run(capsys, "predict", translator, "été", "--format", "jsonl").out


def test_several_answers(capsys, translator):
    (line,) = lines(run(capsys, "predict", translator, "ant bee", "--nbest", 3))
    answers = line.split("\t")
    assert answers[0] == "ANT BEE"
    assert len(set(answers)) == 3
    (line,) = lines(run(capsys, "predict", translator, "ant bee", "--beam", 4, "--nbest", 2, "--format", "jsonl"))
    found = json.loads(line)
    assert len(found["others"]) == 1
    assert found["others"][0]["score"] <= found["score"]


def test_drawing_is_repeated_by_its_seed(capsys, translator):
    words = ("predict", translator, *sentences(8, seed=6), "--sample", "--temperature", 2.5)
    first, again, other = (lines(run(capsys, *words, "--seed", seed)) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    safe = lines(run(capsys, *words, "--top-k", 1))
    assert safe == lines(run(capsys, *words, "--top-p", 1e-6))
    assert safe == [text.upper() for text in sentences(8, seed=6)]


def test_answers_begin_as_asked(capsys, translator):
    for line in lines(run(capsys, "predict", translator, "ant bee", "cat", "--prefix", "DOG ELK", "--beam", 2)):
        assert line.startswith("DOG ELK")


def test_other_options_reach_the_search(capsys, translator):
    assert lines(run(capsys, "predict", translator, "ant bee cat", "--max-length", 2)) == ["ANT BEE"]
    assert lines(run(capsys, "predict", translator, "ant", "bee", "--batch-size", 1, "--length-penalty", 0)) == [
        "ANT",
        "BEE",
    ]


def test_an_option_by_its_old_name(capsys, translator):
    found = run(capsys, "predict", translator, "ant", "--batch", 1)
    assert lines(found) == lines(run(capsys, "predict", translator, "ant", "--batch-size", 1))
    assert "--batch is now --batch-size; the next release removes the old name." in found.err


def test_a_line_that_is_too_long_is_refused_and_the_others_answered(capsys, translator, tmp_path):
    path = write_lines(tmp_path / "lines.txt", ["ant", "bee " * 10_001, "cat"])
    ran = run(capsys, "predict", translator, "--file", path)
    assert (ran.code, ran.out) == (1, "ANT\n\nCAT\n")
    assert "input 2 has 10,002 tokens, but this model reads at most 10,000. Split it." in ran.err


def test_whatever_an_answer_holds_it_stays_on_its_line(capsys, translator, monkeypatch):
    from saccade.tasks.translation import Translation

    real = Translation.predict

    def odd(*words, **more):
        found = real(*words, **more)
        return [type(each)("a\nb\r\x1b[31m\u2028c\x85\td", 0.0, [], each.attention, each.source) for each in found]

    monkeypatch.setattr(Translation, "predict", odd)
    assert run(capsys, "predict", translator, "ant").out == "a b  [31m c  d\n"
    plain = run(capsys, "predict", translator, "ant", "--format", "jsonl").out
    assert plain.count("\n") == 1
    assert json.loads(plain)["text"] == "a\nb\r\x1b[31m\u2028c\x85\td", "as it is"


def test_every_task_answers(capsys, tmp_path):
    labels = write_folder(untrained("classification", MODEL), tmp_path / "labels")
    answers = lines(run(capsys, "predict", labels, "good cat", "", "--nbest", 3))
    assert sorted(answers[0].split("\t")) == ["bad", "good", "so-so"]
    assert answers[1] == ""
    assert "a label cannot be given a prefix" in refused(capsys, "predict", labels, "good", "--prefix", "b")
    going_on = write_folder(
        untrained("language-modeling", {"preset": "lstmn", **MODELS["lstmn"].tiny}), tmp_path / "going_on"
    )
    assert lines(run(capsys, "predict", going_on, "the cat", "--max-length", 3))[0].startswith("the cat")
