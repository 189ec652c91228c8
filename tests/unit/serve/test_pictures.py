"""Images in requests, over a fake model that answers with their size."""

import asyncio
import base64
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("PIL", reason="needs Pillow")

from helpers.asgi import JSON, Fake, Seeing, application, ask, post, run, until
from helpers.images import encoded, png, quarters
from saccade.errors import DataError
from saccade.serve.pictures import from_base64

WHOLE = encoded(quarters(8, 12))
OTHER = encoded(quarters(30, 20), "JPEG")


def text_of(data):
    return base64.b64encode(data).decode()


def sent(app, picture, path="/v1/predict", kind="image/png", **more):
    """A request with an image as the body."""
    return ask(app, "POST", path, body=picture, headers={"content-type": kind}, **more)


def refused(app, value, status=422, **more):
    got = run(post(app, value, **more))
    assert got.status == status, got.body
    return got.error


@pytest.mark.parametrize("start", ["", "data:image/png;base64,", "DATA:image/svg+xml;BASE64,"])
def test_one_picture(start):
    got = run(post(application(Seeing()), {"image": start + text_of(WHOLE)}))
    assert got.json == {"model": "seeing", "predictions": [{"text": "8×12"}]}


def test_several_pictures_in_their_order_are_decoded_together():
    model = Seeing()
    app = application(model, max_batch=2)
    got = run(post(app, {"images": [text_of(data) for data in (WHOLE, OTHER, WHOLE)], "attention": True}))
    assert [part["text"] for part in got.json["predictions"]] == ["8×12", "30×20", "8×12"]
    assert model.batches == [["8×12", "30×20"], ["8×12"]]
    assert model.searches[0][1] is True
    assert run(post(application(model), {"images": []})).json["predictions"] == []


def test_pictures_of_different_requests_are_decoded_together():
    model = Seeing()

    async def test():
        app = application(model, max_wait_ms=300)
        asked = [post(app, {"image": text_of(WHOLE)}), sent(app, OTHER), sent(app, OTHER, query=b"beam=1")]
        return [got.json["predictions"] for got in await asyncio.gather(*asked)]

    assert run(test()) == [[{"text": "8×12"}], [{"text": "30×20"}], [{"text": "30×20"}]]
    assert [sorted(batch) for batch in model.batches] == [["30×20", "30×20", "8×12"]]


@pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "Image/WebP; q=1", "image/x-whatever"])
def test_a_picture_as_the_body_whatever_kind_it_is_said_to_be(kind):
    got = run(sent(application(Seeing()), WHOLE, kind=kind))
    assert got.json == {"model": "seeing", "predictions": [{"text": "8×12"}]}


def test_the_address_says_what_a_picture_cannot():
    first, model = Fake(), Seeing()
    got = run(sent(application(first, model), WHOLE, query=b"model=seeing&beam=3&nbest=2&attention=true"))
    assert got.json["model"] == "seeing"
    search, attention = model.searches[0]
    assert (search.beam, search.nbest, attention) == (3, 2, True)
    run(sent(application(model), WHOLE, "/v1/trace", query=b"force=[4,5]&pull=[[0,1,0.5]]&detail=true&sample=true"))
    wishes = {"sample": True, "force": [4, 5], "block": [], "pull": [(0, 1, 0.5)], "detail": True}
    assert model.traced == [("8×12", wishes)]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (b"beam=two", "options.beam: Input should be a valid integer (it is 'two')"),
        (b"beam=", "options.beam: Input should be a valid integer (it is '')"),
        (b"beem=2", "options.beem: setting 'beem' does not exist. Did you mean 'beam'?"),
        (b"attention=1", "attention: Input should be a valid boolean (it is 1)"),
        (b"temperature=NaN", "options.temperature: Input should be a valid number (it is 'NaN')"),
        (b"image=abc", "The body is an image, so image cannot be in the query string. Send one of them."),
        (b"inputs=[]", "The body is an image, so inputs cannot be in the query string."),
        (b"beam=" + b"[" * 5000, "options.beam: Input should be a valid integer"),
    ],
)
def test_what_the_address_cannot_say(query, told):
    got = run(sent(application(Seeing()), WHOLE, query=query))
    assert got.status == 400
    assert told in got.error
    assert len(got.error) < 1000


def test_limits_hold_for_the_address_too():
    got = run(sent(application(Seeing()), WHOLE, query=b"beam=1000"))
    assert (got.status, got.error) == (422, "beam is 1000, but this server allows at most 16.")


def test_a_trace():
    model = Seeing()
    got = run(post(application(model), {"image": text_of(WHOLE), "block": [3], "options": {"beam": 2}}, "/v1/trace"))
    assert got.json == {"saccade_trace": 1, "text": "8×12"}
    assert model.traced == [("8×12", {"beam": 2, "force": [], "block": [3], "pull": [], "detail": False})]


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/trace"])
def test_texts_for_those_who_read_and_pictures_for_those_who_see(path):
    app = application(Seeing(), Fake())
    told = refused(app, {"input": "/etc/hostname"}, path=path)
    assert told == "seeing reads images. Send image, an image file in base64, instead of a text."
    told = refused(app, {"image": text_of(WHOLE), "model": "fake"}, path=path)
    assert told == "fake reads a text. Send it as input, instead of an image."
    assert run(sent(app, WHOLE, path, query=b"model=fake")).status == 422
    assert run(post(app, {"input": "a", "model": "fake"}, path)).status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded", "", "image"]
)
def test_what_other_pages_can_send_unasked_is_not_read(kind):
    """Browsers send these types without a CORS preflight; images and JSON need one."""
    got = run(sent(application(Seeing()), WHOLE, kind=kind))
    assert got.status == 415
    other = "or a file with its own type, such as image/jpeg or audio/wav."
    assert got.error.endswith(f"Content-Type: application/json, {other}")


def test_a_server_of_texts_takes_no_picture():
    got = run(sent(application(Fake()), WHOLE))
    assert (got.status, "image" in got.error) == (415, False)
    assert "fake reads a text" in refused(application(Fake()), {"image": text_of(WHOLE)})


def test_no_path_is_ever_opened(tmp_path, monkeypatch):
    (tmp_path / "abcd").write_bytes(WHOLE)
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr("pathlib.Path.open", lambda *_, **__: opened.append(1))
    for path in ("abcd", str(tmp_path / "abcd"), f"file://{tmp_path}/abcd", "data:image/png,abcd", "/tmp/pict/ure+"):
        assert "The image is not" in refused(application(Seeing()), {"image": path})
    assert opened == []


BROKEN = {
    "is empty: it has no bytes": b"",
    "is not an image that can be opened": b"hello",
    "is cut or damaged and cannot be decoded": WHOLE[: len(WHOLE) // 2],
    "has far more pixels than the 0.01 million": png(50_000, 50_000),
    "has 200 × 100 pixels, more than the 0.01 million": png(200, 100),
    "header is damaged or declares no pixels": png(0, 0),
}
TOO_LONG = WHOLE + bytes(5000)
LIMITS = {"max_image_bytes": 5000, "max_pixels": 10_000}


@pytest.mark.parametrize("told", BROKEN)
def test_a_picture_that_is_none_is_refused(told):
    model = Seeing()
    app = application(model, **LIMITS)
    for got in (run(sent(app, BROKEN[told])), run(post(app, {"image": text_of(BROKEN[told])}))):
        assert (got.status, got.json["error"]["code"]) == (422, "beyond_limits")
        assert got.error.startswith("The image ")
        assert told in got.error
    assert model.batches == []
    assert 'saccade_pictures_total{result="refused"} 2' in app.metrics.text()


def test_a_request_is_refused_as_a_whole_and_every_bad_picture_named():
    model = Seeing()
    app = application(model, **LIMITS)
    pictures = [text_of(data) for data in (WHOLE, *BROKEN.values(), TOO_LONG, OTHER)]
    told = refused(app, {"images": [*pictures, "!", "é"]}).split("\n")
    assert [line.split()[:2] for line in told] == [["Image", number] for number in ("2", *"345678", "10")]
    for line, why in zip(told, [*BROKEN, "has more than 0.005 MB"], strict=False):
        assert why in line
    assert "Image 10 is not base64 (" in told[-1]
    assert model.batches == []
    assert len(model.opened) == 8, "it stops after eight faults, and too long inputs are not decoded"


@pytest.mark.parametrize(
    "limits", [{"max_image_bytes": 5000}, {"max_body": 5000}, {"max_image_bytes": 5000, "max_body": 9999}]
)
def test_a_picture_as_the_body_is_read_no_further_than_it_may_be_long(limits):
    taken = []

    def parts():
        for number in range(1000):
            taken.append(number)
            yield bytes(100)

    app = application(Seeing(), **limits)
    got = run(sent(app, parts()))
    assert (got.status, got.json["error"]["code"]) == (413, "too_large")
    assert got.error == "The image has more than 5,000 bytes. Compress or shrink it."
    assert got.headers["connection"] == "close"
    assert len(taken) == 52
    assert run(sent(app, bytes(5000))).status == 422, "within the size limit, but no image"
    assert app.uploads.held == 0


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("image/png", "The image has more than 8,000,000 bytes. Compress or shrink it."),
        ("application/json", "The body has more than 43,715,248 bytes. Send fewer inputs at a time."),
    ],
)
def test_a_body_that_says_it_is_too_long_is_not_read_at_all(kind, told):
    async def test(length, body):
        return await ask(
            application(Seeing()),
            "POST",
            "/v1/predict",
            body=body,
            headers={"content-type": kind, "content-length": length},
        )

    got = run(test("50000000", [None]))
    assert (got.status, got.error) == (413, told)
    assert got.headers["connection"] == "close"
    for nonsense in ("many", "-1", "9" * 5000):
        assert run(test(nonsense, b"x")).status in (400, 422)


def test_what_is_too_long_is_known_before_it_is_decoded():
    with pytest.raises(DataError, match=r"it has more than 0\.003 MB, the most that this server takes\."):
        from_base64("!" * 4008, "it", 3000)
    assert len(from_base64("A" * 4000, "it", 3000)) == 3000


def test_too_many_pictures():
    model = Seeing()
    told = refused(application(model, max_inputs=2), {"images": ["", "", ""]})
    assert told == "There are 3 images, but this server takes at most 2 at a time."
    assert model.opened == []


def test_pictures_are_opened_in_threads_of_their_own_two_at_a_time():
    model = Seeing()

    async def test():
        app = application(model)
        model.opening.clear()
        asked = [asyncio.create_task(sent(app, WHOLE)) for _ in range(6)]
        await until(lambda: app.opener._pool._work_queue.qsize() == 4)  # the other requests wait for a thread
        assert len(model.opened) == 2
        assert (await ask(app, path="/healthz")).status == 200
        model.opening.set()
        return [(await task).status for task in asked]

    assert run(test()) == [200] * 6
    assert all(thread.startswith("saccade-pictures") for _, thread in model.opened)


def test_a_long_request_does_not_keep_others_out():
    model = Seeing()

    async def test():
        app = application(model)
        long = asyncio.create_task(post(app, {"images": [text_of(WHOLE)] * 100}))
        await until(lambda: len(model.opened) > 2)
        short = await sent(app, OTHER)
        return short.status, len(model.opened), (await long).status

    status, opened, whole = run(test())
    assert (status, whole) == (200, 200)
    assert opened < 90


def test_a_full_queue_opens_nothing():
    model = Seeing()

    async def test():
        app = application(model, max_queue=2, max_inputs=2, max_wait_ms=0)
        model.hold()
        first = asyncio.create_task(sent(app, WHOLE))
        await until(model.begun.is_set)
        second = asyncio.create_task(post(app, {"images": [text_of(WHOLE)] * 2}))
        await until(lambda: app.batcher.depth == 2)
        count = len(model.opened)
        got = await sent(app, WHOLE)
        assert (got.status, len(model.opened)) == (429, count)
        assert got.error == "The queue is full. Try again later."
        model.free.set()
        return [(await task).status for task in (first, second)]

    assert run(test()) == [200, 200]


def test_time_is_up_and_clients_go_while_pictures_are_opened():
    model = Seeing()

    async def test():
        app = application(model, timeout=0.3)
        model.opening.clear()
        late = asyncio.create_task(post(app, {"images": [text_of(WHOLE)] * 3}))
        await until(lambda: len(model.opened) == 1)
        leave = asyncio.Event()
        gone = asyncio.create_task(sent(app, WHOLE, leave=leave))
        await until(lambda: len(model.opened) == 2)
        leave.set()
        assert (await gone).status == 499
        assert (await late).status == 504
        model.opening.set()
        assert (await sent(app, WHOLE)).status == 200
        assert app.uploads.held == 0

    run(test())
    assert len(model.opened) == 3, "requests do not wait for each other"
    assert model.batches == [["8×12"]]


def test_an_end_is_told_to_who_waits_for_a_picture():
    model = Seeing()

    async def test():
        app = application(model)
        model.opening.clear()
        asked = [asyncio.create_task(sent(app, WHOLE)) for _ in range(3)]
        await until(lambda: len(model.opened) == 2)
        app.opener.close()
        assert (await asked[2]).status == 503
        assert (await sent(app, WHOLE)).status == 503
        model.opening.set()
        return [(await task).status for task in asked]

    assert run(test()) == [200, 200, 503]


def test_the_servers_own_end_gives_up_pictures_and_batches():
    """An ASGI server announces its end as the end of the application's lifespan."""
    model, said = Seeing(), []

    async def test():
        app = application(model, max_wait_ms=0)
        end = asyncio.Event()

        async def receive():
            if said:
                await end.wait()
            return {"type": "lifespan.shutdown" if said else "lifespan.startup"}

        async def send(message):
            said.append(message["type"])

        life = asyncio.create_task(app({"type": "lifespan", "asgi": {}, "state": {}}, receive, send))
        await until(lambda: said)
        model.hold()
        batch = asyncio.create_task(sent(app, WHOLE))
        await until(model.begun.is_set)
        model.opening.clear()
        asked = [asyncio.create_task(sent(app, WHOLE)) for _ in range(3)]
        await until(lambda: len(model.opened) == 3)  # of which one is done
        end.set()
        await life
        assert (await batch).status == (await asked[2]).status == 503
        model.opening.set()
        return [(await task).status for task in asked]

    assert run(test()) == [503, 503, 503]
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert len(model.batches) == 1


def test_requests_hold_no_more_than_they_may_together():
    model = Seeing()

    async def test():
        size = 2 * (len(WHOLE) + 8 * 12 * 3) + 10
        app = application(model, max_inflight_bytes=size, max_wait_ms=0)
        model.hold()
        waiting = [asyncio.create_task(sent(app, WHOLE)) for _ in range(2)]
        await until(lambda: app.uploads.held == size - 10)
        assert f"saccade_held_bytes {size - 10}" in app.metrics.text()
        got = await sent(app, WHOLE)
        assert (got.status, got.json["error"]["code"]) == (429, "queue_full")
        assert "may hold" in got.error
        assert got.headers["retry-after"] == "1"
        assert got.headers["connection"] == "close"
        model.free.set()
        assert [(await task).status for task in waiting] == [200, 200]
        assert app.uploads.held == 0
        assert (await sent(app, WHOLE)).status == 200

    run(test())


def test_what_opened_pictures_take_is_held_too():
    """A few bytes can decode to a large image."""
    model = Seeing()
    app = application(model, max_inflight_bytes=20_000)
    pictures = [text_of(encoded(quarters(40, 40)))] * 8  # 4,800 bytes each once opened
    told = refused(app, {"images": pictures}, 429)
    assert told == "All requests together may hold 0.02 MB, which is used up. Try again later."
    assert len(model.opened) < 6
    assert app.uploads.held == 0


def test_there_is_room_for_pictures_but_not_for_endless_texts():
    app = application(Seeing(), Fake())
    texts = {"inputs": ["a " * 600_000], "model": "fake"}
    told = refused(app, texts, 413)
    why = "but only images and sounds may take so many. Send fewer inputs at a time."
    assert told == f"The body has more than 1,048,576 bytes, {why}"
    most = b'{"input": "a", "model": "fake"}'.ljust(1 << 20)
    assert run(ask(app, "POST", "/v1/predict", body=most, headers=JSON)).status == 200
    assert run(ask(app, "POST", "/v1/predict", body=most + b" ", headers=JSON)).error == told
    assert refused(app, {"images": [[]] * 400_000}, 413) == told
    assert "more than 8 MB" in refused(app, {"image": "A" * 12_000_000})
    assert "The body has more than 1,048,576 bytes." in refused(application(Fake()), {"image": "A" * 2_000_000}, 413)


@given(st.one_of(st.text(max_size=60), st.text("AZaz09+/=", max_size=24)))
def test_whatever_is_said_to_be_base64(text):
    """Base64 is decoded to the original bytes, or refused with the image's name."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data = None
    if data is not None and text_of(data) == text and len(data) <= 10:
        assert from_base64(text, "it", 10) == data
    elif data is None or len(data) > 12:
        with pytest.raises(DataError, match=r"^it (is not base64|has more than)"):
            from_base64(text, "it", 10)


@given(st.binary(max_size=300))
def test_base64_comes_back(data):
    assert from_base64(text_of(data), "it", 300) == data
    assert from_base64(f"data:image/png;base64,{text_of(data)}", "it", 300) == data


@given(st.binary(max_size=40), st.integers(0, len(OTHER)), st.integers(0, 60), st.sampled_from([WHOLE, OTHER]))
@settings(max_examples=60, deadline=None)
def test_whatever_a_picture_file_holds(bytes_put, place, cut, whole):
    """The image is opened or refused, and the server continues."""
    data = whole[:place] + bytes_put + whole[place + cut :]
    got = run(sent(application(Seeing(), max_pixels=10_000), data))
    assert got.status in (200, 422)
    if got.status == 422:
        assert got.error.startswith("The image ")


@given(st.binary(max_size=200))
@settings(max_examples=40, deadline=None)
def test_whatever_a_body_holds(data):
    assert run(sent(application(Seeing()), data)).status in (200, 422)
    assert run(ask(application(Seeing()), "POST", "/v1/predict", body=data, headers=JSON)).status in (400, 422)


def test_a_bomb_takes_no_memory():
    body = json.dumps({"images": [text_of(png(50_000, 50_000))] * 8}).encode()
    tracemalloc.start()
    try:
        got = run(ask(application(Seeing()), "POST", "/v1/predict", body=body, headers=JSON))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert got.status == 422
    assert got.error.count("far more pixels than the 25 million") == 8
    assert peak < 5_000_000
