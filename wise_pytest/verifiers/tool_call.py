"""One call of a function as strict JSON, its arguments valid by a JSON Schema. Called through the registry.

The target is the function as the instruction shows it: a JSON object with its
``name`` and, under ``parameters``, a schema (draft 2020-12). The answer is one
JSON object with the keys ``name`` and ``arguments``, read as ``strict_json``
reads, and nothing else. The library jsonschema validates the arguments; it
loads with the first such target.

Where several things are wrong, the first of these is reported: unparseable,
not_object, duplicate_key, wrong_keys, wrong_function, bad_arguments. An integer
that no float can hold is unparseable, as is a fraction that none can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict
from wise_pytest.verifiers.strict_json import finite, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DIRECTIONS = (
    "ok",
    "unparseable",
    "not_object",
    "duplicate_key",
    "wrong_keys",
    "wrong_function",
    "bad_arguments",
)

_CALL_KEYS = frozenset({"name", "arguments"})
_FUNCTION_KEYS = frozenset({"name", "parameters"})
_REFERENCES = frozenset({"$ref", "$dynamicRef"})
"""Following one may read from elsewhere, or fail in the middle of a run."""


def verify(text: str, target: str) -> Verdict:
    """Whether ``text`` is one valid call of the function ``target``, and nothing else."""
    direction = _direction(text, target)
    return Verdict(compliant=direction == "ok", direction=direction)


def check_target(target: object) -> None:
    """Refuse anything but a function with a usable schema of its parameters.

    Raises
    ------
    PanelError
        If ``target`` is no JSON object with ``name`` and ``parameters``, or the
        parameters are no schema of an object, refer to other schemas, or hold
        an expression that cannot be compiled.
    """
    function = _function(target)
    if function is None:
        raise PanelError(
            'tool_call needs a function such as {"name": "f", "parameters": {"type": "object"}} as its '
            f"target, in strict JSON, not {target!r}"
        )
    parameters = function["parameters"]
    for key in _keys(parameters):
        if key in _REFERENCES:
            raise PanelError(f"tool_call needs parameters without {key!r}, not {target!r}")
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError as error:
        raise PanelError(f"tool_call needs a JSON Schema of the parameters: {error.message}") from error


def describe(target: str) -> str:
    """The requirement in words."""
    return f"is one JSON object that validly calls the function {target}, and nothing else"


def _direction(text: str, target: str) -> str:
    document = read_json(text, read_integer=_integer)
    if document is None:
        return "unparseable"
    call = document.value
    if not isinstance(call, dict):
        return "not_object"
    if document.has_duplicate:
        return "duplicate_key"
    if call.keys() != _CALL_KEYS:
        return "wrong_keys"
    function = _function(target)
    if function is None or call["name"] != function["name"]:
        return "wrong_function"
    from jsonschema import Draft202012Validator

    valid = Draft202012Validator(function["parameters"]).is_valid(call["arguments"])
    return "ok" if valid else "bad_arguments"


def _integer(literal: str) -> int:
    finite(literal)  # no more than 309 digits are left, which int() reads
    return int(literal)


def _function(target: object) -> Mapping[str, Any] | None:
    """The function that a target names; ``None`` where it names none."""
    document = read_json(target, read_integer=_integer) if isinstance(target, str) else None
    function = None if document is None or document.has_duplicate else document.value
    if not isinstance(function, dict) or function.keys() != _FUNCTION_KEYS:
        return None
    name, parameters = function["name"], function["parameters"]
    is_object = isinstance(parameters, dict) and parameters.get("type") == "object"
    return function if isinstance(name, str) and name and is_object else None


def _keys(value: Any) -> Iterator[str]:
    """Every key of every object in ``value``."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
