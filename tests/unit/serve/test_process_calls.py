"""Calls to the models' process and its work, with a thread in its place and in the test's own process."""

import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.asgi import PATIENCE
from saccade.errors import DataError, Interruption
from saccade.serve import process
from saccade.serve.models import Died
from saccade.serve.process import ModelProcess


class Exited(BaseException):
    """Raised in place of the exit of the process."""


def nothing():
    pass


class Thread:
    """In place of a process: `work` in a thread that has its own ends of the pipes, as a process has."""

    def __init__(self, work, kinds, *, target, args, name, daemon):
        calls, life, *rest = args
        self.asked = SimpleNamespace(kinds=kinds, target=target, rest=rest, name=name, daemon=daemon)
        self.calls, self.life = (Connection(os.dup(each.fileno())) for each in (calls, life))
        self.thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self.exitcode, self.killed, self.joined, self.stubborn = None, False, [], False

    def _run(self, work):
        self.exitcode = work(self.calls, self.life) or 0
        self.calls.close()
        self.life.close()

    def start(self):
        self.thread.start()

    def is_alive(self):
        return self.stubborn or self.thread.is_alive()

    def join(self, seconds=None):
        self.joined.append(seconds)
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()

    def kill(self):
        self.killed, self.stubborn = True, False


@pytest.fixture
def start(monkeypatch):
    """Starts models whose process runs the next of some functions at each start."""
    kinds, made = [], []

    def begin(*works, **more):
        left = iter(works)

        def new(**given):
            made.append(Thread(next(left), list(kinds), **given))
            return made[-1]

        def context(kind):
            kinds.append(kind)
            return SimpleNamespace(Pipe=Pipe, Process=new)

        monkeypatch.setattr(multiprocessing, "get_context", context)
        models = ModelProcess([Path("a")], **{"device": "cpu", "trust_code": False, "close": nothing} | more)
        return models, made

    return begin


def echo(calls, life):
    """Answer every call with the call itself."""
    calls.send(("answer", None))
    while True:
        try:
            calls.send(("answer", calls.recv()))
        except EOFError:
            return


def once(calls, life):
    """Answer a single call, and end with 3 during the second."""
    calls.send(("answer", None))
    calls.send(("answer", calls.recv()))
    calls.recv()
    return 3


def test_a_call_is_answered_and_the_process_ends_when_it_is_closed(start):
    models, (thread,) = start(echo)
    models.ready()
    assert models.call(4, "predict", ("a", 1), nothing) == (1, 4, "predict", ("a", 1))
    assert models.call(5, "trace", (), nothing) == (2, 5, "trace", ())
    models.close()
    assert (thread.exitcode, thread.killed) == (0, False)
    (patience,) = thread.joined
    assert patience > 0


def test_a_process_that_does_not_end_by_itself_is_ended(start):
    models, (thread,) = start(echo)
    models.ready()
    thread.stubborn = True
    models.close()
    patience, forever = thread.joined
    assert (thread.killed, patience > 0, forever) == (True, True, None)


@pytest.mark.parametrize(
    ("platform", "threads", "kind"), [("linux", 1, "fork"), ("linux", 2, "spawn"), ("x", 1, "spawn")]
)
def test_a_process_is_forked_only_where_that_is_safe(start, monkeypatch, platform, threads, kind):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(process.threading, "active_count", lambda: threads)
    closing = partial(print)
    models, (thread,) = start(echo, device="cuda", trust_code=True, close=closing, threads=3)
    asked = thread.asked
    inherited, close, folders, device, trust_code, cpu_threads = asked.rest
    assert (asked.kinds, asked.target, asked.daemon) == ([kind], process._work, True)
    assert (folders, device, trust_code, cpu_threads) == ([Path("a").resolve()], "cuda", True, 3)
    if kind == "fork":  # the child inherits this process's open pipes, and must close them
        assert inherited == (models._calls, models._life)
        assert close is closing
    else:
        assert inherited == ()
        assert close() is None
        assert close is not closing
    models.ready()
    models.close()


def test_a_process_that_ended_fails_one_call_and_is_started_again_by_the_next(start, caplog):
    models, made = start(once, echo)
    models.ready()
    assert models.call(0, "predict", (), nothing)[0] == 1
    with pytest.raises(Died, match="the models' process exited with code 3"):
        models.call(0, "predict", (), nothing)
    made[0].thread.join(PATIENCE)
    with caplog.at_level(logging.ERROR, "saccade"):
        assert models.call(0, "predict", (), nothing)[0] == 3
    assert [record.getMessage() for record in caplog.records] == [
        "the models' process exited with code 3; restarting it"
    ]
    assert len(made) == 2
    models.close()


def test_what_the_process_refuses_and_what_fails_there_are_told_apart(start):
    def work(calls, life):
        calls.send(("refused", DataError("the folder is empty")))
        calls.recv()
        calls.send(("failed", "ValueError: seven"))

    models, _ = start(work)
    with pytest.raises(DataError, match="the folder is empty"):
        models.ready()
    with pytest.raises(RuntimeError, match="ValueError: seven"):
        models.call(0, "predict", (), nothing)
    models.close()


def gone():
    raise Interruption("the client left")


def test_a_call_that_is_not_wanted_is_not_made(start):
    models, _ = start(echo)
    models.ready()
    with pytest.raises(Interruption, match="the client left"):
        models.call(0, "predict", (), gone)
    assert models.call(0, "predict", (), nothing)[0] == 1
    models.close()


def test_a_call_that_is_no_longer_wanted_is_given_up_there_and_its_answer_is_dropped(start):
    begun, told = threading.Event(), []

    def work(calls, life):
        calls.send(("answer", None))
        calls.recv()
        begun.set()
        told.append(life.recv())
        calls.send(("answer", "too late"))
        calls.send(("answer", calls.recv()))

    def check():
        if begun.is_set():
            looked.append(1)
            gone()

    looked = []
    models, _ = start(work)
    models.ready()
    with pytest.raises(Interruption, match="the client left"):
        models.call(0, "predict", (), check)
    assert (told, looked) == ([1], [1])  # canceled once, and `check` is not called again
    assert models.call(0, "trace", (), nothing) == (2, 0, "trace", ())
    models.close()


def test_two_threads_may_call_and_each_gets_its_own_answer(start):
    both = threading.Event()

    def work(calls, life):
        calls.send(("answer", None))
        first, second = calls.recv(), calls.recv()  # before either is answered
        both.set()
        calls.send(("answer", first))
        calls.send(("answer", second))
        calls.send(("answer", calls.recv()))

    models, _ = start(work)
    models.ready()
    found = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: models.call(n, "predict", (), nothing)}), daemon=True)
        for n in (7, 8)
    ]
    for each in threads:
        each.start()
    assert both.wait(PATIENCE)
    for each in threads:
        each.join(PATIENCE)
    assert {n: answer[1] for n, answer in found.items()} == {7: 7, 8: 8}
    assert models._waiting == []
    assert models.call(9, "predict", (), nothing)[1] == 9
    models.close()


# The function that the process runs


@pytest.fixture
def working(monkeypatch):
    """Runs the process's function in a thread; returns the server's ends of its pipes, and its first actions."""
    done, ignored = [], []
    monkeypatch.setattr(signal, "signal", lambda number, action: ignored.append((number, action)))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("frozen"))
    monkeypatch.setattr(process, "_leave_a_core", lambda: done.append("a core"))
    left = threading.Event()
    ended = []

    def leave(code):
        ended.append(code)
        left.set()
        raise Exited

    watch = process._watch

    def watched(*given):
        with suppress(Exited):
            watch(*given)

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(process, "_watch", watched)

    def begin(load):
        def loaded(folders, **more):
            done.append((folders, more))
            return load()

        monkeypatch.setattr(process, "load_models", loaded)
        calls, theirs = Pipe()
        watched, life = Pipe(duplex=False)
        spare, _ = Pipe()
        work = (theirs, watched, (spare,), lambda: done.append("closed"), [Path("a")], "cpu", True)
        thread = threading.Thread(target=process._work, args=work, daemon=True)
        thread.start()
        return SimpleNamespace(
            calls=calls, life=life, thread=thread, done=done, ignored=ignored, spare=spare, left=left, ended=ended
        )

    return begin


def told(calls):
    assert calls.poll(PATIENCE)
    return calls.recv()


def finish(made):
    """The server exits: the work ends, and so does the process."""
    made.calls.close()
    made.thread.join(PATIENCE)
    assert not made.thread.is_alive()
    made.life.close()
    assert made.left.wait(PATIENCE)
    assert made.ended == [0]


class Model:
    """Has some methods to call; `predict` goes on until it is stopped."""

    def __init__(self, name):
        self.name, self.begun = name, threading.Event()

    def trace(self, *given):
        *given, check = given
        check()
        return self.name, given

    def predict(self, check):
        self.begun.set()
        for _ in range(10_000):
            check()
            threading.Event().wait(0.001)
        return "never stopped"

    def refuse(self, check):
        raise DataError("no such word")

    def fail(self, check):
        raise ValueError("seven")


def test_the_process_answers_calls_until_the_server_goes(working):
    made = working(lambda: [Model("first"), Model("second")])
    assert told(made.calls) == ("answer", None)
    assert made.done == ["closed", "a core", ([Path("a")], {"device": "cpu", "trust_code": True}), "frozen"]
    assert made.ignored == [(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)]
    assert made.spare.closed
    for number, call, answer in (
        (1, (1, "trace", ("a", "b")), ("answer", ("second", ["a", "b"]))),
        (2, (0, "fail", ()), ("failed", "ValueError: seven")),
        (3, (0, "trace", ()), ("answer", ("first", []))),
    ):
        made.calls.send((number, *call))
        assert told(made.calls) == answer
    made.calls.send((4, 0, "refuse", ()))
    kind, error = told(made.calls)
    assert (kind, type(error), str(error)) == ("refused", DataError, "no such word")
    finish(made)


def test_the_process_gives_up_the_call_that_is_not_wanted_and_no_other(working):
    model = Model("a")
    made = working(lambda: [model])
    told(made.calls)
    made.calls.send((1, 0, "predict", ()))
    assert model.begun.wait(PATIENCE)
    made.life.send(1)
    assert told(made.calls) == ("answer", None)
    made.calls.send((2, 0, "trace", ("x",)))
    assert told(made.calls) == ("answer", ("a", ["x"]))
    finish(made)


def test_a_call_that_was_given_up_before_it_began_is_not_worked_on():
    wanted = process._Wanted()
    wanted.check()
    wanted.stopped.add(2)
    wanted.now = 1
    wanted.check()
    wanted.now = 2
    with pytest.raises(Interruption, match="the call was canceled"):
        wanted.check()


@pytest.mark.parametrize(
    ("error", "answer"), [(DataError("the folder is empty"), "refused"), (ValueError("seven"), "failed")]
)
def test_models_that_cannot_be_loaded_are_told_and_nothing_is_answered(working, error, answer):
    def load():
        raise error

    made = working(load)
    kind, found = told(made.calls)
    assert kind == answer
    assert str(found) == ("the folder is empty" if answer == "refused" else "ValueError: seven")
    made.thread.join(PATIENCE)
    assert not made.thread.is_alive()
    assert "frozen" not in made.done
    made.life.close()
    assert made.left.wait(PATIENCE)
