"""A browser for tests that use pages as readers do; every visited page must run without an error."""

import os
import shutil

import pytest

from helpers.page_server import Answers
from helpers.pages import TEXT
from helpers.traces import fixed, transformer, translation

MICROPHONE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def _chromium():
    return next((path for path in map(shutil.which, NAMES) if path), None)


@pytest.fixture(scope="module")  # session scope would block other event loops
def browser():
    found = _chromium()
    if found is None and "CI" not in os.environ:
        pytest.skip("there is no Chromium here: install one to run the tests of the explorer page")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", *MICROPHONE])
        yield running
        running.close()


class Visitor:
    """Opens pages, and records their requests and errors."""

    def __init__(self, browser):
        self._browser, self._contexts = browser, []
        self.requests, self.faults = [], []

    def __call__(self, address, *, online=True, **options):
        context = self._browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        self._contexts.append(context)
        context.set_offline(not online)
        context.set_default_timeout(8000)
        page = context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address)
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    def close(self):
        for context in self._contexts:
            context.close()


@pytest.fixture
def visit(browser):
    """visit(address) opens a page and waits until it is drawn; an error in it fails the test."""
    visitor = Visitor(browser)
    yield visitor
    visitor.close()
    assert not visitor.faults


@pytest.fixture
def serve():
    """serve({name: trace}) is a server that answers with traces made by hand."""
    running = []

    def start(traces):
        running.append(Answers(traces))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture
def explorer(serve, visit):
    """explorer(hash) is a page and its server, with three models; the first has two examples."""

    def start(hash="", page=None, **options):
        server = serve({"one": translation("one"), "two": transformer("two"), "fixed": fixed("fixed")})
        server.examples = {"one": [{"input": TEXT}, {"input": "another law"}]}
        for name, value in options.items():
            setattr(server, name, value)
        return visit(f"{server.address}#{hash}", **(page or {})), server

    return start
