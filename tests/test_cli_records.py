"""Engine files: the real command line's words, flags, output and exit codes, on a file."""

import base64
import json

import pytest
from live_server import engine_answers
from wire import TARGET, TARGETED

import resonate_lab as rl

NOW = "2026-12-01"
NOW_MS = 1_796_083_200_000
HOUR = 3_600_000


@pytest.fixture
def file(run, tmp_path, monkeypatch):
    """Make an engine file, and name it in the environment."""
    path = tmp_path / "engine.json"
    assert run("engine", "new", str(path), "--now", NOW)[0] == 0
    monkeypatch.setenv("RESONATE_LAB_FILE", str(path))
    return path


@pytest.fixture
def ask(run, file):
    """Run a command that succeeds; return the JSON that it prints."""

    def call(*arguments):
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        value = json.loads(out)
        assert out == json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        return value

    return call


def refused(run, *arguments):
    """Run a command that the engine refuses; return what it says."""
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    return json.loads(err.removeprefix("Error: "))


class TestRefusals:
    def test_a_refusal_is_printed_as_the_real_command_line_prints_it(self, run, file):
        assert run("schedules", "get", "none") == (1, "", 'Error: "Schedule not found"\n')

    def test_with_json_it_is_a_document_on_stdout_too(self, run, file):
        code, out, err = run("schedules", "get", "none", "--json")
        assert (code, err) == (1, 'Error: "Schedule not found"\n')
        assert json.loads(out) == {"error": "Schedule not found", "exit_code": 1}


CREATE = (
    "schedules", "create", "nightly", "--cron", "0 2 * * *",
    "--promise-id", "nightly-{{.timestamp}}", "--promise-timeout", "1h",
    "--promise-tags", json.dumps(TARGETED),
)  # fmt: skip


class TestSchedules:
    def test_create_as_the_documents_write_it(self, ask, file):
        assert ask(*CREATE) == {
            "schedule": {
                "id": "nightly",
                "cron": "0 2 * * *",
                "promiseId": "nightly-{{.timestamp}}",
                "promiseTimeout": HOUR,
                "promiseParam": {},
                "promiseTags": TARGETED,
                "createdAt": NOW_MS,
                "nextRunAt": NOW_MS + 2 * HOUR,
            }
        }
        assert rl.Engine.load(file).schedules.get("nightly").cron == "0 2 * * *"

    def test_one_that_is_there_is_printed_as_it_is(self, ask):
        first = ask(*CREATE)
        again = [word if word != "0 2 * * *" else "0 3 * * *" for word in CREATE]
        assert ask(*again) == first
        assert ask("schedules", "get", "nightly") == first

    def test_singular_names_are_the_same(self, ask):
        ask("schedule", *CREATE[1:])
        assert ask("schedule", "get", "nightly")["schedule"]["id"] == "nightly"
        ask("promise", "search")
        ask("task", "search")

    def test_delete_prints_an_empty_object_and_stops_it(self, ask, run, file):
        ask(*CREATE)
        assert ask("schedules", "delete", "nightly") == {}
        assert refused(run, "schedules", "get", "nightly") == "Schedule not found"
        assert refused(run, "schedules", "delete", "nightly") == "Schedule not found"
        assert rl.Engine.load(file).peek_ms() is None

    def test_search_pages_by_cursor_and_has_ten_a_page(self, ask):
        for number in range(12):
            ask(*[word if word != "nightly" else f"s{number:02}" for word in CREATE])
        page = ask("schedules", "search")
        assert len(page["schedules"]) == 10
        rest = ask("schedules", "search", "--cursor", page["cursor"])
        assert [found["id"] for found in rest["schedules"]] == ["s10", "s11"]
        assert "cursor" not in rest
        assert len(ask("schedules", "search", "--limit", "1000")["schedules"]) == 12

    def test_search_by_tags(self, ask):
        ask(*CREATE)
        assert ask("schedules", "search", "--tags", json.dumps(TARGETED))["schedules"]
        assert not ask("schedules", "search", "--tags", '{"a": "b"}')["schedules"]

    def test_what_search_prints_is_a_fleet(self, run, ask, tmp_path):
        ask(*CREATE)
        ask(*[word if word != "nightly" else "other" for word in CREATE])
        pages = run("schedules", "search", "--limit", "1")[1]
        pages += run("schedules", "search", "--limit", "1", "--cursor", "nightly")[1]
        (tmp_path / "pages.json").write_text(pages)
        assert rl.read_fleet(tmp_path / "pages.json")["id"].tolist() == ["nightly", "other"]
        (tmp_path / "one.json").write_text(run("schedules", "get", "other")[1])
        assert rl.read_fleet(tmp_path / "one.json")["id"].tolist() == ["other"]

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"0 2 * * *": "0 2 * * 8"}, "Invalid cron expression"),
            ({"nightly": "a.b"}, "must not contain '.'"),
            ({json.dumps(TARGETED): "{}"}, "resonate:target"),
            ({json.dumps(TARGETED): "[1]"}, "Invalid request"),
        ],
    )
    def test_a_refusal_is_a_quoted_text_on_stderr_and_1(self, run, file, changes, words):
        before = file.read_bytes()
        assert words in refused(run, *[changes.get(word, word) for word in CREATE])
        assert file.read_bytes() == before

    @pytest.mark.parametrize("limit", ["0", "1001", "-5"])
    def test_a_limit_that_the_server_refuses(self, run, file, limit):
        assert "imit" in refused(run, "schedules", "search", "--limit", limit)


class TestDurations:
    @pytest.mark.parametrize(
        ("text", "ms"),
        [
            ("1ms", 1),
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("1m1ms", 60_001),
            ("2d", 172_800_000),
            ("", 0),
        ],
    )
    def test_units_follow_numbers_and_the_empty_text_is_none(self, ask, text, ms):
        made = ask(*[text if word == "1h" else word for word in CREATE])
        assert made["schedule"]["promiseTimeout"] == ms

    @pytest.mark.parametrize(
        "text",
        ["0s", "0h0m", "5", "1h5", "1.5h", "-1h", "h", "1 h", "1w", "1H", "²s", "9" * 19 + "d"],
    )
    def test_anything_else_is_a_wrong_command_line(self, run, file, text):
        code, out, err = run(*[text if word == "1h" else word for word in CREATE])
        assert (code, out) == (2, "")
        assert "such as 1h30m" in err


class TestPromises:
    def test_create_get_and_search(self, ask):
        made = ask("promises", "create", "p", "--timeout", "1h", "--tags", '{"a": "b"}')["promise"]
        assert made["timeoutAt"] == NOW_MS + HOUR
        assert made["state"] == "pending"
        assert ask("promises", "get", "p")["promise"] == made
        assert ask("promises", "search", "--tags", '{"a": "b"}')["promises"] == [made]
        assert ask("promises", "search", "--state", "resolved")["promises"] == []

    @pytest.mark.parametrize(
        ("verb", "state"),
        [("resolve", "resolved"), ("reject", "rejected"), ("cancel", "rejected_canceled")],
    )
    def test_settle(self, ask, verb, state):
        ask("promises", "create", "p", "--timeout", "1h")
        found = ask("promises", verb, "p", "--value", '{"data": "done"}')["promise"]
        assert found["state"] == state
        assert found["value"] == {"data": base64.b64encode(b"done").decode()}

    @pytest.mark.parametrize(
        ("data", "bytes"),
        [
            ('"text"', b"text"),
            ("7", b"7"),
            ("null", b"null"),
            ("[1, {}]", b"[1,{}]"),
            ('{"func": "f", "args": []}', b'{"args":[],"func":"f"}'),
            ('"\\ud800"', "\ud800".encode(errors="surrogatepass")),
        ],
    )
    def test_the_data_of_a_param_is_encoded(self, ask, data, bytes):
        param = f'{{"data": {data}, "headers": {{"h": "v"}}}}'
        found = ask("promises", "create", "p", "--timeout", "1h", "--param", param)["promise"]
        assert base64.b64decode(found["param"]["data"]) == bytes
        assert found["param"]["headers"] == {"h": "v"}

    def test_a_param_that_is_no_object_is_the_servers_to_refuse(self, run, file):
        words = refused(run, "promises", "create", "p", "--timeout", "1h", "--param", "[1]")
        assert "Invalid" in words

    def test_callbacks_and_listeners(self, ask, file):
        ask("promises", "create", "a", "--timeout", "1h", "--tags", json.dumps(TARGETED))
        ask("promises", "create", "a.1", "--timeout", "1h")
        assert ask("promises", "register-callback", "a.1", "a")["promise"]["id"] == "a.1"
        ask("promises", "register-listener", "a", "poll://uni@g/me")
        state = rl.Engine.load(file).state
        assert state.callbacks["a.1"] == {"a"}
        assert state.listeners["a"] == {"poll://uni@g/me"}

    def test_an_unknown_one(self, run, file):
        assert refused(run, "promises", "get", "nope") == "Promise not found"
        assert "`lost`" in refused(run, "promises", "search", "--state", "lost")

    @pytest.mark.parametrize("text", ["{", "nothing", "{'a': 1}", "[" * 100_000])
    def test_json_that_is_none_is_a_wrong_command_line(self, run, file, text):
        code, _, err = run("promises", "create", "p", "--timeout", "1h", "--tags", text)
        assert code == 2
        assert "no JSON" in err

    @pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400"])
    def test_a_number_that_json_has_not_is_a_wrong_command_line(self, run, file, number):
        param = f'{{"data": {{"n": [1, {number}]}}}}'
        code, _, err = run("promises", "create", "p", "--timeout", "1h", "--param", param)
        assert code == 2
        assert "no JSON" in err


class TestTasks:
    TAGS = ("--tags", json.dumps(TARGETED))

    def test_the_life_of_a_task(self, ask, run):
        ask("promises", "create", "a", "--timeout", "5h", *self.TAGS)
        ask("promises", "create", "a.1", "--timeout", "5h")
        claim = ("tasks", "claim", "a", "--pid", "w", "--version", "0", "--ttl", "1m")
        assert ask(*claim)["task"]["state"] == "acquired"
        refused(run, *claim)
        ask("tasks", "heartbeat", "--pid", "w", "--tasks", '[{"id": "a", "version": 1}]')
        fenced = {
            "kind": "promise.create",
            "head": {},
            "data": {"id": "b", "timeoutAt": NOW_MS * 2},
        }
        held = ("a", "--version", "1")
        found = ask("tasks", "fence", *held, "--action", json.dumps(fenced))
        assert found["action"]["data"]["promise"]["id"] == "b"
        wait = {"awaited": "a.1", "awaiter": "a"}
        actions = json.dumps([{"kind": "promise.register_callback", "head": {}, "data": wait}])
        assert ask("tasks", "suspend", *held, "--actions", actions) == {}
        ask("promises", "resolve", "a.1")
        assert ask("tasks", "get", "a")["task"]["state"] == "pending"
        ask("tasks", "claim", "a", "--pid", "w", "--version", "1", "--ttl", "1m")
        held = ("a", "--version", "2")
        assert ask("tasks", "release", *held) == {}
        ask("tasks", "halt", "a")
        assert ask("tasks", "search", "--state", "halted")["tasks"][0]["id"] == "a"
        ask("tasks", "continue", "a")
        ask("tasks", "claim", "a", "--pid", "w", "--version", "2", "--ttl", "1m")
        settle = {"kind": "promise.settle", "head": {}, "data": {"id": "a", "state": "resolved"}}
        done = ask("tasks", "complete", "a", "--version", "3", "--action", json.dumps(settle))
        assert done["promise"]["state"] == "resolved"

    def test_create_takes_its_param_as_it_is(self, ask):
        arguments = ("--pid", "w", "--ttl", "1m", "--timeout", "1h", "--param", '{"data": "eA=="}')
        found = ask("tasks", "create", "t", *arguments, *self.TAGS)
        assert (found["task"]["state"], found["task"]["ttl"]) == ("acquired", 60_000)
        assert ask("promises", "get", "t")["promise"]["param"] == {"data": "eA=="}

    def test_a_suspension_that_goes_on_is_no_success_there_either(self, ask, run):
        """The real command line takes the status 300 for a failure, and so does this one."""
        ask("promises", "create", "a", "--timeout", "5h", *self.TAGS)
        ask("promises", "create", "a.1", "--timeout", "5h")
        ask("promises", "resolve", "a.1")
        ask("tasks", "claim", "a", "--pid", "w", "--version", "0", "--ttl", "1m")
        wait = {"awaited": "a.1", "awaiter": "a"}
        actions = json.dumps([{"kind": "promise.register_callback", "head": {}, "data": wait}])
        found = refused(run, "tasks", "suspend", "a", "--version", "1", "--actions", actions)
        assert "preload" in found


class TestTree:
    def test_it_draws_as_the_library_does(self, ask, run, file):
        ask(*CREATE)
        assert run("engine", "advance", str(file), "2h")[0] == 0
        id = f"nightly-{NOW_MS + 2 * HOUR}"
        child = json.dumps(
            {"resonate:origin": id, "resonate:parent": id, "resonate:scope": "local"}
        )
        ask("promises", "create", f"{id}.1", "--timeout", "1h", "--tags", child)
        code, out, _ = run("tree", id)
        assert code == 0
        assert out == f"{id} 🟡\n└── {id}.1 🟡 (run)\n"
        found = ask("tree", id, "--json")
        assert [node["detail"] for node in found["nodes"]] == ["", "(run)"]

    def test_an_unknown_id_prints_itself(self, run, file):
        assert run("tree", "nope") == (0, "nope\n", "")

    def test_escapes_in_ids_are_made_visible(self, run, file):
        id = "\x1b[31m\u202e"
        made = run("promises", "create", id, "--timeout", "1h")[1]
        assert run("tree", id) == (0, "\\x1b[31m\\u202e 🟡\n", "")
        for shown in (made, run("promises", "search")[1]):
            assert not set(id[:1] + id[-1:]) & set(shown)
            assert id in json.loads(shown).get("promise", {"id": id})["id"]


class TestEngine:
    def test_new_is_an_engine_of_that_profile_and_clock(self, run, tmp_path):
        code, out, _ = run("engine", "new", "e.json", "--profile", "spec", "--now", NOW, "--json")
        assert code == 0
        facts = json.loads(out)
        assert (facts["profile"], facts["now"], facts["next_step"]) == ("spec", NOW_MS, None)
        loaded = rl.Engine.load(tmp_path / "e.json")
        assert (loaded.profile.name, loaded.now_ms) == ("spec", NOW_MS)

    def test_new_leaves_a_file_that_is_there_unless_forced(self, run, tmp_path):
        (tmp_path / "e.json").write_text("mine")
        code, _, err = run("engine", "new", "e.json")
        assert code == 2
        assert "--force" in err
        assert (tmp_path / "e.json").read_text() == "mine"
        assert run("engine", "new", "e.json", "--force", "--now", NOW)[0] == 0
        assert rl.Engine.load(tmp_path / "e.json").now_ms == NOW_MS

    def test_time_passes_in_the_file_as_in_the_library(self, ask, run, file):
        ask(*CREATE)
        twin = rl.Engine.load(file)
        code, out, _ = run("engine", "advance", str(file), "7d")
        twin.advance("7d")
        assert code == 0
        assert "7 d passed, it is 2026-12-08 00:00:00Z" in out
        assert "schedule firing" in out
        loaded = rl.Engine.load(file)
        assert [p.to_wire() for p in loaded.promises] == [p.to_wire() for p in twin.promises]
        assert loaded.trace == twin.trace

    def test_an_outage_is_told_in_words_and_in_steps(self, ask, run, file):
        ask(*CREATE)
        code, out, _ = run("engine", "outage", str(file), "3d")
        assert code == 0
        words = " ".join(out.split())
        assert "3 ticks fired, 0 promises live, 3 expired" in words
        assert "caught up by 2026-12-04 00:00:00Z" in words
        found = json.loads(run("engine", "outage", str(file), "1d", "--json")[1])
        assert [(s["step"], s["subject"], s["ticks"]) for s in found["steps"]] == [
            ("schedule firing", "nightly", 1)
        ]
        assert rl.Engine.load(file).now_ms == NOW_MS + 96 * HOUR

    def test_one_that_does_not_catch_up_says_so(self, run, tmp_path):
        engine = rl.Engine("server", now=NOW)
        engine.schedules.create("s", cron="* * * * * *", target=TARGET)
        engine.save(tmp_path / "e.json")
        _, out, _ = run("engine", "outage", "e.json", "10s")
        assert "not caught up" in out

    def test_nothing_happened(self, run, file):
        code, out, _ = run("engine", "advance", str(file), "1h")
        assert (code, out) == (0, "1 h passed, it is 2026-12-01 01:00:00Z: 0 steps\n")

    def test_show(self, ask, run, file):
        ask(*CREATE)
        code, out, _ = run("engine", "show", str(file))
        assert code == 0
        assert "schedules  1\n" in out
        assert "next step  2026-12-01 02:00:00Z" in out
        assert ask("engine", "show", str(file), "--json")["next_step"] == NOW_MS + 2 * HOUR

    def test_a_live_server_is_mirrored_by_searches_alone(self, run, serve, tmp_path):
        engine = rl.Engine("server", now=NOW)
        engine.schedules.create("a", cron="0 * * * *", target=TARGET)
        engine.promises.create("p", timeout="1d")
        server = serve(engine_answers(engine))
        arguments = ("engine", "mirror", server.url, "e.json", "--now", NOW)
        assert run(*arguments)[0] == 0
        assert len(rl.Engine.load(tmp_path / "e.json").promises) == 0
        assert run(*arguments, "--promises")[0] == 2
        assert run(*arguments, "--promises", "--force")[0] == 0
        assert len(rl.Engine.load(tmp_path / "e.json").promises) == 1
        assert {kind.partition(".")[2] for kind in server.kinds} == {"search"}

    def test_a_server_that_cannot_be_read_leaves_no_file(self, run, serve, tmp_path):
        server = serve(lambda e: (500, b""))
        code, _, err = run("engine", "mirror", server.url, "e.json")
        assert code == 1
        assert err.count("\n") == 1
        assert not (tmp_path / "e.json").exists()

    @pytest.mark.parametrize(
        ("arguments", "code", "token"),
        [
            (("engine", "advance", "e.json", "--", "-1d"), 1, "does not go back"),
            (("engine", "advance", "e.json", "long"), 1, "'long'"),
            (("engine", "advance", "none.json", "1d"), 1, "'none.json'"),
            (("engine", "advance", "e.json"), 2, "DURATION"),
            (("engine", "show", "bad.json"), 1, "bad.json"),
            (("engine", "show", "."), 2, "directory"),
            (("engine", "new", "e2.json", "--profile", "sql"), 2, "sql"),
            (("engine", "new", "no/e.json"), 1, "folder 'no'"),
            (("schedules", "get", "a"), 2, "RESONATE_LAB_FILE"),
            (("schedules", "get", "a", "--file", "bad.json"), 1, "bad.json"),
            (("schedules", "get"), 2, "ID"),
            (("schedules", "create", "a", "--file", "e.json"), 2, "--cron"),
        ],
    )
    def test_what_is_wrong_is_said_in_a_sentence(self, run, tmp_path, arguments, code, token):
        rl.Engine(now=NOW).save(tmp_path / "e.json")
        (tmp_path / "bad.json").write_text("{}")
        found, out, err = run(*arguments)
        assert (found, out) == (code, "")
        assert token in err
        assert err.splitlines()[-1].startswith("Error: ")
