"""The container file builds from a wheel, and the container answers; needs Docker or Podman, and a network."""

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 120


def engine():
    """The program of a container engine that runs, or None."""
    for name in ("docker", "podman"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True).returncode == 0:
            return name
    return None


@pytest.mark.timeout(1800)
def test_the_container_is_built_and_answers(tmp_path):
    name = engine()
    if name is None:
        pytest.skip("needs Docker or Podman, running")

    def ran(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    ran(sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT))
    ran(name, "build", "--tag", "saccade-test", "--file", str(ROOT / "deploy" / "Containerfile"), str(tmp_path))
    made = ran(name, "run", "--detach", "--publish", "127.0.0.1::8000", "saccade-test")
    try:
        address = f"http://{ran(name, 'port', made, '8000').splitlines()[0]}"
        until_ready(address)
        body = json.dumps({"input": "the European Economic Area"}).encode()
        request = urllib.request.Request(f"{address}/v1/predict", body, {"Content-Type": "application/json"})
        (found,) = json.load(urllib.request.urlopen(request))["predictions"]
        assert found["text"] == "la zone économique européenne"
        ran(name, "stop", made)
        assert ran(name, "inspect", "--format", "{{.State.ExitCode}}", made) == "0"
    finally:
        ran(name, "rm", "--force", made)


def until_ready(address):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(f"{address}/readyz")
            return
        except OSError:
            assert time.monotonic() < end, "the container does not get ready"
            time.sleep(0.5)
