"""A service in a process of its own, on a free port, for clients that speak through sockets."""

import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx

START = """
import json, sys, uvicorn
from onesided_service import ServiceConfig, create_app
app = create_app(ServiceConfig.read(sys.argv[1]))
inner = app.state.service
for dataset in inner.datasets.values():
    dataset.check()
roles = {name: ["analyst"] for name in inner.datasets}
curator = {name: ["curator"] for name in inner.datasets}
held = {"ann": roles, "bob": roles, "carol": curator}
tokens = {name: inner.people.add(name, own, days=1) for name, own in held.items()}
print(json.dumps(tokens), flush=True)
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


@contextmanager
def running(folder):
    """The address and the tokens of a service over ``folder``; it is stopped at the end."""
    port = free_port()
    command = [sys.executable, "-c", START, str(folder / "onesided.toml"), str(port)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError((folder / "log").read_text())
        url = f"http://127.0.0.1:{port}"
        wait_for(url)
        yield url, json.loads(line)
    finally:
        process.terminate()
        process.wait(600)
        process.stdout.close()


def wait_for(url):
    for _ in range(12_000):  # ten minutes; only against hanging
        try:
            if httpx.get(f"{url}/healthz").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise RuntimeError("the service never answered")
