"""Servers for the tests, on loopback and in a thread: an engine, or whatever a test scripts."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Live:
    """A server that answers by a function, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []  # (envelope, headers)
        self.paths = []
        self.gone = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    @property
    def kinds(self):
        return [envelope["kind"] for envelope, _ in self.asked]

    def _handler(live):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                envelope = json.loads(body)
                live.asked.append((envelope, dict(self.headers)))
                live.paths.append(self.path)
                found = live.answer(envelope)
                if callable(found):  # it writes to the socket itself
                    found(self)
                    return
                status, body, *headers = found
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    @contextmanager
    def running(self) -> Iterator["Live"]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.gone.set()
            self._http.shutdown()
            self._http.server_close()
            thread.join()


def page(envelope, status=200, **data):
    """Return the response with a page of records."""
    head = {"corrId": envelope["head"]["corrId"], "status": status, "version": "2026-04-01"}
    found = {"kind": envelope["kind"], "head": head, "data": data}
    return status, json.dumps(found).encode()


def refusal(envelope, status, text):
    head = {"corrId": envelope["head"]["corrId"], "status": status, "version": "2026-04-01"}
    found = {"kind": envelope["kind"], "head": head, "data": text}
    return status, json.dumps(found).encode()


def engine_answers(engine):
    """Return an answer function that lets an engine speak."""

    def answer(envelope):
        response = engine.send(envelope)
        return response["head"]["status"], json.dumps(response).encode()

    return answer


def record(id="a", cron="@daily", **members):
    found = {"id": id, "cron": cron, "promiseId": "{{.id}}", "promiseTimeout": 1000}
    return {**found, "promiseParam": {}, "promiseTags": {}, "createdAt": 0, **members}
