"""Server settings: defaults, and invalid ones."""

import pytest

from saccade.config import parse
from saccade.errors import ConfigError, DataError
from saccade.pretrained import pretrained
from saccade.serve.serve_config import Settings, read_models, read_token


def refused(**settings):
    with pytest.raises(ConfigError) as error:
        parse(Settings, settings, "saccade serve")
    return str(error.value)


def test_it_listens_to_this_machine_alone_unless_told():
    assert Settings().host == "127.0.0.1"
    assert Settings().token is None
    assert Settings().cors == ()


def test_what_is_not_said_is_as_documented():
    """docs/serve.md has the same."""
    assert Settings().model_dump() == {
        "host": "127.0.0.1",
        "port": 8000,
        "token": None,
        "cors": (),
        "allowed_hosts": (),
        "max_batch": 32,
        "max_wait_ms": 5.0,
        "max_queue": 1024,
        "timeout": 30.0,
        "head_timeout": 10.0,
        "max_connections": None,
        "max_body": None,
        "max_inputs": 128,
        "max_input_tokens": 512,
        "max_turns": 200,
        "max_image_bytes": 8_000_000,
        "max_sound_bytes": 8_000_000,
        "max_seconds": 60.0,
        "max_pixels": 25_000_000,
        "max_inflight_bytes": 256_000_000,
        "max_beam": 16,
        "precision": None,
        "threads": None,
        "log": "off",
    }


@pytest.mark.parametrize(
    "name",
    [
        "max_batch",
        "max_queue",
        "max_body",
        "max_inputs",
        "max_input_tokens",
        "max_turns",
        "max_image_bytes",
        "max_sound_bytes",
        "max_pixels",
        "max_inflight_bytes",
        "max_beam",
    ],
)
def test_limits_are_at_least_one(name):
    assert f"{name}: Input should be greater than or equal to 1" in refused(**{"max_inputs": 1} | {name: 0})
    assert getattr(Settings(**{"max_inputs": 1} | {name: 1}), name) == 1


def test_ports_and_waits_have_their_bounds():
    assert (Settings(port=0).port, Settings(port=65535).port, Settings(max_wait_ms=0.0).max_wait_ms) == (0, 65535, 0.0)
    assert "port: Input should be" in refused(port=65536)
    assert "port: Input should be" in refused(port=-1)
    assert "max_wait_ms: Input should be" in refused(max_wait_ms=-0.1)
    assert Settings(max_queue=5, max_inputs=5).max_queue == 5
    assert "raise max_queue to 6 or lower max_inputs" in refused(max_queue=5, max_inputs=6)
    assert Settings(max_inflight_bytes=5, max_body=5).max_body == 5
    assert "token: " in refused(token="")


def test_names_are_checked_where_they_are_known():
    assert Settings().hosts == {"localhost", "127.0.0.1", "::1"}
    assert Settings(allowed_hosts=("a.example",)).hosts == {"localhost", "127.0.0.1", "::1", "a.example"}
    assert Settings(host="LocalHost").hosts == {"localhost", "127.0.0.1", "::1"}
    assert Settings(host="127.0.0.2").hosts == {"localhost", "127.0.0.1", "::1", "127.0.0.2"}
    assert Settings(host="0.0.0.0").hosts is None
    assert Settings(host="0.0.0.0", allowed_hosts=("a.example",)).hosts == {"a.example"}


def test_the_token_is_not_shown():
    assert "secret" not in repr(Settings(token="secret"))


def test_faults_are_told():
    assert "raise max_queue to 128 or lower max_inputs" in refused(max_queue=10)
    assert "name the allowed origins" in refused(cors=("*",))
    assert "max_batch: Input should be greater than or equal to 1 (it is 0)" in refused(max_batch=0)
    assert "timeout: Input should be greater than 0" in refused(timeout=0.0)
    assert "head_timeout: Input should be greater than 0" in refused(head_timeout=0.0)
    assert "max_connections: Input should be greater than or equal to 1" in refused(max_connections=0)


def test_a_body_has_room_for_pictures_where_they_are_served():
    assert Settings().body(pictures=False) == 1 << 20
    assert Settings(max_image_bytes=3000, max_sound_bytes=9).body(pictures=True) == (1 << 20) + 4 * 4000
    assert 43_000_000 < Settings().body(pictures=True) < 44_000_000
    assert Settings(max_body=7).body(pictures=True) == Settings(max_body=7).body(pictures=False) == 7
    assert (
        Settings(max_inflight_bytes=100).body(pictures=True)
        == Settings(max_inflight_bytes=100).body(pictures=False)
        == 100
    )
    assert "raise max_inflight_bytes to 101 or lower max_body" in refused(max_inflight_bytes=100, max_body=101)


def test_the_longest_input_may_have_its_longest_answer():
    assert Settings(max_input_tokens=100).max_output == 220


def test_a_token_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_text("from file\n")
    monkeypatch.delenv("SACCADE_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("SACCADE_TOKEN", "from outside")
    assert read_token(None) == "from outside"
    assert read_token(file) == "from file"


def test_a_token_file_without_a_token_is_refused(tmp_path):
    file = tmp_path / "token"
    file.write_text(" \n")
    with pytest.raises(ConfigError, match="is empty, but it must hold the token"):
        read_token(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not text, so it holds no token"):
        read_token(file)
    with pytest.raises(DataError, match="does not exist"):
        read_token(tmp_path / "none")


def test_models_of_a_file_are_found_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists" / "mine").mkdir(parents=True)
    listed = tmp_path / "lists" / "models.txt"
    listed.write_text(f"# comment\n\n mine \ndemo\n{tmp_path}\n")
    assert read_models(listed) == [listed.parent / "mine", pretrained()["demo"], tmp_path]
    for content, why in ((b"# none\n", "lists no models"), (b"\xff", "is not text")):
        listed.write_bytes(content)
        with pytest.raises(ConfigError, match=why):
            read_models(listed)
    with pytest.raises(DataError, match="does not exist"):
        read_models(tmp_path / "none.txt")
