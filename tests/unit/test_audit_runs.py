"""``wise audit`` of runs: as they were audited, unless told otherwise, and only what belongs together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from wise_pytest.audit.texts import default_openings
from wise_pytest.cli import main
from wise_pytest.manifest import read_manifests
from wise_pytest.report.html.payload import unpack_rows
from wise_pytest.runs import agreed, plans_of

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = "d" * 64


def run_folder(
    folder: Path, model: str = "m", *, digest: str | None = DIGEST, prompt: str | None = None, **more: Any
) -> str:
    """A run of eight cells of one model; ``more`` goes into its manifest."""
    folder.mkdir()
    items, forms = ["i001", "i002", "i003", "i004"], ["POS", "NEG"]
    rows = [
        {
            "panel": "exact_count",
            "model": model,
            "provider": "lab",
            "item": item,
            "form": form,
            "repetition": 1,
            "compliant": (place + (form == "NEG")) % 3 > 0,
            "text": "Here is one" if place else "Well, two",
            "prompt": f"{prompt} {form}" if prompt else None,
        }
        for place, item in enumerate(items)
        for form in forms
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "generations.jsonl").write_text(lines, encoding="ascii")
    entry = {"panel": "exact_count", "model": model, "items": items, "forms": forms, "repetitions": 1}
    manifest = {
        "schema": "wise.manifest/1",
        "plan": [entry if digest is None else {**entry, "digest": digest}],
        "models": [{"name": model, "explicit": True}],
        **more,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="ascii")
    return str(folder)


def audited(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    out = tmp_path / "audit-out.json"
    assert main(["audit", *arguments, "--report", f"json:{out}"]) == 0
    found: dict[str, Any] = json.loads(out.read_text("ascii"))
    return found


def settings_of(document: dict[str, Any]) -> tuple[Any, ...]:
    bootstrap = document["panels"]["exact_count"].get("bootstrap", {})
    run = document["run"]
    return bootstrap.get("seed"), bootstrap.get("replicates"), run["openings"], run["exclude"]


OWN: dict[str, Any] = {
    "bootstrap": {"seed": 7, "replicates": 30},
    "openings": ["Well"],
    "exclude": ["other"],
}
DEFAULTS = (0, 2000, [*default_openings()], [])


def test_a_run_is_audited_as_it_was(tmp_path):
    run = run_folder(tmp_path / "a", **OWN)
    document = audited(tmp_path, run)
    assert settings_of(document) == (7, 30, ["Well"], ["other"])
    surface = document["panels"]["exact_count"]["forms"]["POS"]["surface"]
    assert surface["openings"] == {"Well": 1}
    assert settings_of(audited(tmp_path, f"{run}/generations.jsonl")) == (7, 30, ["Well"], ["other"])


def test_options_win(tmp_path):
    run = run_folder(tmp_path / "a", **OWN)
    openings = tmp_path / "openings.txt"
    openings.write_text("Here is\n", encoding="ascii")
    options = ["--seed", "1", "--replicates", "20", "--openings", str(openings), "--exclude", "nobody"]
    document = audited(tmp_path, run, *options)
    assert settings_of(document) == (1, 20, ["Here is"], ["nobody"])
    assert document["panels"]["exact_count"]["forms"]["POS"]["surface"]["openings"] == {"Here is": 3}
    assert settings_of(audited(tmp_path, run, "--replicates", "0"))[:2] == (None, None)


def test_what_no_manifest_says_is_the_default(tmp_path):
    assert settings_of(audited(tmp_path, run_folder(tmp_path / "old"))) == DEFAULTS
    (tmp_path / "old" / "manifest.json").unlink()
    assert settings_of(audited(tmp_path, str(tmp_path / "old"))) == DEFAULTS


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("seed", [{"bootstrap": {"seed": seed, "replicates": 30}} for seed in (1, 2)], ("1", "2")),
        ("replicates", [{"bootstrap": {"seed": 1, "replicates": n}} for n in (30, 0)], ("30", "0")),
        ("openings", [{"openings": ["Well"]}, {"openings": None}], ("'Well'", "None")),
        ("openings", [{"openings": ["Well"]}, {"openings": ["Here is"]}], ("'Well'", "'Here is'")),
    ],
)
def test_runs_that_were_audited_differently_are_named(tmp_path, capsys, name, settings, told):
    first = run_folder(tmp_path / "a", "m", **settings[0])
    second = run_folder(tmp_path / "b", "n", **settings[1])
    assert main(["audit", first, second]) == 2
    said = capsys.readouterr().err
    assert f"different {name}" in said
    assert f"choose one with --{name}" in said
    for value, folder in zip(told, (first, second), strict=True):
        assert value in said
        assert f"{folder}/manifest.json" in said
    given = tmp_path / "given.txt"
    given.write_text("Sure\n", encoding="ascii")
    value = str(given) if name == "openings" else "5"
    assert len(audited(tmp_path, first, second, f"--{name}", value)["run"]["models"]) == 2


def test_an_old_run_that_does_not_say_is_no_disagreement(tmp_path):
    old, new = run_folder(tmp_path / "a", "m"), run_folder(tmp_path / "b", "n", bootstrap=OWN["bootstrap"])
    assert settings_of(audited(tmp_path, old, new))[:2] == (7, 30)
    records = read_manifests([old, new])
    assert (agreed(records, "seed"), agreed(records, "replicates"), agreed(records, "openings")) == (
        7,
        30,
        None,
    )
    assert agreed([], "seed") is None


def test_each_run_excludes_its_own(tmp_path):
    first = run_folder(tmp_path / "a", "m", exclude=["m"])
    second = run_folder(tmp_path / "b", "n", exclude=["x", "m"])
    document = audited(tmp_path, first, second)
    assert document["run"]["exclude"] == ["m", "x"]
    assert document["panels"]["exact_count"]["excluded"] == {"m": "excluded by name"}


def test_runs_of_different_versions_of_a_panel_are_not_merged(tmp_path, capsys):
    first = run_folder(tmp_path / "a", "m")
    second = run_folder(tmp_path / "b", "n", digest="e" * 64)
    assert main(["audit", first, second]) == 2
    assert (
        f"{first}/manifest.json and {second}/manifest.json are of runs with different versions of "
        "the panel exact_count: its items, forms or verifier differ; audit these runs apart"
    ) in capsys.readouterr().err
    assert main(["audit", second]) == 0
    third = run_folder(tmp_path / "c", "o", digest=None)  # nobody knows
    assert main(["audit", first, third]) == 0
    assert plans_of(read_manifests([first, third])).keys() == {("exact_count", "m"), ("exact_count", "o")}


def test_rows_of_different_versions_of_a_panel_are_not_merged_without_manifests(tmp_path, capsys):
    first = run_folder(tmp_path / "a", "m", prompt="Name a river.")
    second = run_folder(tmp_path / "b", "n", prompt="Name a large river.")
    for folder in (first, second):
        (tmp_path / folder / "manifest.json").unlink()
    assert main(["audit", first, second]) == 2
    said = capsys.readouterr().err
    assert f"{first}/generations.jsonl:1 and {second}/generations.jsonl:1 hold different prompts" in said
    assert "item i001" in said
    assert "audit them apart" in said
    assert main(["audit", first]) == 0


@pytest.mark.parametrize("digest", [5, None, ["d"]])
def test_a_digest_that_is_no_text_is_refused(tmp_path, capsys, digest):
    run = run_folder(tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    manifest = json.loads(path.read_text("ascii"))
    manifest["plan"][0]["digest"] = digest
    path.write_text(json.dumps(manifest), encoding="ascii")
    assert main(["audit", run]) == 2
    assert (
        "manifest.json: is no manifest that this version reads (TypeError: 'digest'"
        in capsys.readouterr().err
    )


def test_one_manifest_with_two_versions_of_a_panel_is_refused(tmp_path, capsys):
    run = run_folder(tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    manifest = json.loads(path.read_text("ascii"))
    manifest["plan"].append({**manifest["plan"][0], "model": "n", "digest": "e" * 64})
    path.write_text(json.dumps(manifest), encoding="ascii")
    assert main(["audit", run]) == 2
    assert "two digests for the panel exact_count" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bootstrap": {"seed": -1, "replicates": 5}}, "'seed' must be an integer from 0 to "),
        ({"bootstrap": {"seed": 1, "replicates": 0.5}}, "'replicates' must be an integer from 0 to "),
        ({"bootstrap": {"seed": True, "replicates": 5}}, "'seed' must be an integer from 0 to "),
        ({"bootstrap": 5}, "is no manifest that this version reads"),
        ({"openings": "Well"}, "'openings' must be a list of texts"),
        ({"openings": [None]}, "'openings' must be a list of texts"),
        ({"exclude": "m"}, "'exclude' must be a list of texts"),
        ({"bootstrap": {"seed": 1, "replicates": 10**9}}, "'replicates'"),
        ({"bootstrap": {"seed": 10**40, "replicates": 10}}, "'seed'"),
    ],
)
def test_settings_that_no_run_has_are_refused(tmp_path, capsys, changed, said):
    run = run_folder(tmp_path / "a", **changed)
    assert main(["audit", run]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert "manifest.json" in message


@pytest.mark.parametrize("openings", [[], ["", "  "], ["Here  is", "Here is"]])
def test_odd_openings_of_a_manifest_do_no_harm(tmp_path, openings):
    document = audited(tmp_path, run_folder(tmp_path / "a", openings=openings))
    surface = document["panels"]["exact_count"]["forms"]["POS"]["surface"]
    assert surface["opening_share"] == (0.75 if "Here is" in openings else 0)


def reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[dict[str, Any], str]:
    """``wise report`` where no audit is: the document that it makes, and what it says."""
    assert main(["report", *arguments, "--out", str(tmp_path / "again")]) == 0
    document: dict[str, Any] = json.loads((tmp_path / "again" / "audit.json").read_text("ascii"))
    return document, capsys.readouterr().out


@pytest.mark.parametrize(
    "asked",
    [
        {"thresholds": {"max_form_drop": "5"}},
        {"thresholds": {"max_gap_increase": "25/2"}},
        {"gate": {"mode": "point", "rules": [{"panel": None, "model": "m", "max_form_drop": "5"}]}},
    ],
)
def test_a_limit_of_a_comparison_that_is_not_there_any_more_is_no_pass(tmp_path, capsys, asked):
    assert "gate: PASS" in reported(tmp_path, capsys, run_folder(tmp_path / "plain"))[1]
    document, said = reported(tmp_path, capsys, run_folder(tmp_path / "compared", **asked))
    assert "gate: NOT EVALUATED: 1 of" in said
    (check,) = (check for check in document["gate"]["checks"] if check["status"] == "not_evaluated")
    assert check["reason"].startswith("the baseline is not there any more")


def test_reports_of_a_shard_alone_say_which_are_missing(tmp_path, capsys):
    run = run_folder(tmp_path / "one", shard={"index": 1, "of": 2})
    journal = tmp_path / "one" / "generations.jsonl"
    journal.write_text("".join(journal.read_text("ascii").splitlines(keepends=True)[:4]), encoding="ascii")
    document, _ = reported(tmp_path, capsys, run)
    assert document["run"]["partial"] == "partial: 4 of 8 cells: shard 2 of 2 missing"


def test_runs_that_were_judged_by_different_rules_are_not_judged_by_none(tmp_path, capsys):
    runs = [
        run_folder(tmp_path / "a", thresholds={"max_gap": "0"}),
        run_folder(tmp_path / "b", "n", thresholds={"max_gap": "100"}),
    ]
    assert main(["report", *runs, "--out", str(tmp_path / "again")]) == 2
    assert "were judged by different rules" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"gate": {"rules": ["x"]}}, "a rule of the gate must be an object, not 'x'"),
        ({"gate": {"rules": None}}, "'rules' must be a list, not None"),
        ({"gate": None}, "'gate' must be an object, not None"),
        ({"gate": {"rules": [{"panel": 3, "model": "m"}]}}, "'panel' must be a text, not 3"),
        ({"gate": {"rules": [{"max_gap": "3"}]}}, "must name a panel or a model"),
        ({"gate": {"mode": "sure"}}, "'mode': must be point or confident, not 'sure'"),
        ({"thresholds": []}, "'thresholds' must be an object, not []"),
        ({"thresholds": {"max_gap": "1e999999999"}}, "'max_gap' must be a number as a text"),
        ({"thresholds": {"max_gap": "1/0"}}, "'max_gap' must be a number as a text"),
        ({"thresholds": {"max_gap": 3}}, "'max_gap' must be a number as a text"),
    ],
)
def test_rules_that_are_none_are_one_line_in_every_command(tmp_path, capsys, more, said):
    run = run_folder(tmp_path / "a", **more)
    for command in (["audit", run], ["report", run], ["compare", run, run], ["baseline", "save", run]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"wise: error: {tmp_path / 'a' / 'manifest.json'}: ")
        assert said in error
        assert error.count("\n") == 1


def page_rows(page: Path) -> list[dict[str, Any]]:
    text = page.read_text("utf-8")
    return unpack_rows(text.partition('id="wise-rows">')[2].partition("</script>")[0])


def test_the_page_of_wise_audit_lists_the_rows_as_they_were_scored_again(tmp_path):
    run = run_folder(tmp_path / "a", run="the-run-1")
    journal = tmp_path / "a" / "generations.jsonl"
    rows = [json.loads(line) for line in journal.read_text("ascii").splitlines()]
    scored = {
        "target": 3,
        "verifier": "word_count/1",
        "status": "ok",
    }  # "Here is one" complies, "Well, two" not
    journal.write_text("".join(json.dumps({**row, **scored}) + "\n" for row in rows), encoding="ascii")
    for options, right in (
        ([], [row["compliant"] for row in rows]),
        (["--rescore"], [False] * 2 + [True] * 6),
    ):
        out = tmp_path / f"out{len(options)}"
        main(["audit", run, "--out", str(out), *options])
        found = page_rows(out / "audit.html")
        assert [
            row["compliant"] for row in sorted(found, key=lambda row: (row["item"], row["form"] == "NEG"))
        ] == right


def test_rows_that_are_too_many_are_told_not_listed(tmp_path, monkeypatch):
    monkeypatch.setattr("wise_pytest.commands.audit.MAX_LISTED", 7)
    main(["audit", run_folder(tmp_path / "a"), "--out", str(tmp_path / "out")])
    text = (tmp_path / "out" / "audit.html").read_text("utf-8")
    assert "The 8 generations are too many to list on this page" in text
    assert 'id="wise-rows"' not in text


def test_the_help_names_every_kind_of_report(capsys):
    with pytest.raises(SystemExit):
        main(["audit", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "markdown, json, html, csv, svg, png or comment" in said
