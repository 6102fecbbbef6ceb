"""Every option, setting and variable, with its range and an example."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sections.markdown import code, table
from wise_pytest.audit.rules import OF_COMPARISONS, OF_RANKINGS, THRESHOLDS
from wise_pytest.endpoints.model import Endpoint, Price
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.endpoints.registry import _USER_FIELDS, MAX_CONCURRENCY, WEIGHTS_FIELDS, load_registry
from wise_pytest.options import GATE_OPTIONS, OPTIONS
from wise_pytest.report.kinds import NAMES
from wise_pytest.report.writer import STEP_SUMMARY
from wise_pytest.values import MAX_AMOUNT, MAX_REPETITIONS, MAX_REPLICATES, MAX_SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

POINTS = "0 to 100"
RANGES: Mapping[str, tuple[str, str]] = {
    "model": (
        "a known name, the identifier that is sent for it, a glob over names, or an address",
        "gpt-4.1-mini",
    ),
    "panel": ("a bundled panel, or one of yours", "exact_count"),
    "form": ("a form of a panel that may run", "POS,AVOID1"),
    "items": ("from 1 to the panel's number of items, or ids of its items", "4"),
    "repetitions": (f"1 to {MAX_REPETITIONS:,}", "3"),
    "out": ("a folder; made if needed", "audits"),
    "cassettes": ("a folder", "recordings"),
    "report": (", ".join(NAMES), "comment:comment.md"),
    "exclude": ("a model of this run", "gpt-4o-mini"),
    "seed": (f"0 to 2^{MAX_SEED.bit_length()} − 1", "7"),
    "replicates": (f"0 to {MAX_REPLICATES:,}", "500"),
    "openings": ("a text file; lines that begin with `#` are left out", "openings.txt"),
    "sensitivity": ("", ""),
    "concurrency": (f"1 to {MAX_CONCURRENCY:,}", "8"),
    "rpm": (f"over 0, under {MAX_AMOUNT:,.0f}; a provider of this run", "OpenAI=500"),
    "max-cost": (f"over 0, under {MAX_AMOUNT:,.0f}; every remote model needs a price", "5"),
    "plan": ("", ""),
    "strict": ("", ""),
    "note": (
        "any text; `weights_sha256` is checked for a bundled model; of any other it is your own note",
        "quantization=Q8_0",
    ),
    "shard": ("I from 1 to N", "2/4"),
    "baseline": ("a file or folder that is there", "baseline.jsonl"),
    "baseline-map": ("a model of this run; needs `--wise-baseline`", "gpt-4.1-mini=old"),
    "baseline-shared": ("needs `--wise-baseline`", ""),
    "gate": ("`point` or `confident`", "confident"),
    "max-gap": (POINTS, "20"),
    "min-worst": (POINTS, "40"),
    "min-mean": (POINTS, "50"),
    "max-reversal": (f"{POINTS}; two models", "15"),
    "min-tau": ("−1 to 1; two models", "0.8"),
    "max-rank-shift": ("from 0; two models", "1"),
    "min-coverage": (POINTS, "99"),
    "max-gap-increase": (f"{POINTS}; needs `--wise-baseline`", "5"),
    "max-form-drop": (f"{POINTS}; needs `--wise-baseline`", "10"),
}
"""By option: what it takes, and a value that it takes."""
FIELDS: Mapping[str, tuple[str, str, str]] = {
    "provider": (
        "text",
        '"Acme"',
        "who serves it; models of one provider share its limits (default: `local`, or the address's host)",
    ),
    "protocol": (", ".join(map(code, PROTOCOLS)), '"openai"', "how it is asked (default: `openai`)"),
    "api_model": ("text", '"acme/large-2"', "the identifier that is sent (default: the entry's name)"),
    "base_url": (
        "address",
        '"http://127.0.0.1:8000/v1"',
        "where it is asked; the only field that a new model needs",
    ),
    "base_url_env": (
        "name of a variable",
        '"ACME_BASE_URL"',
        "an environment variable that replaces `base_url` where it is set",
    ),
    "key_env": (
        "name of a variable, or a list",
        '["ACME_API_KEY"]',
        "environment variables that may hold the key, the first one wins (default: none is needed)",
    ),
    "cap_field": (
        "a field of the protocol",
        '"max_completion_tokens"',
        "the body parameter that carries the cap on output tokens (default: `max_tokens`, or the protocol's)",
    ),
    "temperature": ("true, false", "false", "whether the endpoint accepts a temperature (default: true)"),
    "extra": (
        "table",
        '{ reasoning_effort = "none" }',
        "further body parameters, sent as they stand; those that something else decides are refused",
    ),
    "local": (
        "true, false",
        "true",
        "whether it costs nothing and is asked one request at a time (default: by its address)",
    ),
    "weights": (
        f"table of {', '.join(map(code, WEIGHTS_FIELDS))}",
        "",
        "for the record: the file that answers",
    ),
    "concurrency": (f"1 to {MAX_CONCURRENCY:,}", "4", "requests in flight at most"),
    "requests_per_minute": ("over 0", "500", "requests a minute at most"),
    "tokens_per_minute": (
        "over 0",
        "200000",
        "tokens a minute at most, of prompts and largest answers together",
    ),
    "timeout_s": ("over 0", "120", "seconds for one try"),
    "price": (
        f"table of {', '.join(code(f.name) for f in dataclasses.fields(Price))}, the last one optional",
        "{ input_usd = 0.4, output_usd = 1.6, as_of = 2026-07-02 }",
        "US dollars a million tokens, when they were read, and what to multiply them by at peak hours",
    ),
    "retires_on": ("date", "2027-01-14", "for the record: from when the provider no longer serves it"),
    "successor": ("text", '"acme-large-3"', "for the record: what the provider names in its place"),
    "unverified": (
        "list of texts",
        '["The price is from a forum."]',
        "for the record: what rests on no official source",
    ),
    "note": ("text", '"In a test until May."', "for the record"),
}
"""By field of an entry: what it takes, an example, and what it says."""


def _options(names: Callable[[str], bool]) -> str:
    rows = [
        (
            code(option.flag),
            code(option.metavar),
            RANGES[option.name][0],
            code(f"{option.flag}={example}" if (example := RANGES[option.name][1]) else option.flag),
            option.help.removeprefix("gate: "),
        )
        for option in OPTIONS
        if names(option.name)
    ]
    return table(("Option", "Value", "Takes", "Example", "What it does"), rows)


def run_options() -> str:
    """The options of a run."""
    if sorted(RANGES) != sorted(option.name for option in OPTIONS):
        raise SystemExit("docs/sections/options.py: RANGES does not name the options that there are")
    return _options(lambda name: name not in GATE_OPTIONS)


def gate_options() -> str:
    """The limits of the gate."""
    return _options(lambda name: name in GATE_OPTIONS)


def model_fields() -> str:
    """What an entry of ``[tool.wise.models]`` may hold."""
    if sorted(FIELDS) != sorted(_USER_FIELDS):
        raise SystemExit("docs/sections/options.py: FIELDS does not name the fields that an entry may have")
    known = {field.name for field in dataclasses.fields(Endpoint)}
    rows = [
        (code(name), takes, code(f"{name} = {example}" if example else ""), says)
        for name in _USER_FIELDS
        if name in known
        for takes, example, says in (FIELDS[name],)
    ]
    return table(("Field", "Takes", "Example", "What it says"), rows)


def gate_keys() -> str:
    """What ``[tool.wise.gate]`` may hold, and where."""

    def scope(name: str) -> str:
        if name in OF_RANKINGS:
            return "all, a panel"
        return "all, a panel, a model, a model in a panel"

    rows = [
        (
            code(name),
            scope(name),
            code(f"{name} = {RANGES[name.replace('_', '-')][1]}"),
            f"the limit of {code('--wise-' + name.replace('_', '-'))}; `false` lifts it"
            + ("; needs a baseline" if name in OF_COMPARISONS else ""),
        )
        for name in THRESHOLDS
    ]
    rows.append(
        (
            code("mode"),
            "all",
            code('mode = "confident"'),
            "`point` (default) or `confident`, as `--wise-gate`",
        )
    )
    return table(("Key", "Of", "Example", "What it says"), rows)


def variables() -> str:
    """Environment variables that are read."""
    keys: dict[str, list[str]] = {}
    addresses: dict[str, list[str]] = {}
    for endpoint in load_registry().values():
        for name in endpoint.key_env:
            keys.setdefault(name, []).append(endpoint.provider)
        if endpoint.base_url_env:
            addresses.setdefault(endpoint.base_url_env, []).append(endpoint.provider)
    rows = [
        *((code(name), f"the key of {', '.join(dict.fromkeys(who))}") for name, who in keys.items()),
        *(
            (code(name), f"another address of {', '.join(dict.fromkeys(who))}")
            for name, who in addresses.items()
        ),
        (
            ", ".join(map(code, ("http_proxy", "https_proxy", "all_proxy", "no_proxy"))),
            "a proxy for requests to other machines, as other programs take it",
        ),
        (code(STEP_SUMMARY), "the summary page of a CI step, to which the report is added"),
    ]
    return table(("Variable", "Holds"), rows)


PARTS: Mapping[str, Callable[[], str]] = {
    "run-options": run_options,
    "gate-options": gate_options,
    "model-fields": model_fields,
    "gate-keys": gate_keys,
    "variables": variables,
}
