"""The OpenAI-compatible protocol: golden requests, and replies as servers really send them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.endpoints.messages import MAX_QUOTED
from wise_pytest.endpoints.model import Endpoint, HttpRequest, Part
from wise_pytest.endpoints.openai import read_reply
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.endpoints.registry import load_registry
from wise_pytest.panels.model import Decoding
from wise_pytest.records import Usage

DECODING = Decoding(max_tokens=120, temperature=0.2)
JSON = {"content-type": "application/json"}


def thought(kind: str, text: str) -> Part:
    return Part(kind=kind, thought=True, text=text)


def shown(kind: str, text: str) -> Part:
    return Part(kind=kind, thought=False, text=text)


def reading(payload: Any, *, status: int = 200) -> Any:
    return read_reply(status, JSON, json.dumps(payload).encode())


def choice(message: Any, finish: Any = "stop", **top: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish}], **top}


# Requests


def request_for(name: str, *, prompt: str = "Say hi.", key: str | None = None) -> HttpRequest:
    endpoint = load_registry()[name]
    return PROTOCOLS[endpoint.protocol].build_request(prompt, endpoint, DECODING, key)


def test_a_local_model_gets_max_tokens_a_temperature_and_no_key():
    request = request_for("smollm2-135m-instruct")
    assert request.method == "POST"
    assert request.url == "http://127.0.0.1:8000/v1/chat/completions"
    assert dict(request.headers) == {"accept": "application/json", "content-type": "application/json"}
    assert request.body == (
        b'{"max_tokens":120,"messages":[{"content":"Say hi.","role":"user"}],'
        b'"model":"smollm2-135m-instruct","temperature":0.2}'
    )


def test_openai_gets_max_completion_tokens_and_the_key():
    request = request_for("gpt-4.1-mini", key="sk-test")
    assert request.url == "https://api.openai.com/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-test"
    assert request.body == (
        b'{"max_completion_tokens":120,"messages":[{"content":"Say hi.","role":"user"}],'
        b'"model":"gpt-4.1-mini","temperature":0.2}'
    )


def test_a_reasoning_model_gets_no_temperature_and_its_extra_parameters():
    assert request_for("gpt-5.5").body == (
        b'{"max_completion_tokens":120,"messages":[{"content":"Say hi.","role":"user"}],'
        b'"model":"gpt-5.5-2026-04-23","reasoning_effort":"none"}'
    )


def test_any_prompt_can_be_sent_and_arrives_as_it_is():
    prompt = 'né "\\ \n\ud83d 🎉'
    body = request_for("gpt-4o-mini", prompt=prompt).body
    assert body.isascii()
    assert json.loads(body)["messages"][0]["content"] == prompt


def test_the_digest_covers_method_url_and_body_and_never_the_key():
    one = request_for("gpt-4.1-mini", key="sk-one")
    other = request_for("gpt-4.1-mini", key="sk-two")
    expected = hashlib.sha256(b"POST\n" + one.url.encode() + b"\n" + one.body).hexdigest()
    assert one.digest == other.digest == expected
    changed = [
        request_for("gpt-4o-mini"),
        request_for("gpt-4.1-mini", prompt="Say hi!"),
        HttpRequest("PUT", one.url, one.headers, one.body),
        HttpRequest("POST", one.url + "x", one.headers, one.body),
    ]
    assert len({one.digest, *(request.digest for request in changed)}) == 5


def test_a_request_does_not_show_its_key():
    assert "sk-secret" not in repr(request_for("gpt-4.1-mini", key="sk-secret"))


def test_an_endpoint_can_be_hashed_although_it_holds_tables():
    assert len(set(load_registry().values())) == len(load_registry())


# Replies


def test_a_good_reply_is_read_in_full():
    reply = reading(
        choice(
            {"role": "assistant", "content": " Two words\n", "refusal": None},
            model="gpt-4.1-mini-2025-04-14",
            usage={
                "prompt_tokens": 9,
                "completion_tokens": 3,
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
        )
    )
    assert reply.status == "ok"
    assert reply.text == " Two words\n"
    assert reply.finish_reason == "stop"
    assert reply.flags == ()
    assert reply.usage == Usage(9, 3, 1)
    assert reply.served_model == "gpt-4.1-mini-2025-04-14"
    assert reply.reason is None


@pytest.mark.parametrize(
    ("message", "finish", "status", "text"),
    [
        ({"content": ""}, "stop", "ok", ""),
        ({"content": None}, "stop", "ok", ""),
        ({"content": "five words that stop here"}, "length", "truncated", "five words that stop here"),
        ({"content": ""}, "length", "truncated", ""),
        ({"content": None}, "length", "truncated", ""),
        ({"role": "assistant"}, "length", "truncated", ""),
        ({"content": "in part"}, "model_length", "truncated", "in part"),
        ({"content": ""}, "content_filter", "blocked", ""),
        ({"content": None}, "content_filter", "blocked", ""),
        ({}, "content_filter", "blocked", None),
        ({"content": None, "refusal": "I cannot."}, "stop", "refused", "I cannot."),
        ({"content": "", "refusal": "I cannot."}, "stop", "refused", "I cannot."),
        ({"content": "Well.", "refusal": "I cannot."}, "stop", "refused", "Well."),
        ({"content": None, "refusal": "I cann"}, "length", "refused", "I cann"),
        ({"content": None, "refusal": "no"}, "content_filter", "blocked", "no"),
        ({"content": "text", "refusal": ""}, "stop", "ok", "text"),
        ({"content": "half"}, "insufficient_system_resource", "error", "half"),
        ({"content": "half"}, "error", "error", "half"),
        ({"content": None, "tool_calls": [{}]}, "tool_calls", "error", ""),
        ({"content": None, "function_call": {}}, "function_call", "error", ""),
        ({"content": "text"}, "xyz", "error", "text"),
        ({"content": "text"}, 3, "error", "text"),
        ({"content": "text"}, ["stop"], "error", "text"),
        ({"content": ""}, None, "error", ""),
        ({"role": "assistant"}, "stop", "error", None),
        ({"content": 5}, "stop", "error", None),
        ({"content": {"text": "hidden"}}, "stop", "error", None),
        ({"text": "not a field of this protocol"}, "stop", "error", None),
    ],
)
def test_status_and_text(message: Any, finish: Any, status: str, text: str | None):
    reply = reading(choice(message, finish))
    assert (reply.status, reply.text) == (status, text)
    assert (reply.reason is not None) == (status in ("error", "blocked"))


def test_an_unknown_finish_reason_is_named():
    assert reading(choice({"content": "a"}, "xyz")).reason == 'unknown finish reason "xyz"'


def test_a_missing_finish_reason_with_text_is_ok_and_flagged():
    reply = reading(choice({"content": "text"}, None))
    assert (reply.status, reply.text, reply.flags) == ("ok", "text", ("finish_reason_missing",))
    absent = reading({"choices": [{"message": {"content": "text"}}]})
    assert (absent.status, absent.flags) == ("ok", ("finish_reason_missing",))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_never_the_answer(field: str):
    """Nor is its absence an empty answer: the server has put the answer where nobody looks for it."""
    for message in ({"content": None, field: "9.9"}, {"content": "\n", field: "9.9"}, {field: "9.9"}):
        reply = reading(choice(message))
        assert (reply.status, (reply.text or "").strip()) == ("error", "")
        assert reply.flags == ("thought_parts", "reasoning_only")
        assert "a thought and no answer" in reply.reason
    capped = reading(choice({"content": None, field: "9.9"}, "length"))
    assert (capped.status, capped.text, capped.flags) == (
        "truncated",
        "",
        ("thought_parts", "reasoning_only"),
    )
    both = reading(choice({"content": "B", field: "9.9"}))
    assert (both.status, both.text, both.flags) == ("ok", "B", ("thought_parts",))
    assert both.parts == (thought(field, "9.9"), shown("content", "B"))
    blank = reading(choice({"content": "", field: "\n"}))
    assert (blank.status, blank.text, blank.flags) == ("ok", "", ())
    refused = reading(choice({"content": None, field: "9.9", "refusal": "No."}))
    assert (refused.status, refused.text) == ("refused", "No.")


@pytest.mark.parametrize(
    ("text", "visible", "hidden"),
    [
        ("<think>hm</think>B", "B", "hm"),
        ("\n<think>\nhm\n</think>\n\nTwo words\n", "\n\nTwo words\n", "\nhm\n"),
        ("<think>\n\n</think>\n\nB", "\n\nB", "\n\n"),
        ("<think>a</think>B<think>c</think>", "B<think>c</think>", "a"),
    ],
)
def test_a_thought_that_opens_the_text_is_told_from_the_answer(text: str, visible: str, hidden: str):
    reply = reading(choice({"content": text}))
    assert (reply.status, reply.text) == ("ok", visible)
    assert reply.parts == (thought("<think>", hidden), shown("content", visible))
    assert reply.flags == (("think_tag", "thought_parts") if hidden.strip() else ("think_tag",))


def test_a_thought_without_an_end_is_no_answer():
    capped = reading(choice({"content": "<think>\nhm"}, "length"))
    assert (capped.status, capped.text) == ("truncated", "")
    assert capped.flags == ("think_tag", "thought_parts", "reasoning_only")
    assert reading(choice({"content": "<think>\nhm"})).status == "error"
    assert reading(choice({"content": "<think></think>"})).status == "ok"


@pytest.mark.parametrize("text", ["hm</think>B", "Use <think> here", "B <think>hm</think>"])
def test_any_other_tag_of_a_thought_stays_where_it_is(text: str):
    reply = reading(choice({"content": text}))
    assert (reply.status, reply.text) == ("ok", text)
    assert reply.flags == (("think_tag",) if "</think>" in text else ())


@pytest.mark.parametrize(
    ("parts", "status", "text"),
    [
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "Okay"},
            ],
            "ok",
            "Okay",
        ),
        ([{"type": "text", "text": "a "}, {"type": "text", "text": "b"}], "ok", "a b"),
        ([{"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "a"}], "ok", "a"),
        ([], "ok", ""),
        ([{"type": "refusal", "refusal": "No."}], "refused", "No."),
        ([{"type": "image_url", "image_url": {}}], "error", None),
        ([{"type": "text", "text": None}], "error", None),
        ([{"text": "no type"}], "error", None),
        (["bare"], "error", None),
        ([{"type": ["text"], "text": "x"}], "error", None),
    ],
)
def test_content_in_parts(parts: list[Any], status: str, text: str | None):
    reply = reading(choice({"content": parts}))
    assert (reply.status, reply.text) == (status, text)


def test_a_lone_surrogate_is_kept_and_flagged():
    reply = read_reply(
        200, JSON, b'{"choices":[{"message":{"content":"ok \\ud83d"},"finish_reason":"stop"}]}'
    )
    assert (reply.status, reply.text, reply.flags) == ("ok", "ok \ud83d", ("lone_surrogate",))
    pair = read_reply(
        200, JSON, b'{"choices":[{"message":{"content":"\\ud83c\\udf89"},"finish_reason":"stop"}]}'
    )
    assert (pair.text, pair.flags) == ("🎉", ())


def test_blank_keep_alive_lines_before_the_reply_do_no_harm():
    body = b"\n\n\n" + json.dumps(choice({"content": "hi"})).encode()
    assert read_reply(200, JSON, body).text == "hi"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"choices":null,"error":{"code":429,"message":"busy"}}', "busy"),
        (b'{"choices":[{"error":{"message":"upstream died"},"finish_reason":"error"}]}', "upstream died"),
        (b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"error":"boom"}', "boom"),
        (b'{"error":"  "}', "does not say which"),
        (b'{"error":"Unexpected endpoint or method."}', "Unexpected endpoint or method."),
        (b'{"object":"error","message":{"detail":[{"type":"extra_forbidden"}]}}', "extra_forbidden"),
        (b'{"detail":"Unauthorized"}', "Unauthorized"),
        (b'{"choices":[]}', "no choices"),
        (b'{"choices":{"0":{}}}', "no choices"),
        (b"{}", "no choices"),
        (b'{"choices":[null]}', "no message"),
        (b'{"choices":[{"text":"old protocol","finish_reason":"stop"}]}', "no message"),
        (b'{"choices":[{"message":"hi","finish_reason":"stop"}]}', "no message"),
        (b"\n\n\n", "empty body"),
        (b"", "empty body"),
        (b"<html><body>Bad gateway</body></html>", "Bad gateway"),
        (b'{"error":"\xe9"}', "not readable JSON"),
        (b"[1,2]", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b"null", "not readable JSON"),
        (b"[" * 100_000, "not readable JSON"),
        (b'{"choices":' + b"9" * 10_000 + b"}", "not readable JSON"),
    ],
)
def test_a_success_that_is_none(body: bytes, says: str):
    reply = read_reply(200, JSON, body)
    assert (reply.status, reply.text) == ("error", None)
    assert says in reply.reason
    assert len(reply.reason) < MAX_QUOTED + 100
    assert "\n" not in reply.reason


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (429, b'{"error":{"message":"slow down","type":"t","code":"c"}}', "HTTP 429: slow down"),
        (404, b'{"error":"model not found"}', "HTTP 404: model not found"),
        (401, b'{"detail":"bad key"}', "HTTP 401: bad key"),
        (422, b'{"object":"error","message":"no such field"}', "HTTP 422: no such field"),
        (422, b'{"detail":[{"msg":"x"}]}', 'HTTP 422: [{"msg": "x"}]'),
        (400, b'[{"error":{"code":400,"message":"bad","status":"INVALID"}}]', "HTTP 400: bad"),
        (400, b'{"why":"other"}', 'HTTP 400: {"why":"other"}'),
        (503, b"", "HTTP 503: empty body with HTTP status 503"),
        (302, b"", "HTTP 302: empty body with HTTP status 302"),
        (
            500,
            b"<b>\xff\n down",
            "HTTP 500: the body is not readable JSON (application/json): <b>\ufffd down",
        ),
        (500, b'{"error":{"message":""}}', 'HTTP 500: {"message": ""}'),
    ],
)
def test_http_errors_quote_the_provider(status: int, body: bytes, reason: str):
    reply = read_reply(status, JSON, body)
    assert (reply.status, reply.text, reply.reason) == ("error", None, reason)


def test_moderation_that_comes_as_an_http_error_is_blocked():
    reply = reading({"error": {"type": "content_filter", "message": "high risk"}}, status=400)
    assert (reply.status, reply.text, reply.reason) == ("blocked", None, "HTTP 400: high risk")


def test_a_message_about_the_key_is_quoted_without_it():
    said = "Incorrect API key provided: sk-proj-abcd****wxyz. You are in org-AbCdEf123456."
    reason = reading({"error": {"message": said}}, status=401).reason
    assert "abcd" not in reason
    assert "AbCdEf" not in reason
    assert "Incorrect API key provided" in reason


def test_a_reason_is_bounded_and_printable():
    reason = reading({"error": {"message": "a\x1b[31m\u202e\ud83d" + "b" * 10_000}}, status=400).reason
    assert len(reason) <= MAX_QUOTED + len("HTTP 400: ")
    assert reason.isprintable()
    assert "\\u001b" in reason


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ("many", Usage()),
        ([], Usage()),
        ({}, Usage()),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(0, 0)),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": "9", "completion_tokens": 1.5}, Usage()),
        ({"prompt_tokens": 9, "completion_tokens_details": None}, Usage(9)),
        ({"completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": None}}, Usage(None, 4)),
    ],
)
def test_usage_is_taken_only_where_it_is_a_count(usage: Any, expected: Usage):
    assert reading(choice({"content": "x"}, usage=usage)).usage == expected


@pytest.mark.parametrize(
    "error",
    [
        {"type": "content_filter", "code": 400},
        {"code": "content_policy_violation"},
        {"code": "data_inspection_failed", "type": "invalid_request_error"},
    ],
)
def test_moderation_has_many_names(error: dict[str, Any]):
    assert reading({"error": {**error, "message": "no"}}, status=400).status == "blocked"


def test_a_web_page_is_no_reply_and_says_so():
    reply = read_reply(200, {"content-type": "text/html"}, b"<!DOCTYPE html>\n<title>Hi</title>")
    assert reply.status == "error"
    assert reply.reason == (
        "the server answered with a web page (text/html); is the base URL that of an API? "
        "<!DOCTYPE html> <title>Hi</title>"
    )


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Invalid key AIzaSyA-abcdefghij.", "Invalid key [scrubbed]"),
        ("Your account org-abc12345<ak-xyz98765> is suspended", "Your account [scrubbed]<[scrubbed]> is"),
        ("organization 01234567-89ab-cdef-0123-456789abcdef has", "organization [scrubbed] has"),
        ("not used in project 583912345678 before", "not used in project [scrubbed] before"),
        ("consumer 'project_number:583912345678'", "consumer 'project_number:[scrubbed]'"),
        ("a task of 500000 words, sk-ate", "a task of 500000 words, sk-ate"),
    ],
)
def test_a_message_names_no_account(said: str, kept: str):
    assert kept in reading({"error": {"message": said}}, status=403).reason


@pytest.mark.parametrize("model", [None, "", 5, ["m"]])
def test_a_served_model_that_is_no_name_is_unknown(model: Any):
    assert reading(choice({"content": "x"}, model=model)).served_model is None


# Whatever comes


@given(status=st.integers(100, 599), body=st.binary(max_size=200))
def test_arbitrary_bytes_are_an_error_in_words(status: int, body: bytes):
    reply = read_reply(status, {}, body)
    assert reply.status == "error"
    assert reply.reason


@given(body=st.binary(max_size=40), at=st.integers(0, 80))
def test_a_damaged_good_reply_never_raises(body: bytes, at: int):
    good = json.dumps(choice({"content": "seen"})).encode()
    reply = read_reply(200, {}, good[:at] + body + good[at:])
    assert reply.status in ("ok", "error", "truncated", "blocked", "refused")


def test_extra_parameters_never_replace_what_the_panel_decided():
    endpoint = Endpoint(
        name="m",
        provider="p",
        protocol="openai",
        api_model="m",
        base_url="http://h/v1",
        extra={"model": "other", "max_tokens": 1, "top_p": 0.5},
    )
    body = json.loads(PROTOCOLS["openai"].build_request("x", endpoint, DECODING, None).body)
    assert (body["model"], body["max_tokens"], body["top_p"]) == ("m", 120, 0.5)
