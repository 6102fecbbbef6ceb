"""The report in reports/sample is what this version makes of the bundled recordings; if not, rebuild it.

Its rows are read back from its own page, so that nothing has to run: they are held against the recordings,
audited again, and rendered again.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import dump, to_document
from wise_pytest.audit.gate import evaluate_gate
from wise_pytest.audit.rules import GateRules
from wise_pytest.audit.table import table_of
from wise_pytest.recorded import recorded_replies
from wise_pytest.records import Row
from wise_pytest.report.html.payload import unpack_rows
from wise_pytest.report.kinds import kinds_of_a_run
from wise_pytest.report.writer import Generations, write_report

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "reports" / "sample"
CASSETTES = ROOT / "cassettes"
MODELS = ("qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct", "smollm2-135m-instruct")
USAGE = ("input_tokens", "output_tokens", "reasoning_tokens")


def packed(page: str) -> str:
    return page.partition('id="wise-rows">')[2].partition("</script>")[0]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    found = unpack_rows(packed((SAMPLE / "audit.html").read_text("utf-8")))
    return [
        Row.from_dict({**record, "usage": {name: record.get(name) for name in USAGE}}, where=f"row {number}")
        for number, record in enumerate(found)
    ]


@pytest.fixture(scope="module")
def document() -> dict:
    return json.loads((SAMPLE / "audit.json").read_text("ascii"))


def differences(one, other, path=""):
    """Where two documents differ, numbers to within what another processor may add them up to."""
    if isinstance(one, dict) and isinstance(other, dict):
        if list(one) != list(other):
            yield f"{path}: {list(one)} against {list(other)}"
        for key in one.keys() & other.keys():
            yield from differences(one[key], other[key], f"{path}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{path}/{place}")
    elif isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{path}: {one} against {other}"
    elif one != other:
        yield f"{path}: {one!r} against {other!r}"


def test_its_rows_are_those_of_the_recordings(rows):
    packs = [CASSETTES / "exact_count" / f"{model}.jsonl" for model in MODELS]
    n_recorded = sum(json.loads(pack.read_text("ascii").partition("\n")[0])["recordings"] for pack in packs)
    assert len(rows) == n_recorded
    assert {row.model for row in rows} == set(MODELS)
    replies = recorded_replies(rows, CASSETTES)
    assert len(replies) == len(rows)
    for row in rows:
        assert json.loads(replies[row.key])["choices"][0]["message"]["content"] == row.text


def test_its_audit_is_what_this_version_makes_of_them(rows, document):
    run = document["run"]
    kept = ("wise_pytest", "panels", "not_recorded", "partial", "errors", "served_model_differs")
    audit = build_audit(table_of(rows), provenance={name: run[name] for name in kept})
    gate = evaluate_gate(audit, GateRules(), expected_models=[], partial=None)
    again = json.loads(dump(to_document(audit, gate)))
    assert list(differences(document, again)) == []


def test_its_files_are_what_this_version_writes(rows, document, tmp_path):
    generations = Generations(rows=rows, replies=recorded_replies(rows, CASSETTES))
    write_report(
        document,
        tmp_path,
        kinds_of_a_run([]),
        json_text=(SAMPLE / "audit.json").read_text("ascii"),
        generations=generations,
    )
    made = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*") if path.is_file()}
    kept = {path.relative_to(SAMPLE).as_posix(): path for path in SAMPLE.rglob("*") if path.is_file()}
    assert sorted(made) == sorted(kept)
    for name, path in made.items():
        one, other = path.read_text("utf-8"), kept[name].read_text("utf-8")
        if name == "audit.html":  # other versions of zlib pack the same rows into other bytes
            assert unpack_rows(packed(one)) == unpack_rows(packed(other))
            one, other = one.replace(packed(one), ""), other.replace(packed(other), "")
        assert one == other, f"{name} is stale: rebuild it as reports/README.md says"
