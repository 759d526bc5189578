"""Reading a live server: page by page, by searches alone, and whatever it answers."""

import contextlib
import json
import logging
import socket
import sys
import traceback

import pytest
from live_server import engine_answers, page, record, refusal

import resonate_lab as rl
from resonate_lab.errors import DurationError, FleetError, ServerError
from resonate_lab.whatif import live as module
from resonate_lab.whatif.live import LiveServer, is_url

TOKEN = "s3cr3t-token-of-the-server"
TARGET = "poll://any@default"


pytestmark = pytest.mark.usefixtures("serve")


def fleet_engine(n):
    engine = rl.Engine(now="2024-01-01")
    for number in range(n):
        engine.schedules.create(f"s{number:05}", cron="0 9 * * *", target=TARGET)
    return engine


def why(url, **options):
    with pytest.raises(ServerError) as caught:
        rl.read_fleet(url, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.isprintable()
    return text


class TestPages:
    @pytest.mark.parametrize("n", [1, 999, 1000, 1001, 2500])
    def test_every_schedule_is_read_once_whatever_the_pages(self, serve, n):
        server = serve(engine_answers(fleet_engine(n)))
        fleet = rl.read_fleet(server.url)
        assert fleet["id"].tolist() == [f"s{number:05}" for number in range(n)]
        assert len(server.asked) == -(-n // 1000)

    def test_the_frame_is_that_of_the_file_that_search_prints(self, serve, tmp_path):
        engine = fleet_engine(3)
        engine.advance("2d")
        server = serve(engine_answers(engine))
        head = {"corrId": "1", "version": "2026-04-01"}
        printed = engine.send({"kind": "schedule.search", "head": head, "data": {}})["data"]
        path = tmp_path / "fleet.json"
        path.write_text(json.dumps(printed))
        frame = rl.read_fleet(server.url)
        assert frame.equals(rl.read_fleet(path))
        assert frame["promise_tags"].tolist() == [{"resonate:target": TARGET}] * 3

    def test_whatever_takes_a_fleet_takes_an_address(self, serve):
        server = serve(engine_answers(fleet_engine(2)))
        down = ("2024-01-01 08:00", "2024-01-03 10:00")
        assert rl.what_if(server.url, down).counters["missed"] == 6
        assert len(rl.audit(server.url, after="2024-01-01")) == 2
        assert rl.load(server.url, *down, freq="1h").sum() == 6

    def test_nothing_but_searches_is_ever_sent(self, serve):
        server = serve(engine_answers(fleet_engine(1500)))
        rl.read_fleet(server.url)
        for word in ("promise", "task"):
            list(LiveServer(server.url).records(word))
        assert {kind.partition(".")[2] for kind in server.kinds} == {"search"}

    @pytest.mark.parametrize("word", ["schedule", "schedule.create", "debug.reset", ""])
    def test_whatever_is_asked_for_the_kind_is_a_search(self, serve, word):
        server = serve(lambda e: refusal(e, 400, "unknown"))
        with pytest.raises(ServerError, match="400"):
            list(LiveServer(server.url).records(word))
        assert server.kinds == [f"{word}.search"]
        public = {name for name in dir(LiveServer) if not name.startswith("_")}
        assert public == {"records"}

    @pytest.mark.parametrize(
        ("path", "asked"), [("", "/"), ("/", "/"), ("/a/b", "/a/b/"), ("/ü b", "/%C3%BC%20b/")]
    )
    def test_a_path_is_kept_to(self, serve, path, asked):
        server = serve(engine_answers(fleet_engine(1)))
        assert len(rl.read_fleet(server.url + path)) == 1
        assert server.paths == [asked]

    def test_a_server_without_schedules_is_no_fleet(self, serve):
        with pytest.raises(FleetError, match="holds no schedule"):
            rl.read_fleet(serve(engine_answers(rl.Engine(now=0))).url)

    @pytest.mark.parametrize("source", ["http://a", "HTTPS://a", "https://a/b"])
    def test_an_address_is_known_by_its_scheme(self, source):
        assert is_url(source)
        assert not is_url(f"file-{source}")
        assert not is_url(None)


class TestToken:
    def test_it_goes_into_head_and_header_from_the_argument(self, serve, monkeypatch):
        monkeypatch.setenv("RESONATE_TOKEN", "another")
        server = serve(engine_answers(fleet_engine(1)))
        rl.read_fleet(server.url, token=TOKEN)
        envelope, headers = server.asked[0]
        assert envelope["head"]["auth"] == TOKEN
        assert headers["Authorization"] == f"Bearer {TOKEN}"

    def test_or_from_the_environment(self, serve, monkeypatch):
        monkeypatch.setenv("RESONATE_TOKEN", TOKEN)
        server = serve(engine_answers(fleet_engine(1)))
        rl.read_fleet(server.url)
        assert server.asked[0][0]["head"]["auth"] == TOKEN

    def test_without_one_none_is_sent(self, serve):
        server = serve(engine_answers(fleet_engine(1)))
        rl.read_fleet(server.url)
        envelope, headers = server.asked[0]
        assert "auth" not in envelope["head"]
        assert "Authorization" not in headers

    @pytest.mark.parametrize("status", [401, 403])
    def test_a_server_that_wants_another_says_so(self, serve, status):
        server = serve(lambda e: refusal(e, status, "no"))
        assert "RESONATE_TOKEN" in why(server.url)

    @pytest.mark.parametrize(
        "answer",
        [
            lambda e: refusal(e, 401, f"token {TOKEN} is wrong"),
            lambda e: refusal(e, 500, f"who is {TOKEN}?"),
            lambda e: (200, f"<html>{TOKEN}".encode()),
            lambda e: page(e, schedules=[{"name": TOKEN}]),
            lambda e: (302, b"", ("Location", f"/?token={TOKEN}")),
            lambda e: lambda handler: handler.connection.shutdown(socket.SHUT_RDWR),
        ],
    )
    def test_it_is_in_no_message_no_cause_no_traceback_and_no_log(self, serve, caplog, answer):
        caplog.set_level(logging.INFO)
        server = serve(answer)
        reader = LiveServer(server.url, TOKEN)
        with pytest.raises(ServerError) as caught:
            list(reader.records("schedule"))
        told = "".join(traceback.format_exception(caught.value))
        assert TOKEN not in told + repr(caught.value) + repr(reader) + caplog.text
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None

    @pytest.mark.parametrize(
        "url",
        [
            f"http://user:{TOKEN}@localhost:1",
            f"http://{TOKEN}@localhost:1",
            f"http://localhost:1/?token={TOKEN}",
            f"http://localhost:1/#{TOKEN}",
            f"http://localhost:{TOKEN}",
        ],
    )
    def test_an_address_that_holds_a_secret_is_refused_and_not_shown(self, url):
        with pytest.raises(ServerError) as caught:
            rl.read_fleet(url)
        assert TOKEN not in "".join(traceback.format_exception(caught.value))

    def test_nor_is_one_in_the_path_shown_or_logged(self, serve, caplog):
        caplog.set_level(logging.DEBUG)
        server = serve(lambda e: refusal(e, 500, "no"))
        assert TOKEN not in why(f"{server.url}/{TOKEN}")
        assert "HTTP Request" in caplog.text
        assert TOKEN not in caplog.text

    @pytest.mark.parametrize("token", ["a b", "a\nb", "ü", "\x00"])
    def test_a_token_that_no_header_carries_is_refused_and_not_shown(self, token):
        text = why("http://localhost:1", token=TOKEN + token)
        assert TOKEN not in text
        assert "copy it once more" in text


class TestBadServers:
    def test_one_that_is_down(self):
        with socket.socket() as held:  # bound and not listening: nobody else gets the port
            held.bind(("127.0.0.1", 0))
            text = why(f"http://127.0.0.1:{held.getsockname()[1]}")
        assert "is the server up" in text

    def test_one_that_never_answers(self, serve):
        server = serve(lambda e: lambda handler: server.gone.wait())
        assert "within 50 ms" in why(server.url, timeout="50ms")
        assert len(server.asked) == 3

    @pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
    @pytest.mark.parametrize("drop", [b"x: y\r\n", b" ", b"HTTP/1.1 100 Continue\r\n\r\n"])
    def test_one_that_drips_is_left_after_the_timeout_wherever_it_drips(self, serve, start, drop):
        def drip(handler):
            with contextlib.suppress(OSError):
                handler.wfile.write(start)
                while not server.gone.wait(0.005):
                    for at in range(len(drop)):
                        handler.wfile.write(drop[at : at + 1])

        server = serve(lambda e: drip)
        text = why(server.url, timeout="100ms")
        # Where a drop is no HTTP at all, that is found before the time is over.
        assert "did not answer in full within 100 ms" in text or "cannot be asked" in text
        assert len(server.asked) == 3

    def test_a_deadline_holds_for_the_whole_answer_and_not_for_each_byte(self, serve):
        def drip(handler):
            with contextlib.suppress(OSError):
                handler.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
                while not server.gone.wait(0.005):
                    handler.wfile.write(b"y")

        server = serve(lambda e: drip)
        assert "did not answer in full within 100 ms" in why(server.url, timeout="100ms")

    def test_one_that_hangs_up(self, serve):
        server = serve(lambda e: lambda handler: handler.connection.shutdown(socket.SHUT_RDWR))
        assert "cannot be asked" in why(server.url)
        assert len(server.asked) == 3

    @pytest.mark.parametrize("status", [429, 502, 503, 504])
    def test_one_that_is_busy_is_asked_three_times(self, serve, status):
        server = serve(lambda e: (status, b"<html>later</html>"))
        assert f"answered {status}" in why(server.url)
        assert len(server.asked) == 3

    def test_one_that_is_busy_once_is_read(self, serve):
        engine = engine_answers(fleet_engine(2))
        server = serve(lambda e: engine(e) if len(server.asked) > 1 else (503, b""))
        assert len(rl.read_fleet(server.url)) == 2

    @pytest.mark.parametrize(
        ("answer", "token"),
        [
            (lambda e: refusal(e, 500, "it broke"), "500"),
            (lambda e: (500, b"<html>Oops"), "500"),
            (lambda e: refusal(e, 501, "no search"), "501"),
            (lambda e: (410, b'{"error": "gone"}'), "410"),
            (lambda e: (301, b"", ("Location", "http://elsewhere/")), "leads elsewhere"),
            (lambda e: (200, b"<html>hello"), "'<html>hello'"),
            (lambda e: (200, b""), "no JSON"),
            (lambda e: (200, b"[" * 100_000), "no JSON"),
            (lambda e: (200, b'{"head": "\xff"}'), "byte 10 of it is not UTF-8"),
            (lambda e: (200, b"[1]"), "kind, head and data"),
            (lambda e: (200, b'{"head": {"status": "200"}, "data": {}}'), "kind, head and data"),
            (lambda e: page({**e, "kind": "promise.search"}, schedules=[]), "another request"),
            (lambda e: page({**e, "head": {"corrId": "x"}}, schedules=[]), "another request"),
            (lambda e: (200, refusal(e, 10**4000, "no")[1]), "kind, head and data"),
            (lambda e: refusal(e, 200, "fine"), "with str"),
            (lambda e: page(e), "no list of schedules"),
            (lambda e: page(e, schedules={}), "no list of schedules"),
            (lambda e: page(e, schedules=[record(), {"cron": "@daily"}]), "record 2 of page 1"),
            (lambda e: page(e, schedules=[record(id=None)]), "record 1 of page 1"),
            (lambda e: page(e, schedules=[7]), "record 1 of page 1"),
            (lambda e: page(e, schedules=[record()], cursor=7), "cursor 7"),
            (lambda e: page(e, schedules=[], cursor="a"), "cursor 'a'"),
            (lambda e: page(e, schedules=[record(), record()]), "'a' again"),
            (lambda e: refusal(e, 500, "\x1b[31mred\u202e\n"), "x1b[31mred"),
        ],
    )
    def test_one_that_answers_something_else(self, serve, answer, token):
        assert token in why(serve(answer).url)

    @pytest.mark.parametrize("cut", [b'{"kind": "schedule.se', b'{"kind"'])
    def test_one_that_breaks_off(self, serve, cut):
        def broken(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(cut)

        assert "cannot be asked" in why(serve(lambda e: broken).url)

    def test_a_page_that_names_itself_again(self, serve):
        server = serve(lambda e: page(e, schedules=[record()], cursor="a"))
        assert "circle" in why(server.url)
        assert len(server.asked) == 2

    def test_pages_without_end(self, serve, monkeypatch):
        monkeypatch.setattr(module, "MAX_PAGES", 5)

        def answer(envelope):
            id = f"s{len(server.asked):05}"
            return page(envelope, schedules=[record(id=id)], cursor=id)

        server = serve(answer)
        assert "more than 5 pages" in why(server.url)
        assert len(server.asked) == 5

    def test_a_body_without_end_is_cut_where_it_is_too_large(self, serve, monkeypatch):
        monkeypatch.setattr(module, "MAX_PAGE_BYTES", 2**20)

        def pour(handler):
            handler.send_response(200)
            handler.end_headers()
            with contextlib.suppress(OSError):
                while not server.gone.is_set():
                    handler.wfile.write(b" " * 2**16)

        server = serve(lambda e: pour)
        assert "more than 1 MiB" in why(server.url)

    def test_pages_that_are_too_large_together(self, serve, monkeypatch):
        monkeypatch.setattr(module, "MAX_TOTAL_BYTES", 2**20)

        def answer(envelope):
            id = f"s{len(server.asked):05}"
            return page(envelope, schedules=[record(id=id, note="x" * 2**18)], cursor=id)

        server = serve(answer)
        assert "1 MiB in all" in why(server.url)
        assert len(server.asked) == 4

    def test_compressed_bytes_are_not_unpacked(self, serve):
        import gzip

        bomb = gzip.compress(b" " * 2**24, mtime=0)
        server = serve(lambda e: (200, bomb, ("Content-Encoding", "gzip")))
        assert "not UTF-8" in why(server.url)
        assert server.asked[0][1]["Accept-Encoding"] == "identity"

    def test_a_schedule_without_cron_is_a_row_refused_and_the_others_are_computed(self, serve):
        lame = record(id="b")
        del lame["cron"]
        tags = {"resonate:target": TARGET}
        records = [record(promiseTags=tags), lame]
        server = serve(lambda e: page(e, schedules=records))
        answer = rl.what_if(server.url, ("2024-01-01", "2024-01-03"))
        assert answer.refused["schedule_id"].tolist() == ["b"]
        assert answer.counters["missed"] == 2

    @pytest.mark.parametrize(
        "members", [{"promiseTimeout": -1}, {"promiseTags": [1]}, {"promiseId": 3}, {"cron": 5}]
    )
    def test_a_record_with_a_senseless_member_is_named(self, serve, members):
        server = serve(lambda e: page(e, schedules=[record(), record(id="b", **members)]))
        with pytest.raises(FleetError, match="record 2 of"):
            rl.read_fleet(server.url)

    @pytest.mark.parametrize("url", ["http://", "http://:80", "http://[::1", "http://a:99999"])
    def test_an_address_that_is_none(self, url):
        assert "http://HOST:PORT" in why(url)

    @pytest.mark.parametrize("timeout", ["0s", "-1s", "soon"])
    def test_a_timeout_that_is_none(self, timeout):
        with pytest.raises((ServerError, DurationError), match="timeout"):
            rl.read_fleet("http://localhost:1", timeout=timeout)

    def test_without_httpx_the_way_to_get_it_is_told(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "httpx", None)
        assert "pip install 'resonate-lab[http]'" in why("http://localhost:1")
