"""saccade serve, up to where it begins to listen."""

import sys
from pathlib import Path

import pytest

from saccade.cli import main
from saccade.cli.commands.serve import serve
from saccade.errors import ConfigError
from saccade.serve import run
from saccade.serve.serve_config import Settings


@pytest.fixture
def served(monkeypatch):
    """What the server is started with, instead of starting it."""
    calls = []
    monkeypatch.setattr(run, "serve", lambda folders, settings, **more: calls.append((folders, settings, more)))
    monkeypatch.delenv("SACCADE_TOKEN", raising=False)
    return calls


def test_without_options_it_is_as_the_settings_have_it(served):
    serve([Path("a"), Path("b")])
    folders, settings, more = served[0]
    assert folders == [Path("a"), Path("b")]
    assert settings == Settings()
    assert (more["device"], more["trust_code"]) == ("auto", False)


def test_options_become_settings(served, tmp_path):
    (tmp_path / "token").write_text("secret")
    serve(
        [Path("a")],
        host="0.0.0.0",
        port=0,
        token_file=tmp_path / "token",
        cors=["https://a.example"],
        allow_host=["b.example"],
        max_queue=10,
        timeout=1,
        head_timeout=2,
        max_connections=50,
        max_body=5000,
        max_image_bytes=3000,
        max_pixels=2000,
        max_inflight_bytes=6000,
    )
    settings = served[0][1]
    assert (settings.host, settings.port, settings.token) == ("0.0.0.0", 0, "secret")
    assert (settings.cors, settings.allowed_hosts) == (("https://a.example",), ("b.example",))
    assert (settings.max_queue, settings.max_inputs, settings.timeout) == (10, 10, 1.0)
    assert (settings.head_timeout, settings.max_connections) == (2.0, 50)
    assert (settings.max_body, settings.max_image_bytes, settings.max_pixels, settings.max_inflight_bytes) == (
        5000,
        3000,
        2000,
        6000,
    )


def test_options_by_their_old_names(served, capsys):
    old = ("--max-wait", "7", "--queue=9", "--max-input", "6", "--max-picture", "5", "--max-held", "4")
    with pytest.raises(SystemExit) as ended:
        main(["serve", "a", *old])
    assert ended.value.code == 0
    settings = served[0][1]
    assert (settings.max_wait_ms, settings.max_queue, settings.max_input_tokens) == (7.0, 9, 6)
    assert (settings.max_image_bytes, settings.max_inflight_bytes) == (5, 4)
    said = capsys.readouterr().err
    assert "--max-wait is now --max-wait-ms; the next release removes the old name." in said
    assert said.count(" is now ") == 5


def test_it_says_what_it_serves_and_who_may_ask(served, capsys):
    def said(**options):
        serve([Path("a")], **options)
        served[-1][2]["tell"]([{"name": "a"}, {"name": "b"}], "http://127.0.0.1:8000/")
        return " ".join(capsys.readouterr().err.split())

    assert said() == "Serving a, b on http://127.0.0.1:8000/ (Ctrl-C stops it)"
    assert "Anyone who can reach this machine can send requests. Use --token-file to require a token." in said(
        host="0.0.0.0"
    )


def test_faults_of_the_options_are_told(served):
    with pytest.raises(ConfigError, match="name the allowed origins"):
        serve([Path("a")], cors=["*"])
    with pytest.raises(ConfigError, match="timeout: Input should be greater than 0"):
        serve([Path("a")], timeout=0)
    assert served == []


@pytest.mark.parametrize("module", ["fastapi", "uvicorn"])
def test_without_the_extra_it_names_it(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=r"saccade serve needs the extra 'serve'\. .* -e '\.\[serve\]'"):
        serve([Path("a")])


def test_a_port_that_is_taken():
    with run._bound(Settings(port=0)) as listener:
        listener.listen()
        port = listener.getsockname()[1]
        told = rf"cannot listen on port {port} of 127.0.0.1: .*in use. Choose another with --port or --host\."
        with pytest.raises(ConfigError, match=told):
            run.serve([Path("none")], Settings(port=port))


def test_an_address_that_is_not_ours():
    with pytest.raises(ConfigError, match=r"nowhere\.invalid is not an address of this machine: .* Check --host\."):
        run.serve([Path("none")], Settings(host="nowhere.invalid"))


def test_addresses_as_browsers_want_them():
    with run._bound(Settings(port=0)) as listener:
        assert run._address(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}/"
