"""A hundred thousand hostile requests over HTTP: each is answered, and every law stays true.

``python tests/fuzz_http.py [REQUESTS] [SEED]``: the texts are those of fuzz_engine.py, sent some
at a time on a connection that stays, in episodes of some hundred upon a server of their own. After
each batch the laws are asked, and time passes. It ends at the first that is not answered
properly, with what was sent.
"""

import asyncio
import json
import sys
from collections import Counter
from urllib.parse import urlsplit

from fuzz_engine import Fuzzer
from strict import objections

from resonate_lab.clients import Limits, serving

EPISODE = 400
#: Requests that are under way at once. They are made from what is stored before the first.
BATCH = 10
STATUSES = {200, 300, 400, 403, 404, 409, 422}
WAYS_ON = [{"duration": text} for text in ("1ms", "1s", "5s", "31s")] + [{"outage": "2m"}]


class Connection:
    """One that is kept alive, on which many requests are under way at once."""

    @classmethod
    async def open(cls, url):
        self, where = cls(), urlsplit(url)
        self.reader, self.writer = await asyncio.open_connection(where.hostname, where.port)
        return self

    async def post(self, path, texts):
        """Send them in one piece; return status and body of each response, in that order."""
        head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
        bodies = [text.encode() for text in texts]
        self.writer.write(b"".join(head % (path, len(body)) + body for body in bodies))
        return [await self.response() for _ in bodies]

    async def response(self):
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).lower().splitlines()
        headers = dict(line.split(b": ", 1) for line in lines if line)
        body = await self.reader.readexactly(int(headers[b"content-length"]))
        return int(first.split()[1]), body


def judge(text, status, body):
    """Refuse a response that the strictest client would not take, or that shows the inside."""
    answer = json.loads(body)
    good = status in STATUSES and answer["head"]["status"] == status
    good = good and objections(answer, *asked(text, answer)) == []
    if not good or b"Traceback" in body:
        raise AssertionError(f"{text[:2000]!r} got {status} {body[:500]!r}")


def asked(text, answer):
    """Return kind and number of a request; what is no request has those of its answer."""
    try:
        read = json.loads(text)
        kind, corr_id = read["kind"], read["head"]["corrId"]
    except (ValueError, TypeError, KeyError, RecursionError):
        kind = corr_id = None
    told = answer["kind"], answer["head"]["corrId"]
    is_read = isinstance(kind, str) and isinstance(corr_id, str) and told != ("unknown", "0")
    return (kind, corr_id) if is_read else told


async def episode(fuzzer, requests):
    """Send some to a server of their own; return how often each status came, and the steps."""
    statuses = Counter()
    async with serving(fuzzer.engine, limits=Limits(rate=1e9)) as url:
        here = await Connection.open(url)
        for begin in range(0, requests, BATCH):
            fuzzer.now = fuzzer.engine.now_ms
            texts = [fuzzer.message() for _ in range(min(BATCH, requests - begin))]
            for text, (status, body) in zip(texts, await here.post(b"/", texts), strict=True):
                judge(text, status, body)
                statuses[status] += 1
            fuzzer.engine.take_messages("poll://any@g", 5)
            if fuzzer.chance(0.4):
                way = json.dumps(fuzzer.pick(WAYS_ON))
                ((status, body),) = await here.post(b"/control/advance", [way])
                assert status == 200, body
            fuzzer.check()
        here.writer.close()
    return statuses


async def fuzz(requests, seed=1, report=10_000):
    """Send that many; return how often each status came."""
    statuses = Counter()
    steps = checks = 0
    for begin in range(0, requests, EPISODE):
        fuzzer = Fuzzer("standard", f"{seed} {begin}")
        statuses += await episode(fuzzer, min(EPISODE, requests - begin))
        steps += fuzzer.engine.state.steps
        checks += fuzzer.tally.checks
        if (done := statuses.total()) % report == 0 or done == requests:
            told = ", ".join(f"{status}: {n:,}" for status, n in sorted(statuses.items()))
            print(f"{done:,} requests ({told}), {steps:,} steps; laws asked {checks:,} times",
                  flush=True)  # fmt: skip
    return statuses


if __name__ == "__main__":
    numbers = [int(text.replace(",", "")) for text in sys.argv[1:]]
    asyncio.run(fuzz(*(numbers or [100_000])))
