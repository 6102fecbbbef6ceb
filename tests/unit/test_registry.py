"""Models by name: the bundled table, a user's own entries, and what ``--model`` selects."""

from __future__ import annotations

import tomllib
from datetime import date, datetime
from typing import Any

import pytest

from wise_pytest.endpoints.model import Endpoint, Price
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.endpoints.registry import find_key, load_registry, require_key, resolve_models
from wise_pytest.endpoints.urls import is_loopback, is_private
from wise_pytest.errors import ModelError
from wise_pytest.panels.model import Decoding

BUNDLED = [
    "smollm2-135m-instruct",
    "qwen2.5-coder-0.5b-instruct",
    "qwen2.5-coder-1.5b-instruct",
    "gemma-3-270m",
]


def user(toml: str) -> dict[str, Any]:
    return tomllib.loads(toml)


def chosen(*patterns: str, registry: Any = None) -> list[tuple[str, bool]]:
    found = resolve_models(patterns, registry or load_registry())
    return [(selected.endpoint.name, selected.explicit) for selected in found]


# The bundled table


def test_the_bundled_models_come_first_and_say_what_answered():
    registry = load_registry()
    assert list(registry)[: len(BUNDLED)] == BUNDLED
    for name in BUNDLED:
        endpoint = registry[name]
        assert endpoint.bundled
        assert endpoint.local
        assert endpoint.key_env == ()
        assert endpoint.cap_field == "max_tokens"
        assert endpoint.api_model == name
        assert set(endpoint.weights) == {"file", "sha256", "quantization", "source", "licence"}
        assert endpoint.weights["file"] == f"{name}.gguf"
    assert [registry[name].provider for name in BUNDLED] == ["HuggingFaceTB", "Qwen", "Qwen", "Google"]


def test_openai_models():
    registry = load_registry()
    mini = registry["gpt-4o-mini"]
    assert (mini.provider, mini.key_env, mini.temperature, mini.local) == (
        "OpenAI",
        ("OPENAI_API_KEY",),
        True,
        False,
    )
    assert mini.price == Price(0.15, 0.60, date(2026, 7, 2))
    assert mini.retires_on == date(2027, 1, 14)
    newest = registry["gpt-5.5"]
    assert (newest.api_model, newest.temperature, newest.extra) == (
        "gpt-5.5-2026-04-23",
        False,
        {"reasoning_effort": "none"},
    )
    assert newest.unverified


def test_every_entry_has_a_known_protocol_and_a_usable_url():
    for endpoint in load_registry().values():
        assert endpoint.protocol in PROTOCOLS
        assert not endpoint.base_url.endswith("/")


def test_an_environment_variable_replaces_the_address_of_its_models_only():
    registry = load_registry(environ={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1/"})
    assert registry["gpt-4o-mini"].base_url == "http://127.0.0.1:9/v1"
    assert registry["gpt-4o-mini"].local
    assert registry["gpt-4o-mini"].key_env == ("OPENAI_API_KEY",)
    assert registry["smollm2-135m-instruct"] == load_registry()["smollm2-135m-instruct"]
    assert load_registry(environ={"OPENAI_BASE_URL": ""}) == load_registry()


@pytest.mark.parametrize(
    ("variable", "url", "name", "expected"),
    [
        ("ANTHROPIC_BASE_URL", "https://gate.example", "claude-haiku-4-5", "https://gate.example/v1"),
        ("ANTHROPIC_BASE_URL", "https://gate.example/v1/", "claude-haiku-4-5", "https://gate.example/v1"),
        ("ANTHROPIC_BASE_URL", "https://g.example/a/", "claude-haiku-4-5", "https://g.example/a/v1"),
        ("GOOGLE_GEMINI_BASE_URL", "http://h:1", "gemini-2.5-flash", "http://h:1/v1beta"),
        ("GOOGLE_GEMINI_BASE_URL", "http://h:1/v1alpha", "gemini-2.5-flash", "http://h:1/v1alpha"),
    ],
)
def test_a_providers_own_variable_may_leave_the_version_out(
    variable: str, url: str, name: str, expected: str
):
    assert load_registry(environ={variable: url})[name].base_url == expected


@pytest.mark.parametrize(
    "url", ["https://g.example/v1/messages", "https://g.example?key=hunter2", "g.example"]
)
def test_a_providers_own_variable_must_still_hold_a_base_url(url: str):
    with pytest.raises(ModelError, match="environment variable ANTHROPIC_BASE_URL") as caught:
        load_registry(environ={"ANTHROPIC_BASE_URL": url})
    assert "hunter2" not in str(caught.value)


def test_an_entry_of_another_protocol_has_its_fields():
    table = user(
        "[a]\nprotocol='anthropic'\nbase_url='http://h/v1'\n[g]\nprotocol='google'\nbase_url='http://h/v1beta'"
    )
    registry = load_registry(table)
    assert (registry["a"].cap_field, registry["g"].cap_field) == ("max_tokens", "maxOutputTokens")
    changed = load_registry(user("[gpt-4o-mini]\nprotocol = 'anthropic'"))["gpt-4o-mini"]
    assert (changed.protocol, changed.cap_field) == ("anthropic", "max_tokens")
    assert changed.key_env == ("OPENAI_API_KEY",)


def test_the_users_table_goes_before_the_environment():
    table = user('[gpt-4o-mini]\nbase_url = "https://mine.example/v1"')
    registry = load_registry(table, environ={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert registry["gpt-4o-mini"].base_url == "https://mine.example/v1"


def test_a_bad_url_in_the_environment_names_the_variable():
    with pytest.raises(ModelError, match=r"environment variable OPENAI_BASE_URL.*did you mean"):
        load_registry(environ={"OPENAI_BASE_URL": "https://api.openai.com"})


# The user's table


def test_a_new_model_needs_only_its_address():
    endpoint = load_registry(user('[mine]\nbase_url = "http://gpu-box:8080/v1/"'))["mine"]
    assert endpoint == Endpoint(
        name="mine",
        provider="local",
        protocol="openai",
        api_model="mine",
        base_url="http://gpu-box:8080/v1",
        local=True,
    )


def test_every_field_can_be_given():
    table = user(
        """
        [mine]
        provider = "Me"
        protocol = "openai"
        api_model = "org/Model:free"
        base_url = "https://models.example/api/v2"
        base_url_env = "MINE_URL"
        key_env = ["MINE_KEY", "OTHER_KEY"]
        cap_field = "max_completion_tokens"
        temperature = false
        extra = { chat_template_kwargs = { enable_thinking = false } }
        local = false
        price = { input_usd = 1, output_usd = 2.5, as_of = 2026-01-02 }
        retires_on = 2027-01-01
        successor = "mine-2"
        unverified = ["guessed"]
        note = "ours"
        [mine.weights]
        file = "m.gguf"
        sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
        quantization = "Q8_0"
        source = "here"
        licence = "MIT"
        """
    )
    endpoint = load_registry(table)["mine"]
    assert endpoint.key_env == ("MINE_KEY", "OTHER_KEY")
    assert endpoint.extra == {"chat_template_kwargs": {"enable_thinking": False}}
    assert endpoint.price == Price(1.0, 2.5, date(2026, 1, 2))
    assert endpoint.successor == "mine-2"
    assert not endpoint.bundled


def test_fields_override_those_of_a_bundled_model():
    table = user('[gpt-4o-mini]\nkey_env = "MY_KEY"\nextra = { top_p = 0.9 }')
    before, after = load_registry()["gpt-4o-mini"], load_registry(table)["gpt-4o-mini"]
    assert (after.key_env, after.extra) == (("MY_KEY",), {"top_p": 0.9})
    assert (after.base_url, after.price) == (before.base_url, before.price)


def test_a_bundled_model_at_another_address_has_no_bundled_recordings():
    moved = load_registry(user('[smollm2-135m-instruct]\nbase_url = "http://127.0.0.1:1234/v1"'))
    assert not moved["smollm2-135m-instruct"].bundled
    same = load_registry(user('[smollm2-135m-instruct]\nbase_url = "http://127.0.0.1:8000/v1/"'))
    assert same["smollm2-135m-instruct"].bundled


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("m = 5", "model 'm': expected a table of fields, not 5"),
        ("[m]\nprovider = 'x'", "model 'm': 'base_url' is missing"),
        ("[m]\nbase_ulr = 'x'", "model 'm': unknown field 'base_ulr' (known: provider, "),
        ("[m]\nbundled = true", "unknown field 'bundled'"),
        ("[m]\nprotocol = 'opanai'", "'protocol' must be one of openai, anthropic, google, not 'opanai'"),
        ("[m]\nprotocol = ['openai']", "'protocol' must be one of openai, anthropic, google, not ['openai']"),
        ("[m]\ncap_field = 'tokens'", "'cap_field' must be one of max_tokens, max_completion_tokens"),
        (
            "[m]\nprotocol = 'google'\ncap_field = 'max_tokens'",
            "'cap_field' must be one of maxOutputTokens with the protocol google, not 'max_tokens'",
        ),
        (
            "[m]\nprotocol = 'anthropic'\ncap_field = 'max_completion_tokens'",
            "must be one of max_tokens with",
        ),
        ("[claude-haiku-4-5]\nextra = { system = 'x' }", "'extra' must not set system"),
        (
            "['gemini-2.5-flash'.extra.generationConfig]\ntemperature = 1\nmaxOutputTokens = 5",
            "'extra' must not set generationConfig.maxOutputTokens, generationConfig.temperature",
        ),
        (
            "['gemini-2.5-flash']\nextra = { generationConfig = 5 }",
            "'extra', 'generationConfig' must be a table",
        ),
        ("[m]\nprotocol = 'anthropic'\nbase_url = 'http://h'", "did you mean http://h/v1?"),
        ("[m]\nprotocol = 'google'\nbase_url = 'http://h'", "did you mean http://h/v1beta?"),
        ("[m]\nbase_url = 'localhost:8000/v1'", "does not begin with http:// or https://"),
        ("[m]\nextra = { random_seed = 1 }", "'extra' must not set random_seed"),
        ("[m]\ntemperature = 0.2", "'temperature' must be true or false, not 0.2"),
        ("[m]\nlocal = 1", "'local' must be true or false, not 1"),
        ("[m]\napi_model = ''", "'api_model' must be a text of one line"),
        ('[m]\napi_model = "a\\nb"', "'api_model' must be a text of one line"),
        ("[m]\nprovider = 3", "'provider' must be a text of one line"),
        ("[m]\nbase_url = 5", "'base_url' must be a text of one line"),
        ("[m]\nkey_env = 5", "'key_env' must be the name"),
        ("[m]\nkey_env = [5]", "'key_env' must name an environment variable"),
        ("[m]\nextra = []", "'extra' must be a table"),
        ("[m]\nextra = { model = 'x', stream = true }", "'extra' must not set model, stream"),
        ("[m]\nextra = { max_tokens = 5 }", "'extra' must not set max_tokens"),
        ("[m]\nextra = { x = nan }", "'extra' holds a value that JSON cannot carry"),
        ("[m]\nextra = { x = 2026-01-01 }", "'extra' holds a value that JSON cannot carry"),
        ("[m]\nunverified = 'x'", "'unverified' must be a list of texts"),
        ("[m]\nunverified = [1]", "'unverified' must be a text"),
        ("[m]\nweights = { file = 'x' }", "'weights' must be a table with exactly file, sha256"),
        (
            "[m.weights]\nfile='x'\nsha256='AB'\nquantization='q'\nsource='s'\nlicence='l'",
            "'sha256' must be 64 hexadecimal digits",
        ),
        ("[m]\nconcurrency = 0", "'concurrency' must be a whole number from 1 to 1000, not 0"),
        ("[m]\nconcurrency = 1.5", "'concurrency' must be a whole number from 1 to 1000, not 1.5"),
        ("[m]\nrequests_per_minute = 0", "'requests_per_minute' must be a number over 0, not 0"),
        ("[m]\ntokens_per_minute = inf", "'tokens_per_minute' must be a number over 0, not inf"),
        ("[m]\ntimeout_s = true", "'timeout_s' must be a number over 0, not True"),
        ("[m]\nprice = { input_usd = 1 }", "'price' must be a table with exactly input_usd, output_usd"),
        (
            "[m]\nprice = { input_usd = -1, output_usd = 1, as_of = 2026-01-01 }",
            "'price', 'input_usd' must be a number from 0",
        ),
        (
            "[m]\nprice = { input_usd = inf, output_usd = 1, as_of = 2026-01-01 }",
            "'price', 'input_usd' must be a number from 0",
        ),
        ("[m]\nprice = { input_usd = 1, output_usd = 1, as_of = 'now' }", "'as_of' must be a date"),
        ("[m]\nretires_on = '2027-01-01'", "'retires_on' must be a date"),
        ("[m]\nretires_on = 2027-01-01T00:00:00", "'retires_on' must be a date"),
        ("['']\nbase_url = 'http://h/v1'", "a name must be a text that is not empty"),
        ("['a*']\nbase_url = 'http://h/v1'", "model 'a*': a name must not hold"),
        ("['a=b']\nbase_url = 'http://h/v1'", "model 'a=b': a name must not hold"),
        ("['a b']\nbase_url = 'http://h/v1'", "model 'a b': a name must not hold"),
    ],
)
def test_a_mistake_in_the_table_is_named(toml: str, says: str):
    with pytest.raises(ModelError) as caught:
        load_registry(user(toml))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_datetime_is_told_from_a_date():
    with pytest.raises(ModelError, match="must be a date"):
        load_registry({"gpt-4o-mini": {"retires_on": datetime(2027, 1, 1)}})  # noqa: DTZ001 - a TOML local time


@pytest.mark.parametrize("field", ["key_env", "base_url_env"])
def test_a_key_written_where_its_variable_belongs_is_not_repeated(field: str):
    with pytest.raises(ModelError) as caught:
        load_registry({"m": {field: "sk-abc-very-secret"}})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("127.0.0.1:8000/v1", "does not begin with http:// or https://"),
        ("ftp://h/v1", "does not begin with http:// or https://"),
        ("http:///v1", "names no host"),
        ("http://:8000/v1", "names no host"),
        ("http://h:99999/v1", "cannot be read"),
        ("http://h:port/v1", "cannot be read"),
        ("http://[::1/v1", "cannot be read"),
        ("http://me:hunter2@h/v1", "must not hold a user name or password"),
        ("http://h/v1?key=hunter2", "must not hold a query"),
        ("http://h/v1#x", "must not hold a query or a fragment"),
        ("http://h", "did you mean http://h/v1?"),
        ("http://h:1234/", "did you mean http://h:1234/v1?"),
        ("http://h/v1/chat/completions", "did you mean http://h/v1?"),
        ("http://h/v1/chat/completions/", "did you mean http://h/v1?"),
        ("http://h/v1/messages", "must end before /messages; did you mean http://h/v1?"),
        ("http://h/v1/models", "did you mean http://h/v1?"),
        ("http://h/v1beta/models/m:generateContent", "did you mean http://h/v1beta?"),
        ("http://hé/v1", "encoded form"),
        ("http://h/v 1", "encoded form"),
        ("http://h/v1\n", "encoded form"),
        ("", "does not begin with http://"),
    ],
)
def test_a_bad_address_is_refused_on_the_command_line(url: str, says: str):
    with pytest.raises(ModelError) as caught:
        resolve_models([f"mine={url}"], load_registry())
    assert says in str(caught.value)
    assert "model 'mine'" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://h/v1",
        "https://h.example/api/v3",
        "http://[::1]:8000/v1",
        "HTTP://H/v1",
        "https://api.deepseek.com",  # it has no version in its path
        "http://h/models/v1",
    ],
)
def test_good_addresses(url: str):
    (selected,) = resolve_models([f"m={url}"], load_registry())
    assert selected.endpoint.base_url == url


# Selection


def test_an_exact_name_is_explicit_and_a_glob_is_not():
    assert chosen("gpt-4o-mini") == [("gpt-4o-mini", True)]
    assert chosen("gpt-4*") == [("gpt-4.1-mini", False), ("gpt-4o-mini", False)]
    assert chosen("qwen2.5-coder-[0]*") == [("qwen2.5-coder-0.5b-instruct", False)]
    assert chosen("gpt-?.?") == [("gpt-5.5", False)]


def test_order_is_that_of_the_patterns_and_duplicates_are_dropped():
    assert chosen("gpt-5.5", "gpt-*") == [("gpt-5.5", True), ("gpt-4.1-mini", False), ("gpt-4o-mini", False)]
    assert chosen("gpt-4*", "gpt-4o-mini", "gpt-4o-mini") == [("gpt-4.1-mini", False), ("gpt-4o-mini", True)]
    assert chosen() == []


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("gpt-5.5-2026-04-23", "gpt-5.5"),
        ("Qwen/Qwen3.6-35B-A3B", "qwen3.6-35b-a3b"),
        ("Qwen/Qwen3.6-35B-A3B:deepinfra", "qwen3.6-35b-a3b"),
    ],
)
def test_the_identifier_of_one_model_is_as_good_as_its_name(identifier: str, name: str):
    assert chosen(identifier) == [(name, True)]
    twice = user(f"['other']\nbase_url = 'http://h.example/v1'\napi_model = '{identifier}'")
    with pytest.raises(ModelError, match="unknown model"):
        chosen(identifier, registry=load_registry(twice))


def test_globs_know_upper_and_lower_case():
    with pytest.raises(ModelError, match=r"no model matches 'GPT-\*'; known models: smollm2"):
        chosen("GPT-*")


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("gpt-4o-mnii", "unknown model 'gpt-4o-mnii' (known: smollm2-135m-instruct, "),
        ("zzz", "unknown model 'zzz' (known: smollm2-135m-instruct, "),
        ("", "unknown model '' (known: "),
        ("http://127.0.0.1:8000/v1", "write NAME=http://127.0.0.1:8000/v1"),
        ("gpt-*=http://h/v1", "a name must not hold"),
        ("=http://h/v1", "a name must be a text that is not empty"),
        ("mine=", "does not begin with http://"),
    ],
)
def test_a_pattern_that_selects_nothing_says_what_there_is(pattern: str, says: str):
    with pytest.raises(ModelError) as caught:
        chosen(pattern)
    assert says in str(caught.value)


def test_a_known_model_at_another_address_keeps_everything_else():
    (selected,) = resolve_models(["gpt-5.5=http://10.0.0.7:4000/v1"], load_registry())
    assert selected.explicit
    known, moved = load_registry()["gpt-5.5"], selected.endpoint
    assert moved.base_url == "http://10.0.0.7:4000/v1"
    assert (moved.key_env, moved.extra, moved.api_model) == (known.key_env, known.extra, known.api_model)


@pytest.mark.parametrize(
    ("url", "provider", "local"),
    [
        ("http://127.0.0.1:8000/v1", "local", True),
        ("http://localhost:8000/v1", "local", True),
        ("http://[::1]:8000/v1", "local", True),
        ("http://192.168.1.5/v1", "local", True),
        ("http://gpu-box:8080/v1", "local", True),
        ("http://studio.local:1234/v1", "local", True),
        ("https://Models.Example.COM/v1", "models.example.com", False),
        ("http://8.8.8.8/v1", "8.8.8.8", False),
    ],
)
def test_a_new_model_gets_its_provider_from_the_host(url: str, provider: str, local: bool):  # noqa: FBT001 - a table
    (selected,) = resolve_models([f"org/New={url}"], load_registry())
    endpoint = selected.endpoint
    assert (endpoint.name, endpoint.api_model, endpoint.provider, endpoint.local) == (
        "org/New",
        "org/New",
        provider,
        local,
    )
    assert (endpoint.key_env, endpoint.cap_field, endpoint.temperature) == ((), "max_tokens", True)


def test_one_name_at_two_addresses_is_refused():
    with pytest.raises(ModelError, match="'m' is asked for at two addresses, http://a/v1 and http://b/v1"):
        chosen("m=http://a/v1", "m=http://b/v1")
    with pytest.raises(ModelError, match="two addresses"):
        chosen("gpt-5.5", "gpt-5.5=http://a/v1")
    assert chosen("m=http://a/v1", "m=http://a/v1/") == [("m", True)]


def test_an_address_goes_before_a_glob():
    found = resolve_models(["gpt-*", "gpt-5.5=http://a/v1"], load_registry())
    assert [selected.endpoint.name for selected in found] == ["gpt-4.1-mini", "gpt-4o-mini", "gpt-5.5"]
    assert found[2].endpoint.base_url == "http://a/v1"
    assert found[2].explicit


# Hosts and keys


def test_loopback_hosts():
    assert all(map(is_loopback, ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0"]))
    assert not any(map(is_loopback, ["192.168.0.1", "localhost.example", "", "10.0.0.1", "box"]))
    assert not is_private("example.com")
    assert is_private("fd00::1")


def test_the_first_variable_that_is_set_holds_the_key():
    endpoint = load_registry(user('[m]\nbase_url = "http://h/v1"\nkey_env = ["A_KEY", "B_KEY"]'))["m"]
    assert find_key(endpoint, {"A_KEY": "one", "B_KEY": "two"}) == "one"
    assert find_key(endpoint, {"A_KEY": "", "B_KEY": "two"}) == "two"
    assert find_key(endpoint, {"C_KEY": "three"}) is None
    assert find_key(load_registry()["smollm2-135m-instruct"], {"OPENAI_API_KEY": "x"}) is None


@pytest.mark.parametrize(
    "key", ["sk hidden", "sk-hidden\n", "sk-hidden\r\nx: y", " ", "sk-hiddén", "sk\x7fhidden"]
)
def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str):
    with pytest.raises(ModelError) as caught:
        find_key(load_registry()["gpt-4o-mini"], {"OPENAI_API_KEY": key})
    assert "OPENAI_API_KEY" in str(caught.value)
    assert "hidd" not in str(caught.value)


def test_a_key_that_is_needed_and_not_there_is_named():
    gemini = load_registry()["gemini-2.5-flash"]
    with pytest.raises(
        ModelError,
        match=r"^gemini-2\.5-flash: needs a key in the environment variable GOOGLE_API_KEY or GEMINI",
    ):
        require_key(gemini, {"OPENAI_API_KEY": "x"})
    assert require_key(gemini, {"GEMINI_API_KEY": "two"}) == "two"
    assert require_key(gemini, {"GEMINI_API_KEY": "two", "GOOGLE_API_KEY": "one"}) == "one"
    assert require_key(load_registry()["smollm2-135m-instruct"], {}) is None


def test_a_key_does_not_show_itself():
    key = require_key(load_registry()["gpt-4o-mini"], {"OPENAI_API_KEY": "sk-canary"})
    assert f"{key}" == "sk-canary"
    for name in ("gpt-4o-mini", "claude-haiku-4-5", "gemini-2.5-flash"):
        endpoint = load_registry()[name]
        request = PROTOCOLS[endpoint.protocol].build_request("x", endpoint, Decoding(9, 0.2), key)
        assert "canary" not in repr((key, [key], {"a": key}, request, request.headers, dict(request.headers)))
        assert "sk-canary" in "".join(request.headers.values())
