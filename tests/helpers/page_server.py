"""A small server with the explorer page and traces made by hand."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from saccade.look import page
from saccade.trace import pack

READS = {
    "captioning": "picture",
    "glimpses": "picture",
    "episodes": "episode",
    "speech": "sound",
    "questions": "question",
    "chat": "dialogue",
    "image-generation": "seed",
}
"""Input kinds by task; all other tasks read text."""


DOUBT = float(np.log(0.2))
"""Of a given word that may not attend to what it attends to most."""


def altered(trace, asked, kept=()):
    """The trace as the model would write it with these interventions: weights move, and words but those kept."""
    block, force, pull = (asked.get(name, []) for name in ("block", "force", "pull"))
    if not trace.sites or not (block or force or pull):
        return trace
    target, texts = trace.sides["target"], [step.text for step in trace.steps]
    whole = len(target.words) == len(target.tokens) - len(target.marks)
    sites, doubted = [], set()
    for site in trace.sites:
        weights = site.weights.unpack().copy()
        if (site.rows, site.columns) == ("target", "source"):
            best = weights.mean(0).argmax(-1)
            for row in np.flatnonzero(np.isin(best, block)) if whole else ():
                texts[row] = texts[row] if row in target.marks or texts[row] in kept else "autre"
            away = {(row, best[row]) for row in range(len(best)) if best[row] in block}
            away |= {(step, place) for step, place, weight in pull if weight == 0 and best[step] == place}
            doubted |= {row for row, _ in away if row < len(force) and force[row] == trace.steps[row].token}
            weights += 1e-6  # the weight of hidden words goes to words without weight
            weights[..., block] = 0
            weights /= weights.sum(-1, keepdims=True)
            for step, place, weight in pull:
                others = 1 - weights[:, step, place]
                weights[:, step] *= ((1 - weight) / np.maximum(others, 1e-9))[:, None]
                weights[:, step, place] = weight
        sites.append(site.model_copy(update={"weights": pack(weights, 65535, low=0, high=1)}))
    for step, token in enumerate(force):
        known = {number: text for number, text, _ in trace.steps[step].candidates}
        texts[step] = known.get(token, texts[step])
    side = {"tokens": texts, "words": texts[: len(target.words)] if whole else target.words}
    chosen = [*force, *(step.token for step in trace.steps[len(force) :])]
    steps = [
        step.model_copy(update={"text": text, "token": token} | ({"log_probability": DOUBT} if row in doubted else {}))
        for row, (step, text, token) in enumerate(zip(trace.steps, texts, chosen, strict=True))
    ]
    return trace.model_copy(
        update={
            "sites": sites,
            "steps": steps,
            "sides": trace.sides | {"target": target.model_copy(update=side)},
            "text": " ".join(side["words"]),
        }
    )


class Answers:
    """A server with the page and canned traces: it records requests.

    `wondered` are the requests that ask what would happen to the words if one was hidden.

    `refuse` is a status and a message to answer with, `delays` are seconds by input, `token` is the required token, and
    while `starting` there are no models yet. A word in `kept` stays, whatever it attends to. `answer` makes an answer
    from a canned trace, the request, and the kept words.
    """

    def __init__(self, traces):
        self.traces, self.asked, self.refuse, self.delays, self.token = traces, [], None, {}, None
        self.examples, self.starting, self.kept, self.answer = {}, False, [], altered
        self.classes = []
        self.wondered = []
        answers = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                files = page.assets()
                if self.path == "/":
                    self.reply(
                        200, page.index(), "text/html; charset=utf-8", {"Content-Security-Policy": page.policy()}
                    )
                elif self.path.startswith("/static/") and self.path[8:] in files:
                    kind = "text/css" if self.path.endswith(".css") else "text/javascript"
                    self.reply(200, files[self.path[8:]], f"{kind}; charset=utf-8")
                elif self.path == "/v1/models" and answers.starting:
                    self.reply(503, json.dumps({"error": {"code": "starting", "message": "The server is starting."}}))
                elif self.path == "/v1/models" and self.allowed():
                    self.reply(
                        200,
                        json.dumps(
                            {
                                "models": [
                                    {
                                        "name": name,
                                        "task": trace.task,
                                        "input": READS.get(trace.task, "text"),
                                        "preset": "p",
                                        "parameters": 1,
                                        "attention": bool(trace.sites),
                                        "examples": answers.examples.get(name, []),
                                        "classes": answers.classes,
                                    }
                                    for name, trace in answers.traces.items()
                                ]
                            }
                        ),
                    )
                elif self.path != "/v1/models":
                    self.reply(404, json.dumps({"error": {"code": "not_found", "message": "That page is not there."}}))

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                wonders = asked["options"].get("min_length") == 0 and "force" in asked
                (answers.wondered if wonders else answers.asked).append(asked)
                given = asked.get("input", "picture")
                text = given if isinstance(given, str) else next(iter(given.values()))
                time.sleep(answers.delays.get(str(text), 0))
                if answers.refuse:
                    self.reply(
                        answers.refuse[0], json.dumps({"error": {"code": "refused", "message": answers.refuse[1]}})
                    )
                    return
                trace = answers.answer(answers.traces[asked["model"]], asked, answers.kept)
                options = asked["options"] | {name: asked[name] for name in ("force", "block", "pull") if name in asked}
                vectors = trace.vectors if asked.get("detail") else {}
                said = f"{trace.text} ({text})" if given == text else trace.text
                update = {"options": options, "vectors": vectors, "text": said}
                self.reply(200, trace.model_copy(update=update).dump())

            def allowed(self):
                if answers.token is None or self.headers["Authorization"] == f"Bearer {answers.token}":
                    return True
                self.reply(401, json.dumps({"error": {"code": "no_token", "message": "Send the token."}}))
                return False

            def reply(self, status, body, kind="application/json", headers=None):
                data = body.encode() if isinstance(body, str) else body
                self.send_response(status)
                for name, value in ({"Content-Type": kind, "Content-Length": str(len(data))} | (headers or {})).items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # the page has canceled the request
                    self.wfile.write(data)

            def log_message(self, *_):
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def expect_asked(shown, server, name, value, seconds=5.0):
    """Wait until the last request had this value under a name; None: no such name."""
    until = time.monotonic() + seconds
    while not server.asked or server.asked[-1].get(name) != value:
        assert time.monotonic() < until, f"{name} of the last request is {server.asked[-1:]}, not {value}"
        shown.wait_for_timeout(20)
