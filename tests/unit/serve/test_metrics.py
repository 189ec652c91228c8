"""The counters, in a form that Prometheus reads."""

import re

from saccade.serve.metrics import REASONS, Histogram, Metrics

LINE = re.compile(r'^[a-z_]+(\{[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*\})? [0-9.]+$')


def values(text):
    """The numbers by their names; the text must be in the format."""
    assert text.endswith("\n")
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.match(r"^# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge|histogram))$", line), line
        else:
            assert LINE.match(line), line
            name, number = line.rsplit(" ", 1)
            assert name not in found
            found[name] = float(number)
    return found


def test_all_is_counted():
    metrics = Metrics()
    metrics.depth, metrics.running = lambda: 7, lambda: 2
    metrics.request("/v1/predict", 200, 0.02)
    metrics.request("/v1/predict", 200, 0.3)
    metrics.request("/v1/predict", 429, 0.0)
    metrics.batch("demo", 3, 0.01)
    metrics.model("demo", 200, 3, 0.02)
    metrics.model("demo", 504, 1, 30.0)
    metrics.tokens("demo", 10, 12)
    metrics.pictures(4, 1)
    metrics.held, metrics.connections = lambda: 99, lambda: 5
    metrics.closed("head")
    found = values(metrics.text())
    assert found['saccade_requests_total{path="/v1/predict",status="200"}'] == 2
    assert found['saccade_requests_total{path="/v1/predict",status="429"}'] == 1
    assert (found["saccade_queue_depth"], found["saccade_requests_running"]) == (7, 2)
    assert found['saccade_tokens_total{model="demo",direction="read"}'] == 10
    assert found['saccade_tokens_total{model="demo",direction="written"}'] == 12
    assert found['saccade_model_requests_total{model="demo",status="200"}'] == 1
    assert found['saccade_model_requests_total{model="demo",status="504"}'] == 1
    assert found['saccade_model_inputs_total{model="demo"}'] == 4
    assert found['saccade_model_seconds_bucket{model="demo",le="0.025"}'] == 1
    assert found['saccade_model_seconds_sum{model="demo"}'] == 30.02
    assert found['saccade_pictures_total{result="opened"}'] == 4
    assert found['saccade_pictures_total{result="refused"}'] == 1
    assert found["saccade_held_bytes"] == 99
    assert found["saccade_connections"] == 5
    closed = {name: found[f'saccade_connections_closed_total{{reason="{name}"}}'] for name in REASONS}
    assert closed == {"end": 0, "full": 0, "head": 1, "room": 0, "unread": 0}
    assert found['saccade_batch_size_bucket{model="demo",le="2"}'] == 0
    assert found['saccade_batch_size_bucket{model="demo",le="4"}'] == 1
    assert (found['saccade_batch_size_sum{model="demo"}'], found['saccade_batch_size_count{model="demo"}']) == (3, 1)
    assert found['saccade_request_seconds_bucket{path="/v1/predict",le="0.025"}'] == 2
    assert found['saccade_request_seconds_count{path="/v1/predict"}'] == 3
    assert found['saccade_request_seconds_sum{path="/v1/predict"}'] == 0.32
    assert found['saccade_batch_seconds_sum{model="demo"}'] == 0.01


def test_a_model_may_have_any_name():
    metrics = Metrics()
    metrics.tokens('a"b\\c\nd', 1, 2)
    assert 'model="a\\"b\\\\c\\nd",direction="read"} 1\n' in metrics.text()


def bounds(found, name):
    return [part.split('le="')[1][:-2] for part in found if part.startswith(f"{name}_bucket")]


def test_the_bounds_are_those_that_dashboards_expect():
    metrics = Metrics()
    metrics.batch("demo", 1, 0.1)
    found = values(metrics.text())
    sizes = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "+Inf"]
    seconds = ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "+Inf"]
    assert bounds(found, "saccade_batch_size") == sizes
    assert bounds(found, "saccade_batch_seconds") == seconds


def test_a_new_server_has_counted_nothing():
    found = values(Metrics().text())
    assert set(found.values()) == {0}


def test_buckets_add_up():
    histogram = Histogram((1, 2.5))
    for value in (0, 1, 2, 2.5, 3):
        histogram.add(value)
    assert list(histogram.lines("x")) == [
        'x_bucket{le="1"} 2',
        'x_bucket{le="2.5"} 4',
        'x_bucket{le="+Inf"} 5',
        "x_sum 8.500000",
        "x_count 5",
    ]
