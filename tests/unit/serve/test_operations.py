"""What an operator needs: a request log, probes, an ASGI factory, and examples of deployment that can be read."""

import configparser
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from helpers.asgi import JSON, application, ask, post, run
from saccade.cli.main import app as app_of_commands
from saccade.serve import app as factory

DEPLOY = Path(__file__).parents[3] / "deploy"


@pytest.mark.parametrize("log", ["json", "text", "off"])
def test_requests_are_logged_by_switch(log, capsys):
    run(ask(application(log=log), "GET", "/v1/none\r\nforged"))
    err = capsys.readouterr().err
    if log == "off":
        assert err == ""
    elif log == "json":
        entry = json.loads(err)
        assert (entry["method"], entry["path"], entry["status"]) == ("GET", "/v1/none\r\nforged", 404)
        assert entry["ms"] >= 0
    else:
        assert re.fullmatch(r'\S+ \S+ GET "/v1/none\\r\\nforged" 404 [\d.]+ ms\n', err), "no path can forge a line"


def test_a_draining_server_lives_but_is_not_ready():
    app = application()
    assert [run(ask(app, "GET", path)).status for path in ("/livez", "/readyz")] == [200, 200]
    app.gate.drain()
    assert [run(ask(app, "GET", path)).status for path in ("/livez", "/readyz")] == [200, 503]


def test_a_misplaced_option_is_named():
    got = run(post(application(), {"input": "a", "beam": 5}))
    assert got.status == 400
    assert "'beam' belongs in options, as options.beam" in got.error


def test_the_factory_serves_the_models_of_the_environment(monkeypatch, translator):
    monkeypatch.setenv("SACCADE_MODELS", f"{translator}:demo")
    monkeypatch.setenv("SACCADE_TOKEN", "secret")
    app = factory()
    assert [*app.models] == ["translator", "demo"]
    assert run(ask(app, "GET", "/v1/models")).status == 401
    headers = {**JSON, "authorization": "Bearer secret"}
    got = run(ask(app, "POST", "/v1/predict", body=json.dumps({"input": "ant bee"}).encode(), headers=headers))
    assert json.loads(got.body)["predictions"][0]["text"] == "ANT BEE"


def test_the_examples_of_deployment_are_whole():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read(DEPLOY / "saccade.service")
    given = unit["Service"]["ExecStart"].split()[1:]
    command = typer.main.get_command(app_of_commands)
    command.commands["serve"].make_context("serve", given[1:])  # raises for an option that is not there
    parts = {part["kind"]: part for part in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}
    (container,) = parts["Deployment"]["spec"]["template"]["spec"]["containers"]
    command.commands["serve"].make_context("serve", container["args"][1:])
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert parts["Service"]["spec"]["selector"] == parts["Deployment"]["spec"]["selector"]["matchLabels"]
    lines = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    verbs = [line.split()[0] for line in lines if line and not line.startswith("#")]
    assert set(verbs) <= {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "EXPOSE", "USER", "ENTRYPOINT", "HEALTHCHECK", "CMD"}
    assert verbs[0] == "FROM"
    assert json.loads(lines[-1].removeprefix("CMD "))[0] == "serve", "the command is in the exec form"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_takes_the_unit(tmp_path):
    text = (DEPLOY / "saccade.service").read_text()
    (tmp_path / "saccade.service").write_text(text.replace("/opt/saccade/bin/saccade", sys.executable))
    ran = subprocess.run(["systemd-analyze", "verify", tmp_path / "saccade.service"], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_kubectl_takes_the_objects(tmp_path):
    shutil.copy(DEPLOY / "kubernetes.yaml", tmp_path)
    (tmp_path / "kustomization.yaml").write_text("resources: [kubernetes.yaml]")
    made = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, text=True, check=True).stdout
    assert {part["kind"] for part in yaml.safe_load_all(made)} == {"Deployment", "Service"}
