"""saccade chat: one line is one turn, and the commands of a dialogue."""

import io
import json
from dataclasses import replace

import pytest

from helpers.chat import TURNS, chat
from helpers.commands import program, refused, run
from helpers.recipes import write_folder
from saccade.api import Model
from saccade.cli.conversation import COMMANDS, Conversation, readable
from saccade.data.forms import DIALOGUES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(chat(), tmp_path_factory.mktemp("chat") / "model")


class Terminal:
    """A conversation, and what it printed."""

    def __init__(self, **options):
        self.out, self.err = [], []
        self.talk = Conversation(Model(chat()), self.out.append, self.err.append, **options)

    def __call__(self, *lines):
        self.out.clear()
        self.err.clear()
        return [self.talk.answer(line) for line in lines][-1]


def test_a_reply_reads_all_turns_before():
    said = Terminal()
    assert said(TURNS[0], TURNS[2])
    model, turns = Model(chat()), [TURNS[0]]
    turns.append(model({"turns": turns}).text)
    turns.append(TURNS[2])
    turns.append(model({"turns": turns}).text)
    assert said.talk.turns == turns
    assert said.out == [readable(turns[1]), readable(turns[3])]
    assert said.err == []


def test_blank_lines_say_nothing():
    said = Terminal()
    assert said("", "   ")
    assert said.talk.turns == said.out == said.err == []


def test_undo_takes_back_a_turn_and_its_reply():
    said = Terminal()
    said(TURNS[0])
    before = [*said.talk.turns]
    said(TURNS[2], "/undo")
    assert said.talk.turns == before
    assert said.err == ["2 turns are left."]
    said("/undo", "/undo")
    assert said.talk.turns == []
    assert said.err == ["0 turns are left.", "nothing was said yet."]


def test_retry_samples_another_reply_to_the_same_turn():
    said = Terminal(seed=3)
    said(TURNS[0])
    replies = set()
    for _ in range(8):
        said("/retry")
        assert said.talk.turns[0] == TURNS[0]
        assert len(said.talk.turns) == 2
        assert said.out == [readable(said.talk.turns[1])]
        replies.add(said.talk.turns[1])
    assert len(replies) > 3, "an untrained model says anything"
    again = Terminal(seed=3)
    again(TURNS[0], "/retry")
    assert again.talk.turns[1] in replies, "seeds follow each other from the given one"
    assert Terminal()("/retry")


def test_retry_samples_until_the_reply_differs(monkeypatch):
    said, drawn = Terminal(), iter(["b", "a", "a", "c", *["c"] * 20])
    said(TURNS[0])
    found = said.talk._last
    monkeypatch.setattr(said.talk, "_predict", lambda *_, **__: replace(found, text=next(drawn)))
    shown = []
    for _ in range(4):
        said("/retry")
        shown += said.out
    assert shown == ["b", "a", "c", "c"], "a model that is sure has no other reply"
    assert sum(1 for _ in drawn) == 24 - 1 - 1 - 2 - 8


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hello , i ' m ant . what ' s up ?", "hello, i'm ant. what's up?"),
        ("i don' t know ... we’ ll see . . .", "i don't know... we’ll see..."),
        ("at 5:30 , or .5 ' quoted ' !", "at 5:30, or .5 ' quoted '!"),
        ("", ""),
    ],
)
def test_marks_and_short_forms_are_shown_as_usual(text, shown):
    assert readable(text) == shown


def test_a_saved_dialogue_is_data(tmp_path):
    said = Terminal()
    said(TURNS[0], TURNS[2], f"/save {tmp_path}/one dialogue.jsonl")
    assert said.err == [f"Wrote 4 turns to {tmp_path}/one dialogue.jsonl"]
    *_, last = DIALOGUES.read([tmp_path / "one dialogue.jsonl"])
    assert [*last.turns, last.target] == said.talk.turns
    said("/save", f"/save {tmp_path}/no/folder.jsonl")
    assert "name a file" in said.err[0]
    assert "no/folder.jsonl" in said.err[1]
    assert len(said.talk.turns) == 4, "the dialogue goes on"


def test_reset_begins_anew():
    said = Terminal()
    said(TURNS[0], "/reset", "/look")
    assert said.talk.turns == []
    assert said.err == ["A new dialogue.", "there is no reply yet."]
    said(TURNS[2])
    assert said.talk.turns[0] == TURNS[2]


def test_look_shows_turns_and_words():
    said = Terminal(max_length=4, min_length=3)
    said(TURNS[0], TURNS[2])
    reply = said.talk.turns[-1]
    said("/look")
    turns, words = said.out[:3], said.out[3:]
    assert [line.split()[1] for line in turns] == ["3", "2", "1"]
    assert [line.split("back  ")[1] for line in turns] == said.talk.turns[:3]
    assert 0 < sum(int(line.partition("%")[0]) for line in turns) <= 101
    assert [line.split("back  ")[1].split(" <- ")[0] for line in words] == reply.split()
    said_before = " ".join(said.talk.turns[:3]).split()
    assert all(line.split(" <- ")[1] in said_before for line in words)


def test_look_names_the_turns_that_were_read():
    said = Terminal(max_length=4, min_length=3)
    said.talk._model = Model(chat(chat={"turns": 1}))
    said(TURNS[0], TURNS[2])
    said("/look")
    (turn,) = [line for line in said.out if "<-" not in line]
    assert turn.split("back  ")[1] == TURNS[2]


def test_control_characters_do_not_reach_the_terminal(monkeypatch):
    said = Terminal()
    answer = said.talk._model
    monkeypatch.setattr(
        said.talk, "_model", lambda given, **_: replace(answer(given), text="red \x1b[31m text\nand more")
    )
    said(TURNS[0])
    assert said.out == ["red  [31m text and more"]


def test_unknown_commands_are_named_and_help_lists_them_all():
    said = Terminal()
    assert said("/hepl")
    assert said.err == ["there is no command /hepl. /help lists them."]
    said("/help")
    assert [line.split()[0] for line in said.err] == [name.split()[0] for name in COMMANDS]
    assert not said("/quit")


def piped(monkeypatch, capsys, text, *words):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return run(capsys, "chat", *words)


def test_the_end_of_a_pipe_ends_it(monkeypatch, capsys, folder):
    ran = piped(monkeypatch, capsys, f"{TURNS[0]}\n{TURNS[2]}\n", folder)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) == 2
    assert piped(monkeypatch, capsys, f"{TURNS[0]}\n/quit\n{TURNS[2]}\n", folder).out == ran.out.splitlines()[0] + "\n"


def test_options_are_those_of_the_search(monkeypatch, capsys, folder):
    line = f"{TURNS[0]}\n"
    replies = [piped(monkeypatch, capsys, line, folder, "--sample", "--seed", seed).out for seed in (1, 1, 2, 3, 4)]
    assert replies[0] == replies[1]
    assert len(set(replies)) > 1
    assert len(piped(monkeypatch, capsys, line, folder, "--beam", 3, "--max-length", 1).out.split()) <= 1
    assert "temperature" in refused(capsys, "chat", folder, "--temperature", "-1")


def test_ctrl_d_and_ctrl_c_end_it_at_a_terminal(monkeypatch, capsys, folder):
    for ending in (EOFError, KeyboardInterrupt):
        answers = iter([TURNS[0], ending])

        def typed(prompt, answers=answers):
            found = next(answers)
            if isinstance(found, str):
                return found
            raise found

        monkeypatch.setattr("sys.stdin", Terminals())
        monkeypatch.setattr("builtins.input", typed)
        ran = run(capsys, "chat", folder)
        assert ran.code == 0
        assert len(ran.out.splitlines()) == 1
        assert "Ctrl-D" in ran.err


class Terminals(io.StringIO):
    """A standard input that is a terminal."""

    def isatty(self):
        return True


def test_other_models_do_not_chat(capsys, translator):
    assert "is a model of the task translation, but this command needs one of chat" in refused(
        capsys, "chat", translator
    )


def test_bytes_that_are_no_text_do_not_end_it(folder):
    with program("chat", folder) as ran:
        out, err = ran.communicate(b"ant \xff bee\nmy name\n", timeout=120)
    assert ran.returncode == 0, err
    assert len(out.splitlines()) == 2


def test_predict_reads_lines_of_json(capsys, folder, tmp_path):
    lines = [json.dumps({"turns": TURNS[:3]}), TURNS[0], '{"turns": []}']
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    ran = run(capsys, "predict", folder, "--file", tmp_path / "lines", "--format", "jsonl")
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 1
    assert "input 3 is {'turns': []}" in ran.err
    assert [each["source"] if each["tokens"] else "" for each in found] == [TURNS[2], TURNS[0], ""]
    assert found[0]["attention"]["turn_of"][-1] == 3
