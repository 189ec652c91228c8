"""What the server can be told, and what it refuses to be told."""

import pytest

from saccade.config import parse
from saccade.errors import ConfigError, DataError
from saccade.serve.settings import Settings, read_token


def refused(**settings):
    with pytest.raises(ConfigError) as error:
        parse(Settings, settings, "saccade serve")
    return str(error.value)


def test_it_listens_to_this_machine_alone_unless_told():
    assert Settings().host == "127.0.0.1"
    assert Settings().token is None
    assert Settings().cors == ()


def test_names_are_checked_where_they_are_known():
    assert Settings().hosts == {"localhost", "127.0.0.1", "::1"}
    assert Settings(allowed_hosts=("a.example",)).hosts == {"localhost", "127.0.0.1", "::1", "a.example"}
    assert Settings(host="0.0.0.0").hosts is None
    assert Settings(host="0.0.0.0", allowed_hosts=("a.example",)).hosts == {"a.example"}


def test_the_token_is_not_shown():
    assert "secret" not in repr(Settings(token="secret"))


def test_faults_are_told():
    assert "raise queue to 128 or lower max_inputs" in refused(queue=10)
    assert "name the origins that may" in refused(cors=("*",))
    assert "max_batch: Input should be greater than or equal to 1 (it is 0)" in refused(max_batch=0)
    assert "timeout: Input should be greater than 0" in refused(timeout=0.0)
    assert "head_timeout: Input should be greater than 0" in refused(head_timeout=0.0)
    assert "max_connections: Input should be greater than or equal to 1" in refused(max_connections=0)


def test_a_body_has_room_for_pictures_where_they_are_served():
    assert Settings().body(pictures=False) == 1 << 20
    assert Settings(max_picture=3000).body(pictures=True) == (1 << 20) + 4 * 4000
    assert 43_000_000 < Settings().body(pictures=True) < 44_000_000
    assert Settings(max_body=7).body(pictures=True) == Settings(max_body=7).body(pictures=False) == 7
    assert Settings(max_held=100).body(pictures=True) == Settings(max_held=100).body(pictures=False) == 100
    assert "raise max_held to 101 or lower max_body" in refused(max_held=100, max_body=101)


def test_the_longest_input_may_have_its_longest_answer():
    assert Settings(max_input=100).max_output == 220


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
    with pytest.raises(ConfigError, match="is empty, but the token is read from it"):
        read_token(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not text, so it holds no token"):
        read_token(file)
    with pytest.raises(DataError, match="does not exist"):
        read_token(tmp_path / "none")
