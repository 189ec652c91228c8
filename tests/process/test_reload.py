"""Models are replaced while the server runs, without losing a request; a faulty list changes nothing."""

import json
import shutil
import signal
import sys
import threading

import pytest

from helpers.server import QUICK, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs signals")
SLOW = {"input": "ant bee", "options": {"beam": 16, "min_length": 400, "max_length": 410}}


def served(server):
    return [model["name"] for model in json.loads(server.ask("GET", "/v1/models")[1])["models"]]


def test_models_are_loaded_and_unloaded_without_a_restart(start, folder, tmp_path):
    models = tmp_path / "models.txt"
    shutil.copytree(folder, tmp_path / "second")
    models.write_text(f"# the first is the default\n{folder}\n\n")
    server = start(model=f"--models-file={models}")
    assert served(server) == [folder.name]

    answers = []
    asking = threading.Thread(target=lambda: answers.append(server.ask("POST", "/v1/predict", SLOW)))
    asking.start()
    wait_until(lambda: server.number("saccade_requests_running") == 2)  # the slow request and this one
    models.write_text("second\n")
    server.process.send(signal.SIGHUP)
    wait_until(lambda: served(server) == ["second"])
    asking.join()
    assert (answers[0][0], json.loads(answers[0][1])["model"]) == (200, folder.name)
    status, body = server.ask("POST", "/v1/predict", QUICK)
    assert (status, json.loads(body)["model"]) == (200, "second")
    assert server.number('saccade_model_requests_total{model="second",status="200"}') == 1
    assert server.ask("POST", "/v1/predict", {**QUICK, "model": folder.name})[0] == 404

    models.write_text(f"{folder}\nnot-there\n")
    server.process.send(signal.SIGHUP)
    wait_until(lambda: "not-there is not there" in server.process.text)
    assert "The server still serves second." in server.process.text
    assert served(server) == ["second"]
    assert server.ask("POST", "/v1/predict", QUICK)[0] == 200
    server.process.send(signal.SIGTERM)
    assert server.process.end() == 0
