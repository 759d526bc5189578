"""An engine in a file: whole or refused, whatever happens to the file or to who writes it."""

import errno
import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from history import HISTORY, START, TARGET, at, lived, send
from hypothesis import given
from hypothesis import strategies as st

from resonate_lab import Engine
from resonate_lab.engine.saved import VERSION
from resonate_lab.engine.saved import file as under_test
from resonate_lab.errors import SavedStateError
from resonate_lab.protocol.profile import PROFILES

HOSTILE = ["<script>", "\x00", "\ud800", "__proto__", "é" * 9, "x" * 1_000_000, "\n{}", "🟡"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "engine.json"


@pytest.fixture(scope="module")
def engine():
    return lived("server")


def copied(engine, path):
    engine.save(path)
    return Engine.load(path)


def told(engine):
    """Return everything about an engine that a copy must share."""
    state = engine.state
    ordered = ("promises", "schedules", "unblocks")
    return {
        **{name: list(getattr(state, name).items()) for name in ordered},
        **{name: dict(getattr(state, name)) for name in ("callbacks", "awaits", "listeners")},
        **{name: getattr(state, name) for name in ("profile", "polled_at", "polling", "steps")},
        "trace": engine.trace,
        "now": engine.now_ms,
        "next": engine.peek_ms(),
        "rank": state.fork().next_rank(),
    }


def lives_on(engine):
    """Let an engine live on for a while; return all that it answers and does."""
    answers = [send(engine, at(700) + number, kind, data)
               for number, (_, kind, data) in enumerate(HISTORY)]  # fmt: skip
    steps = [engine.step() for _ in range(20)]
    engine.advance("5m")
    return answers, steps, told(engine)


COPIES = {
    "load": lambda engine, path: copied(engine, path),
    "fork": lambda engine, path: engine.fork(),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
class TestCopies:
    @pytest.mark.parametrize("profile", PROFILES)
    def test_a_copy_is_equal_and_has_the_same_future(self, copy, profile, path):
        engine = lived(profile)
        twin = copy(engine, path)
        assert told(twin) == told(engine)
        assert twin.check() == []
        assert lives_on(twin) == lives_on(engine)

    def test_a_copy_of_an_engine_in_the_middle_of_a_run_ends_the_run(self, copy, path):
        engine = Engine("server", START)
        for id in "abc":
            engine.schedules.create(id, cron="* * * * *", target="poll://any@g")
        engine.state.log(START, "", "", "")
        send(engine, at(601), "promise.get", {"id": "x"})
        engine.step()
        twin = copy(engine, path)
        rest = [engine.step() for _ in range(5)]
        assert [twin.step() for _ in range(5)] == rest
        assert {step.subject for step in rest[:2]} == {"b", "c"}

    def test_what_happens_to_one_does_not_happen_to_the_other(self, copy, path):
        engine = lived()
        before = told(engine)
        lives_on(copy(engine, path))
        assert told(engine) == before
        twin = copy(engine, path)
        lives_on(engine)
        assert told(twin) == before

    def test_ones_own_rules_are_kept(self, copy, path):
        rules = PROFILES["standard"].replace(name="mine", retry_ms=7, id_separators=("/",))
        assert copy(Engine(rules, START), path).profile == rules

    def test_a_clock_beyond_the_calendar_is_kept(self, copy, path):
        engine = Engine(now=START)
        send(engine, 2**63 - 1, "promise.get", {"id": "x"})
        assert copy(engine, path).now_ms == 2**63 - 1

    def test_hostile_texts_are_kept(self, copy, path):
        engine = Engine("spec", START)
        for text in HOSTILE:
            if text != "\x00":  # in an id it is refused
                engine.promises.create(text, timeout="1h")
            engine.promises.create(f"p{len(engine.promises)}", timeout="1h", tags={text: text},
                                   param={"data": text, "headers": {text: text}})  # fmt: skip
        twin = copy(engine, path)
        assert told(twin) == told(engine)

    def test_rows_are_shared_again(self, copy, path):
        engine = Engine(now=START)
        engine.schedules.create("s", cron="* * * * *", target="poll://any@g")
        engine.outage("1h")
        rows = list(copy(engine, path).state.promises.values())
        assert len(rows) == 60
        for column in ("tags", "param", "firing", "task"):
            assert len({id(getattr(row, column)) for row in rows}) == 1


class TestFile:
    def test_a_million_of_a_kind_would_take_little_more_than_their_ids(self, path):
        engine = Engine(now=START)
        engine.schedules.create("s", cron="* * * * *", target="poll://any@g")
        engine.outage("7d")
        engine.save(path)
        ids = sum(len(json.dumps(id)) + 1 for id in engine.state.promises)
        assert len(engine.state.promises) == 10_080
        assert path.stat().st_size < ids + 3_000

    def test_it_is_two_lines_of_json_in_ascii(self, path, engine):
        engine.save(path)
        head, body = path.read_text(encoding="ascii").split("\n")
        assert json.loads(head) == {
            "format": "resonate_lab engine",
            "version": VERSION,
            "bytes": len(body),
            "sha256": hashlib.sha256(body.encode()).hexdigest(),
        }
        assert json.loads(body)["now"] == engine.now_ms

    def test_equal_engines_give_equal_files(self, tmp_path):
        for name in "ab":
            lived().save(tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_a_link_is_followed_and_the_mode_of_the_file_stays(self, tmp_path):
        target, link = tmp_path / "target", tmp_path / "link"
        Engine(now=1).save(target)
        target.chmod(0o640)
        link.symlink_to(target)
        Engine(now=2).save(link)
        assert link.is_symlink()
        assert target.stat().st_mode & 0o777 == 0o640
        assert Engine.load(target).now_ms == 2

    def test_one_that_is_read_only_stays_as_it_is(self, tmp_path):
        target = tmp_path / "golden"
        Engine(now=1).save(target)
        target.chmod(0o444)
        with pytest.raises(PermissionError, match="read-only"):
            Engine(now=2).save(target)
        assert Engine.load(target).now_ms == 1
        assert list(tmp_path.iterdir()) == [target]

    def test_a_name_of_the_greatest_length_can_be_written(self, tmp_path):
        assert copied(Engine(now=1), tmp_path / ("x" * 255)).now_ms == 1

    def test_what_cannot_be_read_or_written_says_so_as_any_file_does(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            Engine.load(tmp_path / "nothing")
        with pytest.raises(FileNotFoundError):
            Engine(now=1).save(tmp_path / "nowhere" / "engine")
        with pytest.raises(IsADirectoryError):
            Engine(now=1).save(tmp_path)
        assert list(tmp_path.iterdir()) == []


class Full:
    """A file on a disk that is full after some bytes."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, data):
        self.file.write(data[: self.room])
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "no space left on device")

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


class TestNothingIsLost:
    @pytest.mark.parametrize("call", ["os.fsync", "os.replace", "shutil.copymode"])
    @pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, MemoryError])
    def test_a_call_that_fails_leaves_the_old_file_alone(self, path, monkeypatch, call, error):
        Engine(now=1).save(path)

        def fail(*_):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(f"{under_test.__name__}.{call}", fail)
            with pytest.raises(error):
                Engine(now=2).save(path)
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        assert Engine.load(path).now_ms == 1

    @pytest.mark.parametrize("room", [0, 1, 100, 200, 1_000])
    def test_a_full_disk_leaves_the_old_file_alone(self, path, monkeypatch, room):
        Engine(now=1).save(path)
        with monkeypatch.context() as patch:
            full = lambda *args: Full(open(*args), room)  # noqa: E731, SIM115
            patch.setattr(under_test, "open", full, raising=False)
            with pytest.raises(OSError, match="no space"):
                Engine(now=2).save(path)
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        assert Engine.load(path).now_ms == 1

    def test_killed_before_any_line_of_the_save(self, path):
        old, new, deaths, parts = self.killed(path, "lines", 100)
        # The last child was let live: all lines were tried.
        assert old + new == deaths + 1 < 100
        assert min(old, new, parts) > 3

    def test_killed_two_hundred_times_at_random_moments(self, path):
        old, new, _, _ = self.killed(path, "times", 200)
        assert old + new == 200
        assert min(old, new) > 10

    def killed(self, path, way, deaths):
        script = Path(__file__).with_name("killed.py")
        command = [sys.executable, "-W", "ignore", str(script), str(path), way, str(deaths), "7"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return list(map(int, done.stdout.split()))


class TestRefuses:
    @pytest.fixture
    def whole(self, path, engine):
        engine.save(path)
        return path.read_bytes()

    def refusal(self, path, content):
        path.write_bytes(content)
        with pytest.raises(SavedStateError) as caught:
            Engine.load(path)
        text = str(caught.value)
        assert path.name in text
        assert "\n" not in text
        return text

    @pytest.mark.parametrize(
        "content",
        [b"", b"\n", b"{}", b"[]\n", b"null\n{}", b"\x00" * 999, b"PK\x03\x04", b"id,cron\ns,*",
         b'{"format": "other"}\n', b"[" * 10_000, b'{"format": "resonate_lab engine"'],
    )  # fmt: skip
    def test_a_foreign_file(self, path, content):
        text = self.refusal(path, content)
        assert "is no saved engine" in text
        assert repr(content[:40].partition(b"\n")[0])[:-1] in text

    @pytest.mark.parametrize("version", [0, 2, "1", None, True, [1], 1.0])
    def test_another_version(self, path, whole, version):
        head, body = whole.split(b"\n")
        other = json.dumps(json.loads(head) | {"version": version}).encode()
        text = self.refusal(path, other + b"\n" + body)
        assert "version" in text or "damaged" in text

    def test_it_names_the_version_that_it_is_and_the_one_it_reads(self, path, whole):
        text = self.refusal(path, whole.replace(b'"version": 1', b'"version": 7'))
        assert "version 7" in text
        assert "version 1" in text

    def test_every_shorter_file(self, path, whole):
        chance = random.Random(7)
        for size in [*range(170), *chance.sample(range(len(whole)), 100), len(whole) - 1]:
            self.refusal(path, whole[:size])
        assert "cut short" in self.refusal(path, whole[:-1])

    def test_a_file_that_was_added_to(self, path, whole):
        assert "added to" in self.refusal(path, whole + b" ")

    def test_any_byte_that_was_changed(self, path, whole):
        chance = random.Random(7)
        for place in [*range(170), *chance.sample(range(len(whole)), 200)]:
            changed = bytearray(whole)
            changed[place] ^= 1 << chance.randrange(8)
            self.refusal(path, bytes(changed))


def forged(path, content):
    """Write a content with a head that belongs to it."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(under_test._head(body) + body)


def edit(*way, to):
    """Return a change of a content: what stands at the end of a way becomes something else."""

    def change(content):
        *steps, last = way
        for step in steps:
            content = content[step]
        if to is KeyError:
            del content[last]
        else:
            content[last] = to

    return change


FORGERIES = {
    "lacks the member 'now'": edit("now", to=KeyError),
    "the content.now": edit("now", to="soon"),
    "content.polling": edit("polling", to=1),
    "more than 64 bits": edit("now", to=2**63),
    "polled_at": edit("polled_at", to=1.5),
    "content.promises": edit("promises", to=[]),
    "promises lacks the member 'id'": edit("promises", "id", to=KeyError),
    "promises.id holds 1 values": edit("promises", "id", to={"each": ["a"]}),
    "a value of promises.id": edit("promises", "id", "each", 3, to=7),
    "tells some id twice": edit("promises", "id", "each", 3, to="o.plain"),
    "promises.state": edit("promises", "state", "each", 0, to="happy"),
    "a run of promises.task": edit("promises", "task", to={"runs": [[0, -1]]}),
    "promises.task holds": edit("promises", "task", to={"runs": [[0, 10**15]]}),
    "a place in a pool": edit("promises", "tags", "each", 0, to=-1),
    "a place in a pool of": edit("promises", "param", to={"runs": [[10**6, 27]]}),
    "promises.firing": edit("promises", "firing", to={"some": []}),
    "task of promise 'o.plain'": edit("promises", "task", "each", 0, to=1),
    "settlement of promise 'o.plain'": edit("promises", "left_at_settlement", "each", 0, to=1),
    "an item of pools.tags": edit("pools", "tags", 0, to={"a": 1}),
    "an item of pools.values": edit("pools", "values", 0, to={"secret": "x"}),
    "pools.values.headers": edit("pools", "values", 0, to={"headers": {"a": None}}),
    "pools.values.data": edit("pools", "values", 0, to={"data": {}}),
    "an item of pools.firings": edit("pools", "firings", 1, to=["s", 7]),
    "a member of pools.firings": edit("pools", "firings", 1, to=["s", True, True]),
    "a state of pools.tasks": edit("pools", "tasks", 1, 0, to="lost"),
    "resumes of pools.tasks": edit("pools", "tasks", 1, 2, to=[1]),
    "a member of pools.tasks": edit("pools", "tasks", 1, 1, to=2**70),
    "schedules.cron": edit("schedules", "cron", "each", 0, to="61 * * * *"),
    "callbacks.id": edit("callbacks", "id", "each", 0, to="nobody"),
    "a promise with a task": edit("callbacks", "other", "each", 0, to="o.timer"),
    "a pending promise": edit("listeners", "id", "each", 0, to="o.done"),
    "unblocks.id": edit("unblocks", "id", "each", 0, to="nobody"),
    "profile lacks the rule 'retry_ms'": edit("profile", "retry_ms", to=KeyError),
    "rule retry_ms": edit("profile", "retry_ms", to=0),
    "profile.retry_ms": edit("profile", "retry_ms", to="30 s"),
    "profile.dialect": edit("profile", "dialect", to="posix"),
    "rule catch_up": edit("profile", "catch_up", to="never"),
    "profile.id_separators": edit("profile", "id_separators", to=[1]),
    "a value of rest": edit("rest", to=[None]),
}  # fmt: skip


@pytest.fixture(scope="module")
def content(tmp_path_factory, engine):
    path = tmp_path_factory.mktemp("content") / "engine.json"
    engine.save(path)
    return path.read_bytes().split(b"\n")[1]


class TestForgeries:
    """Who can write the file can write its checksum: what it says is looked at, too."""

    @pytest.mark.parametrize("place", FORGERIES)
    def test_it_is_refused_naming_the_place(self, path, content, place):
        data = json.loads(content)
        FORGERIES[place](data)
        forged(path, data)
        with pytest.raises(SavedStateError) as caught:
            Engine.load(path)
        assert place in str(caught.value)

    @pytest.mark.parametrize(
        "body",
        [b"", b"not json", b'{"now": NaN}', b"[" * 100_000, b'{"now": ' + b"9" * 9_999 + b"}",
         b"\xff\xfe", b"null", b"[]", b'"text"'],
    )  # fmt: skip
    def test_a_body_that_is_no_content(self, path, body):
        forged(path, body)
        with pytest.raises(SavedStateError, match="holds no state"):
            Engine.load(path)

    @given(data=st.data())
    def test_no_forgery_brings_the_engine_down(self, content, data, tmp_path_factory):
        forgery = json.loads(content)
        for _ in range(data.draw(st.integers(1, 3))):
            holder, key = data.draw(st.sampled_from(list(places(forgery))))
            values = st.sampled_from(
                [
                    None,
                    True,
                    -1,
                    0,
                    1,
                    2**62,
                    2**64,
                    1.5,
                    "",
                    "o.plain",
                    "pending",
                    [],
                    {},
                    [[0, 9]],
                ]
            )
            holder[key] = data.draw(values)
        path = tmp_path_factory.mktemp("forged") / "engine.json"
        forged(path, forgery)
        try:
            engine = Engine.load(path)
        except SavedStateError:
            return
        # What a law does not object to is a state like any other.
        if engine.check() == []:
            engine.fork().advance("5m")
            engine.save(path)
            assert told(Engine.load(path)) == told(engine)


def places(holder):
    """Yield every place in a content that can be written to, as its holder and key."""
    items = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, value in items:
        yield holder, key
        if isinstance(value, dict | list):
            yield from places(value)


def test_whatever_the_state_holds_is_copied_or_known_not_to_need_it():
    copied = {"profile", "promises", "created", "schedules", "callbacks", "awaits", "listeners",
              "unblocks", "agenda", "polled_at", "polling", "trace", "steps", "ranks"}  # fmt: skip
    of_the_transaction = {"load", "repeats", "_undo", "_taken", "_last_task"}
    built_when_asked_for = {"_index", "_schedule_ids", "outbox"}
    engine = Engine()
    assert vars(engine.state).keys() == copied | of_the_transaction | built_when_asked_for
    assert vars(engine._runs).keys() == {"now", "rest", "opened_at", "firing", "_state"}


def test_a_read_index_of_the_one_is_not_that_of_the_other():
    engine = Engine(now=START)
    engine.promises.create("a", timeout="1h", tags={"n": "1"})
    assert len(engine.promises.search(tags={"n": "1"})) == 1
    twin = engine.fork()
    twin.promises.create("b", timeout="1h", tags={"n": "1"})
    assert [len(each.promises.search(tags={"n": "1"})) for each in (engine, twin)] == [1, 2]


def test_nothing_is_written_but_the_file(tmp_path):
    before = set(os.listdir(tmp_path))
    lived().save(tmp_path / "engine")
    assert set(os.listdir(tmp_path)) - before == {"engine"}


def test_targets_survive(path):
    engine = Engine(now=START)
    engine.promises.create("p", timeout="1h", tags=TARGET)
    assert copied(engine, path).promises.get("p").tags == TARGET
