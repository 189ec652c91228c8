"""The middleware: Host names, token, shutdown, headers, counters."""

import asyncio
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.asgi import Fake, application, ask, post, run, until
from saccade.serve.middleware import host_name


def get(app, path="/healthz", **more):
    return run(ask(app, "GET", path, **more))


@pytest.mark.parametrize(
    "path", ["/", "/static/app.js", "/healthz", "/metrics", "/v1/models", "/openapi.json", "/none"]
)
def test_every_answer_has_the_headers(path):
    headers = get(application(), path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    own = "script-src 'self'" if path == "/" else "frame-ancestors 'none'"
    assert headers["content-security-policy"] == f"default-src 'none'; {own}"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "[::1]", "LOCALHOST"])
def test_names_of_this_machine_are_answered(host):
    assert get(application(), host=host).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "", "localhost."],
)
@pytest.mark.parametrize("path", ["/", "/v1/models", "/healthz"])
def test_other_names_are_not(host, path):
    got = get(application(), path, host=host)
    assert got.status == 400
    assert "does not accept the host name" in got.error
    assert "--allow-host" in got.error


MALFORMED = [
    "localhost:80@evil.com",
    "evil.com@localhost",
    "localhost:",
    "localhost:http",
    "localhost:80:80",
    "localhost:123456",
    "localhost:٨٠",
    "localhost evil.com",
    "localhost,evil.com",
    "localhost/evil.com",
    "localhost?evil.com",
    "localhost#evil.com",
    "localhost\\evil.com",
    "localhost\n",
    "[::1",
    "::1",
    "[localhost]",
    "[::1].evil.com",
    "[::1]80",
    "[::1]:80@evil.com",
]


@pytest.mark.parametrize("host", MALFORMED)
def test_a_malformed_host_is_refused_whatever_the_server_listens_on(host):
    host = host.encode().decode("latin-1")
    for settings in ({}, {"host": "0.0.0.0"}):
        got = get(application(**settings), host=host)
        assert got.status == 400
        assert got.error == f"The Host header {host!r} is not a name or an address with an optional port."


def test_two_hosts_are_refused_and_no_long_name_is_repeated():
    for app in (application(), application(host="0.0.0.0")):
        assert get(app, host="localhost", headers={"Host": "localhost"}).status == 400
    assert "localhost, localhost" in get(application(), host="localhost", headers={"Host": "localhost"}).error
    assert len(get(application(), host="a" * 10_000).error) < 250
    assert len(get(application(), host="@" * 10_000).error) < 250


@given(
    st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=30),
    st.one_of(st.none(), st.integers(0, 65535)),
)
def test_the_name_is_all_before_the_port(name, port):
    assert host_name(name if port is None else f"{name}:{port}") == name.lower()


@given(st.ip_addresses(v=6), st.one_of(st.none(), st.integers(0, 65535)))
def test_addresses_in_brackets_are_hosts_too(address, port):
    assert host_name(f"[{address}]" if port is None else f"[{address}]:{port}") == str(address)


@given(st.text(string.printable + "é٣", max_size=20), st.text("@:[]/ ,.a1", max_size=12))
def test_what_is_no_host_and_port_has_no_name(before, after):
    """A slower reading of the same rule: split at the last colon, then look at every letter."""
    header = before + after
    name, colon, port = header.rpartition(":") if not header.endswith("]") else (header, "", "")
    if not colon:
        name, port = header, "0"
    inside = name[1:-1] if name[:1] == "[" and name[-1:] == "]" and len(name) > 2 else None
    letters = string.hexdigits + ":." if inside is not None else string.ascii_letters + string.digits + "._-"
    text = name if inside is None else inside
    right = len(text) > 0 and set(text) <= set(letters) and 0 < len(port) < 6 and set(port) <= set(string.digits)
    assert host_name(header) == (text.lower() if right else None)


def test_names_that_were_allowed_are_answered():
    assert get(application(allowed_hosts=("models.example",)), host="models.example:443").status == 200
    assert get(application(host="0.0.0.0"), host="any.example").status == 200


@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/openapi.json"])
def test_the_token_is_asked_for(path):
    app = application(token="sésame")
    right = "Bearer sésame".encode().decode("latin-1")
    assert get(app, path, headers={"authorization": right}).status == 200
    assert get(app, path, headers={"authorization": right.replace("Bearer", "bearer")}).status == 200
    others = [right.replace("Bearer", scheme) for scheme in ("Basic", "Digest", "Bearers", "")]
    for header in (None, "Bearer", "Bearer wrong", *others, right.removeprefix("Bearer "), right[:-1], "Bearer ÿ"):
        got = get(app, path, headers={"authorization": header})
        assert (got.status, got.headers["www-authenticate"]) == (401, "Bearer")
        assert got.json["error"]["code"] == "unauthorized"
        assert "Authorization: Bearer TOKEN" in got.error


@pytest.mark.parametrize("path", ["/", "/docs", "/static/app.js", "/healthz"])
def test_the_page_and_the_sign_of_life_need_no_token(path):
    assert get(application(token="secret"), path).status == 200


def test_nothing_is_worked_on_without_the_token():
    model = Fake()
    assert run(post(application(model, token="secret"), {"input": "a"})).status == 401
    assert model.batches == []


def test_other_pages_may_ask_only_if_they_were_named():
    origin = {"origin": "https://a.example"}
    asking = {**origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    assert "access-control-allow-origin" not in get(application(), headers=origin).headers
    assert run(ask(application(), "OPTIONS", "/v1/predict", headers=asking)).status == 405
    app = application(cors=("https://a.example",), token="secret")
    assert get(app, headers=origin).headers["access-control-allow-origin"] == "https://a.example"
    assert "access-control-allow-origin" not in get(app, headers={"origin": "https://b.example"}).headers
    allowed = run(ask(app, "OPTIONS", "/v1/predict", headers=asking))
    assert (allowed.status, allowed.headers["access-control-allow-origin"]) == (200, "https://a.example")
    refused = run(ask(app, "OPTIONS", "/v1/predict", headers=asking | {"origin": "https://b.example"}))
    assert refused.status == 400
    # what is refused can be read by the page that was refused
    assert run(post(app, {"input": "a"}, headers=origin)).headers["access-control-allow-origin"] == "https://a.example"


def test_a_server_that_ends_takes_no_new_work_and_finishes_what_it_has():
    model = Fake()

    async def test():
        app = application(model)
        model.hold()
        running = asyncio.create_task(post(app, {"input": "a b"}))
        await until(model.begun.is_set)
        app.gate.drain()
        assert not app.gate.idle.is_set()
        for path in ("/v1/predict", "/v1/trace"):
            late = await post(app, {"input": "c"}, path)
            assert (late.status, late.json["error"]["code"]) == (503, "shutting_down")
            assert late.headers["retry-after"] == "5"
        assert (await ask(app, path="/v1/models")).status == 503
        assert (await ask(app, path="/healthz")).status == 503
        assert (await ask(app, path="/metrics")).status == 200
        assert not app.gate.idle.is_set()  # while one request is running, however many are refused meanwhile
        model.free.set()
        assert (await running).json["predictions"] == [{"text": "A B"}]
        await app.gate.idle.wait()
        assert app.gate.running == 0

    run(test())
    assert (model.batches, model.traced) == ([["a b"]], [])


def test_a_single_request_is_work_until_it_is_answered():
    model = Fake()

    async def test():
        app = application(model)
        assert app.gate.idle.is_set()
        model.hold()
        running = asyncio.create_task(post(app, {"input": "a b"}))
        await until(model.begun.is_set)
        assert (app.gate.running, app.gate.idle.is_set()) == (1, False)
        model.free.set()
        await running
        assert (app.gate.running, app.gate.idle.is_set()) == (0, True)

    run(test())


def test_strangers_make_no_new_counters():
    async def test():
        app = application()
        for number in range(20):
            await ask(app, path=f"/{number}")
        await ask(app, path='/"} 1\n#')
        await ask(app, path="/static/none")
        return (await ask(app, path="/metrics")).body.decode()

    text = run(test())
    counted = [line for line in text.splitlines() if line.startswith("saccade_requests_total")]
    assert counted == [
        'saccade_requests_total{path="/static",status="404"} 1',
        'saccade_requests_total{path="other",status="404"} 21',
    ]


def test_a_connection_that_breaks_off_is_no_fault():
    app = application()

    async def send(message):
        raise RuntimeError("the connection is closed")

    async def receive():
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": [(b"host", b"localhost")]}
    scope |= {"query_string": b"", "root_path": "", "http_version": "1.1", "scheme": "http", "server": ("a", 1)}
    run(app(scope, receive, send))
    assert app.gate.running == 0
