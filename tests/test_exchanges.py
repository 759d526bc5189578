"""Recorded exchanges of the official SDKs, replayed: the engine answers as those SDKs want it."""

import pytest
from exchanges import PROMISE, RECORDED, REFUSED, TAKEN, TASK, recorded, replayed, whole
from strict import frame_objections, message_objections, objections


@pytest.mark.parametrize(("name", "client", "responses"), RECORDED)
def test_every_response_and_message_is_the_one_that_the_sdk_got(name, client, responses):
    count = 0
    for request, expected, got in replayed(recorded(name, client)):
        assert got == expected, request
        count += "kind" in request
    assert count == responses


@pytest.mark.parametrize(("name", "client", "responses"), RECORDED)
def test_every_response_is_as_strict_as_the_strictest_client(name, client, responses):
    for request, _, got in replayed(recorded(name, client)):
        if "kind" in request:
            assert objections(got, request["kind"], request["head"]["corrId"]) == []
        else:
            assert message_objections(got) == []


@pytest.mark.parametrize(("kind", "head", "data", "token"), REFUSED)
def test_the_judge_refuses_what_the_sdk_was_seen_to_refuse(kind, head, data, token):
    assert token in " ".join(objections(whole(kind, head, data), kind, "1"))


@pytest.mark.parametrize(("kind", "head", "data"), TAKEN)
def test_the_judge_takes_what_the_sdk_takes(kind, head, data):
    assert objections(whole(kind, head, data), kind, "1") == []


@pytest.mark.parametrize(
    ("message", "token"),
    [
        ({"kind": "execute", "data": {"task": {"id": "t", "version": 0}}}, "head"),
        ({"kind": "execute", "head": {"serverUrl": None}, "data": {"task": TASK}}, "serverUrl"),
        ({"kind": "execute", "head": {}, "data": {"task": {"id": "t"}}}, "version"),
        ({"kind": "unblock", "head": {}, "data": {"promise": {**PROMISE, "param": None}}}, "param"),
        ({"kind": "invoke", "head": {}, "data": {}}, "known"),
    ],
)
def test_the_judge_refuses_messages_that_the_sdk_drops(message, token):
    assert token in " ".join(message_objections(message))


@pytest.mark.parametrize(
    "frame",
    ["data: {}\r\n\r\n", "event: x\ndata: {}\n\n", "data: {\ndata: }\n\n", "data: {}\n",
     'data: {"a": "ü"}\n\n', "data:{}\n\n", ": here\n\n"],
)  # fmt: skip
def test_the_judge_refuses_frames_that_an_sdk_does_not_see(frame):
    assert frame_objections(frame.encode())
