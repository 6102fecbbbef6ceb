"""Models by name: the bundled table, the user's own, and what ``--model`` selects of both.

``settings`` calls ``load_registry`` and ``resolve_models`` before anything is
collected, the session ``find_key`` only where a request may really be sent.
Everything is checked here, so that later steps can rely on an ``Endpoint``.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wise_pytest.endpoints.model import Endpoint, Price
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.endpoints.secret import Secret
from wise_pytest.endpoints.urls import check_base_url, is_private, with_version
from wise_pytest.errors import ModelError
from wise_pytest.naming import explain_unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GLOB_CHARACTERS = "*?["
WEIGHTS_FIELDS = ("file", "sha256", "quantization", "source", "licence")
DEFAULT_PROTOCOL = "openai"

MAX_CONCURRENCY = 1000
"""More requests in flight than that are no use to anybody, and more files than a process may open."""

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MAX_KEY_CHARACTER = "\x7f"


@dataclass(frozen=True, slots=True)
class Selected:
    """One model that the user chose."""

    endpoint: Endpoint
    explicit: bool
    """``False`` if only a glob matched it."""


def load_registry(
    user: Mapping[str, Any] | None = None, *, environ: Mapping[str, str] | None = None
) -> Mapping[str, Endpoint]:
    """All models known by name: the bundled ones, then the user's.

    Parameters
    ----------
    user
        The table ``[tool.wise.models]``: by name, fields that override a bundled
        model or describe a new one. A new one needs only ``base_url``.
    environ
        Environment variables; where an entry's ``base_url_env`` is set in it, that
        URL replaces the entry's ``base_url``, unless the user's table gives one.

    Raises
    ------
    ModelError
        Naming the model, the field and what is allowed.
    """
    registry: dict[str, Endpoint] = {}
    for name, table in _bundled().items():
        registry[name] = _endpoint(name, _checked(name, table, allowed=_FIELDS), base=None)
    for name, table in ({} if user is None else user).items():
        _check_name(name)
        fields = _checked(name, table, allowed=_USER_FIELDS)
        registry[name] = _endpoint(name, fields, base=registry.get(name))
    if environ is None:
        return registry
    return {name: _with_environment(endpoint, environ) for name, endpoint in registry.items()}


def resolve_models(patterns: Sequence[str], registry: Mapping[str, Endpoint]) -> tuple[Selected, ...]:
    """The models that ``--model`` values select, in the order given, each once.

    A pattern is a NAME, the identifier that is sent for one known model, a GLOB
    over names (``*``, ``?``, ``[…]``; matches come in the registry's order), or
    NAME=BASE_URL for an OpenAI-compatible server. A known
    NAME then only changes its address and still needs its key; a new one needs
    no key and is sent ``max_tokens`` and a temperature. A server that wants another
    set of fields, or a key, has its place in ``[tool.wise.models]``.

    Raises
    ------
    ModelError
        If a name is unknown, a glob matches nothing, a base URL cannot be used, or
        one name is asked for at two addresses.
    """
    chosen: dict[str, Selected] = {}
    for pattern in patterns:
        for candidate in _matches(pattern, registry):
            name = candidate.endpoint.name
            earlier = chosen.get(name)
            if earlier is None or (candidate.explicit and not earlier.explicit):
                chosen[name] = candidate  # a dict keeps the place of the first
            elif candidate.explicit and candidate.endpoint != earlier.endpoint:
                raise ModelError(
                    f"model {name!r} is asked for at two addresses, {earlier.endpoint.base_url} and "
                    f"{candidate.endpoint.base_url}; give one of them another name"
                )
    return tuple(chosen.values())


def find_key(endpoint: Endpoint, environ: Mapping[str, str]) -> Secret | None:
    """The endpoint's key: the first of its ``key_env`` that is set and not empty.

    Raises
    ------
    ModelError
        If the value cannot be sent in a header; the message names the variable only.
    """
    for variable in endpoint.key_env:
        key = Secret(environ.get(variable, ""))
        if not key:
            continue
        if any(char <= " " or char >= _MAX_KEY_CHARACTER for char in key):
            raise ModelError(
                f"the key in {variable} holds a blank, a line break or a character outside ASCII; "
                "set it again without them"
            )
        return key
    return None


def require_key(endpoint: Endpoint, environ: Mapping[str, str]) -> Secret | None:
    """Like ``find_key``, where a call is certain; ``None`` only if the endpoint needs no key.

    Raises
    ------
    ModelError
        If there is no key, or none that can be sent; the message names the variables.
    """
    key = find_key(endpoint, environ)
    if key is None and endpoint.key_env:
        variables = " or ".join(endpoint.key_env)
        raise ModelError(f"{endpoint.name}: needs a key in the environment variable {variables}")
    return key


def _bundled() -> dict[str, Any]:
    return tomllib.loads(files("wise_pytest.endpoints").joinpath("models.toml").read_text(encoding="utf-8"))


def _endpoint(name: str, fields: Mapping[str, Any], *, base: Endpoint | None) -> Endpoint:
    """An entry from checked fields, over the entry that they override."""
    protocol = fields.get("protocol", DEFAULT_PROTOCOL if base is None else base.protocol)
    _check_parameters(name, fields, protocol)
    fields = dict(fields)
    if "base_url" in fields:
        fields["base_url"] = _base_url(fields["base_url"], f"model {name!r}: 'base_url'", protocol)
    if base is None or protocol != base.protocol:
        fields.setdefault("cap_field", PROTOCOLS[protocol].cap_fields[0])
    if base is not None:
        if "base_url" in fields:
            base = dataclasses.replace(_moved(base, fields["base_url"]), base_url_env=None)
        return dataclasses.replace(base, **fields)
    if "base_url" not in fields:
        raise ModelError(
            f"model {name!r}: 'base_url' is missing; a new model needs one, such as http://127.0.0.1:8000/v1"
        )
    host = urlsplit(fields["base_url"]).hostname or ""
    return Endpoint(
        **{
            "name": name,
            "api_model": name,
            "protocol": protocol,
            "provider": "local" if is_private(host) else host,
            "local": is_private(host),
            **fields,
        }
    )


def _check_parameters(name: str, fields: Mapping[str, Any], protocol: str) -> None:
    """Refuse a parameter that the protocol does not have, or that something else decides."""
    known = PROTOCOLS[protocol]
    cap_field = fields.get("cap_field", known.cap_fields[0])
    if cap_field not in known.cap_fields:
        raise ModelError(
            f"model {name!r}: 'cap_field' must be one of {', '.join(known.cap_fields)} "
            f"with the protocol {protocol}, not {_shown(cap_field)}"
        )
    extra = fields.get("extra", {})
    for parent in sorted({path.partition(".")[0] for path in known.reserved if "." in path}):
        if not isinstance(extra.get(parent, {}), Mapping):
            raise ModelError(f"model {name!r}: 'extra', {parent!r} must be a table of parameters")
    taken = sorted(known.reserved.intersection(_paths(extra)))
    if taken:
        raise ModelError(
            f"model {name!r}: 'extra' must not set {', '.join(taken)}: a panel or another field decides that"
        )


def _paths(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Every parameter, and those one level below: ``generationConfig.temperature``."""
    for name, value in parameters.items():
        yield name
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner in value)


def _with_environment(endpoint: Endpoint, environ: Mapping[str, str]) -> Endpoint:
    variable = endpoint.base_url_env
    url = environ.get(variable, "").strip() if variable is not None else ""
    if not url:
        return endpoint
    protocol = PROTOCOLS[endpoint.protocol]
    if protocol.is_bare_in_environment:
        url = with_version(url, protocol.version)
    where = f"model {endpoint.name!r}, environment variable {variable}"
    return _moved(endpoint, check_base_url(url, where=where, version=protocol.version))


def _moved(endpoint: Endpoint, base_url: str) -> Endpoint:
    """The same model at another address."""
    if base_url == endpoint.base_url:
        return endpoint
    return dataclasses.replace(
        endpoint,
        base_url=base_url,
        local=is_private(urlsplit(base_url).hostname or ""),
        bundled=False,  # recordings that come with the package belong to the address they were made at
    )


def _matches(pattern: str, registry: Mapping[str, Endpoint]) -> list[Selected]:
    if pattern in registry:
        return [Selected(registry[pattern], explicit=True)]
    if pattern.startswith(("http://", "https://")):
        raise ModelError(f"model {pattern!r}: a server needs a name; write NAME={pattern}")
    by_identifier = [endpoint for endpoint in registry.values() if endpoint.is_served_by(pattern)]
    if len(by_identifier) == 1:
        return [Selected(by_identifier[0], explicit=True)]
    name, equals, url = pattern.partition("=")
    if equals:
        return [Selected(_at_address(name, url, registry), explicit=True)]
    if any(char in pattern for char in GLOB_CHARACTERS):
        found = [Selected(registry[name], explicit=False) for name in registry if fnmatchcase(name, pattern)]
        if not found:
            raise ModelError(f"no model matches {pattern!r}; known models: {', '.join(registry)}")
        return found
    raise ModelError(
        f"{explain_unknown('model', pattern, registry)}; NAME=BASE_URL asks an OpenAI-compatible server"
    )


def _at_address(name: str, url: str, registry: Mapping[str, Endpoint]) -> Endpoint:
    _check_name(name)
    known = registry.get(name)
    version = PROTOCOLS[DEFAULT_PROTOCOL if known is None else known.protocol].version
    base_url = check_base_url(url, where=f"model {name!r}", version=version)
    return _endpoint(name, {"base_url": base_url}, base=known)


def _check_name(name: Any) -> None:
    """Refuse a name that ``--model`` could not select, or that two readers could take for different ones."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"model {name!r}: a name must be a text that is not empty")
    if any(char in f"{GLOB_CHARACTERS}=" or char.isspace() or not char.isprintable() for char in name):
        raise ModelError(
            f"model {name!r}: a name must not hold blanks, invisible characters or any of * ? [ = ; "
            "put the provider's identifier into api_model"
        )


def _checked(name: str, table: Any, *, allowed: tuple[str, ...]) -> dict[str, Any]:
    """The fields of one table, each checked and in the type that ``Endpoint`` holds."""
    if not isinstance(table, Mapping):
        raise ModelError(f"model {name!r}: expected a table of fields, not {_shown(table)}")
    fields: dict[str, Any] = {}
    for field, value in table.items():
        if field not in allowed:
            raise ModelError(f"model {name!r}: {explain_unknown('field', str(field), allowed)}")
        fields[field] = _CHECKS[field](value, f"model {name!r}: {field!r}")
    return fields


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ModelError(f"{where} must be a text of one line that is not empty, not {_shown(value)}")
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ModelError(f"{where} must be true or false, not {_shown(value)}")
    return value


def _one_of(choices: Sequence[str]) -> Callable[[Any, str], str]:
    def check(value: Any, where: str) -> str:
        if value not in choices:
            raise ModelError(f"{where} must be one of {', '.join(choices)}, not {_shown(value)}")
        return str(value)

    return check


def _base_url(url: str, where: str, protocol: str) -> str:
    return check_base_url(url, where=where, version=PROTOCOLS[protocol].version)


def _variable(value: Any, where: str) -> str:
    if not isinstance(value, str) or _ENV_NAME.fullmatch(value) is None:
        # Not repeated: someone may have put the key itself here.
        raise ModelError(
            f"{where} must name an environment variable, such as OPENAI_API_KEY; "
            "the key itself has no place here"
        )
    return value


def _variables(value: Any, where: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list):
        raise ModelError(f"{where} must be the name of an environment variable or a list of them")
    return tuple(_variable(variable, where) for variable in listed)


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ModelError(f"{where} must be a list of texts, not {_shown(value)}")
    return tuple(_text(text, where) for text in value)


def _extra(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ModelError(f"{where} must be a table of body parameters, not {_shown(value)}")
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{where} holds a value that JSON cannot carry: {error}") from None
    return dict(value)


def _weights(value: Any, where: str) -> dict[str, str]:
    _check_keys(value, where, WEIGHTS_FIELDS)
    weights = {field: _text(value[field], f"{where}, {field!r}") for field in WEIGHTS_FIELDS}
    if _SHA256.fullmatch(weights["sha256"]) is None:
        raise ModelError(f"{where}, 'sha256' must be 64 hexadecimal digits in lower case")
    return weights


def _price(value: Any, where: str) -> Price:
    optional = {"peak_factor": 1.0}
    value = {**optional, **value} if isinstance(value, Mapping) else value
    _check_keys(value, where, tuple(field.name for field in dataclasses.fields(Price)))
    return Price(
        input_usd=_amount(value["input_usd"], f"{where}, 'input_usd'"),
        output_usd=_amount(value["output_usd"], f"{where}, 'output_usd'"),
        as_of=_day(value["as_of"], f"{where}, 'as_of'"),
        peak_factor=_amount(value["peak_factor"], f"{where}, 'peak_factor'", unit="a factor"),
    )


def _check_keys(value: Any, where: str, fields: tuple[str, ...]) -> None:
    if not isinstance(value, Mapping) or set(value) != set(fields):
        raise ModelError(f"{where} must be a table with exactly {', '.join(fields)}, not {_shown(value)}")


def _amount(value: Any, where: str, *, unit: str = "in US dollars") -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ModelError(f"{where} must be a number from 0, {unit}, not {_shown(value)}")
    return float(value)


def _places(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_CONCURRENCY:
        raise ModelError(f"{where} must be a whole number from 1 to {MAX_CONCURRENCY}, not {_shown(value)}")
    return value


def _rate(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ModelError(f"{where} must be a number over 0, not {_shown(value)}")
    return float(value)


def _day(value: Any, where: str) -> date:
    if type(value) is not date:  # a datetime is a date too, and has no place here
        raise ModelError(f"{where} must be a date such as 2027-01-14, without quotes, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:79]}…"  # noqa: PLR2004 - one line of a terminal


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    "provider": _text,
    "protocol": _one_of(tuple(PROTOCOLS)),
    "api_model": _text,
    "base_url": _text,
    "base_url_env": _variable,
    "key_env": _variables,
    "cap_field": _text,
    "temperature": _flag,
    "extra": _extra,
    "local": _flag,
    "bundled": _flag,
    "weights": _weights,
    "concurrency": _places,
    "requests_per_minute": _rate,
    "tokens_per_minute": _rate,
    "timeout_s": _rate,
    "price": _price,
    "retires_on": _day,
    "successor": _text,
    "unverified": _texts,
    "note": _text,
}
_FIELDS = tuple(_CHECKS)
_USER_FIELDS = tuple(field for field in _FIELDS if field != "bundled")
