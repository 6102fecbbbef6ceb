"""What is asked of a local server before it is recorded from."""

from dataclasses import replace

import pytest

from tests.loopback import Answer, LoopbackServer
from wise_pytest.endpoints.model import Endpoint
from wise_pytest.errors import ModelError
from wise_pytest.transport.introspect import describe_servers

LOCAL = Endpoint(
    name="m", provider="p", protocol="openai", api_model="m", base_url="http://127.0.0.1:1/v1", local=True
)


def test_a_servers_own_words_are_kept():
    with LoopbackServer(models=("m", "other")) as server:
        server.pages["/openapi.json"] = Answer({"info": {"title": "A server", "version": "1.2"}})
        server.pages["/props"] = Answer({"total_slots": 4, "build_info": "b4-abc", "model_path": "/m.gguf"})
        described = describe_servers([replace(LOCAL, base_url=server.base_url)])
        assert [request.path for request in server.requests] == ["/v1/models", "/props", "/openapi.json"]
    said = {"models": ["m", "other"], "slots": 4, "build": "b4-abc", "title": "A server", "version": "1.2"}
    assert described == {"m": said}  # and nothing of the paths of the server's machine


@pytest.mark.parametrize("slots", [0, -1, True, "4", None, 2.0])
def test_a_number_of_slots_that_is_none_is_not_believed(slots: object):
    with LoopbackServer() as server:
        server.pages["/props"] = Answer({"total_slots": slots})
        described = describe_servers([replace(LOCAL, base_url=server.base_url)])
    assert "slots" not in described["m"]


@pytest.mark.parametrize(("build", "kept"), [("", None), (7, None), (None, None), ("b" * 1000, "b" * 100)])
def test_a_build_is_kept_where_it_is_words_and_at_most_a_hundred_characters(build: object, kept: str | None):
    with LoopbackServer() as server:
        server.pages["/props"] = Answer({"build_info": build})
        described = describe_servers([replace(LOCAL, base_url=server.base_url)])
    assert described["m"].get("build") == kept


def test_a_bundled_model_is_not_recorded_from_anothers_server():
    with LoopbackServer(models=("other",)) as server:
        endpoint = replace(LOCAL, base_url=server.base_url, bundled=True)
        with pytest.raises(ModelError, match=r"^m: the server at .* serves other; start it with this model"):
            describe_servers([endpoint])
        # Any other name may be the user's own for what the server serves.
        assert describe_servers([replace(endpoint, bundled=False)])["m"]["models"] == ["other"]


def test_who_does_not_answer_or_is_remote_has_no_entry():
    assert describe_servers([LOCAL, replace(LOCAL, name="remote", local=False)]) == {}


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"data": 3}', b'{"data": [{"name": "m"}, 3]}'])
def test_nonsense_is_no_answer(body: bytes):
    with LoopbackServer() as server:
        server.pages = dict.fromkeys(("/v1/models", "/openapi.json"), Answer(body))
        described = describe_servers([replace(LOCAL, base_url=server.base_url, bundled=True)])
    assert described == {}
