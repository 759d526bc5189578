"""Who is let in: tokens, the pages of a browser, and how many requests."""

import asyncio

import pytest
from starlette.requests import Request

from resonate_lab.clients.admission import Admission, is_loopback

TOKEN = "s3cret-token"


def objection(admission, server=("127.0.0.1", 8001), **headers):
    """Return the status by which a request is refused, or None."""
    raw = [(k.replace("_", "-").encode(), v.encode("latin-1")) for k, v in headers.items()]
    request = Request({"type": "http", "server": server, "headers": raw})

    async def main():
        found = admission.objection(request)
        return found and found[0]

    return asyncio.run(main())


def bearer(admission, header):
    raw = [] if header is None else [(b"authorization", header.encode("latin-1"))]
    return admission.knows_bearer(Request({"type": "http", "headers": raw}))


class TestTokens:
    def test_they_are_compared_in_constant_time(self, monkeypatch):
        compared = []

        def compare(a, b):
            compared.append((a, b))
            return a == b

        monkeypatch.setattr("resonate_lab.clients.admission.hmac.compare_digest", compare)
        door = Admission(TOKEN, 1e9)
        assert [door.knows(shown) for shown in ("wrong", None, 7, TOKEN)] == [False] * 3 + [True]
        assert compared == [(t.encode(), TOKEN.encode()) for t in ("wrong", "", "", TOKEN)]

    def test_a_bearer_is_what_follows_the_word(self):
        door = Admission(TOKEN, 1e9)
        good = [f"Bearer {TOKEN}", f"bearer {TOKEN}"]
        bad = [None, "", TOKEN, f"Basic {TOKEN}", f"Bearer  {TOKEN}", f"Bearer {TOKEN} ",
               f"Bearer {TOKEN[:-1]}", "Bearer \xff"]  # fmt: skip
        assert [bearer(door, header) for header in good] == [True, True]
        assert [header for header in bad if bearer(door, header)] == []

    def test_without_a_token_nothing_needs_to_be_shown(self):
        door = Admission(None, 1e9)
        assert door.knows(None)
        assert bearer(door, None)

    @pytest.mark.parametrize("token", ["", " ", "two words", "schlüssel", "line\n", "\ud800"])
    def test_one_that_no_header_carries_is_refused_and_not_shown(self, token):
        with pytest.raises(ValueError, match="visible ASCII") as raised:
            Admission(token, 1e9)
        assert not token.strip() or token not in str(raised.value)


class TestPages:
    def test_what_only_browsers_send_is_refused_with_a_token_too(self):
        for door in (Admission(None, 1e9), Admission(TOKEN, 1e9)):
            assert objection(door, host="localhost", origin="http://localhost:8001") == 403
            for site in ("cross-site", "same-site", "same-origin"):
                assert objection(door, host="localhost", sec_fetch_site=site) == 403
            # What somebody wrote into the address line, and what Node sends.
            assert objection(door, host="localhost", sec_fetch_site="none") is None
            assert objection(door, host="localhost", sec_fetch_mode="cors") is None

    @pytest.mark.parametrize(
        "host",
        ["localhost", "LOCALHOST:8001", "localhost.", "a.localhost:1", "127.0.0.1", "127.0.0.1:80",
         "[::1]:8001", "[::1]", "192.168.1.7:8001", ""],
    )  # fmt: skip
    def test_a_name_that_no_page_can_own_is_this_machine(self, host):
        assert objection(Admission(None, 1e9), host=host) is None

    @pytest.mark.parametrize(
        "host",
        ["evil.example", "evil.example:8001", "localhost.evil.example", "notlocalhost",
         "127.0.0.1.evil.example", "[evil]:1", "a:b:c", "localhost@evil", "1", "::1", "\xff"],
    )  # fmt: skip
    def test_a_name_of_others_is_refused_on_loopback_unless_a_token_is_asked_for(self, host):
        assert objection(Admission(None, 1e9), host=host) == 403
        assert objection(Admission(None, 1e9), ("::1", 8001), host=host) == 403
        assert objection(Admission(TOKEN, 1e9), host=host) is None
        assert objection(Admission(None, 1e9), ("10.0.0.1", 8001), host=host) is None
        assert objection(Admission(None, 1e9), None, host=host) is None

    def test_the_host_that_was_refused_is_shown_as_plain_text(self):
        raw = [(b"host", b"\x1b[31m" + b"a" * 500)]
        request = Request({"type": "http", "server": ("127.0.0.1", 1), "headers": raw})
        _, sentence = Admission(None, 1e9).objection(request)
        assert "localhost" in sentence
        assert sentence.isprintable()
        assert len(sentence) < 300


class TestRate:
    def test_as_many_as_a_second_allows_and_then_as_time_gives(self, monkeypatch):
        now = [1000.0]

        async def main():
            monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])
            request = Request({"type": "http", "headers": []})
            door = Admission(None, 5)

            def let_in(count):
                return sum(door.objection(request) is None for _ in range(count))

            first = let_in(9)
            now[0] += 0.5
            second = let_in(9)
            now[0] += 3600
            third = let_in(9)
            monkeypatch.undo()
            return first, second, third

        assert asyncio.run(main()) == (5, 2, 5)


def test_loopback_is_what_this_machine_alone_reaches():
    reached = {h: is_loopback(h) for h in ("::1", "127.0.0.2", "localhost", "10.0.0.1", "::", "x")}
    assert [host for host, is_it in reached.items() if is_it] == ["::1", "127.0.0.2", "localhost"]
