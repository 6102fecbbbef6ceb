"""The reports of one small document, worked out by hand.

Two models and one in the floor regime. In ``exact_count`` the compliant
generations are: alpha POS 6 of 8, AVOID1 2 of 8; beta POS 4 of 8, AVOID1 3 of
6 (two cells without a reply). Pooled: POS 10/16, AVOID1 5/14, so the mean is
(0.625 + 0.357142…) / 2 and the gap 0.267857…; 30 of 32 cells are scored. The
order of the two models is reversed, so tau-b is -1.
"""

import copy
import csv
import io
import json
import re

import pandas as pd
import pytest

from wise_pytest.report.csvfiles import render_tables
from wise_pytest.report.facts import check_sentence, gate_verdict, not_recorded
from wise_pytest.report.kinds import ReportKind
from wise_pytest.report.markdown import render_markdown, render_table
from wise_pytest.report.tables import forms_table, gate_table, models_table, summary_table
from wise_pytest.report.terminal import Line, summary_lines
from wise_pytest.report.text import degrade, display_width
from wise_pytest.report.writer import write_report

DOCUMENT = {
    "schema": "wise.audit/1",
    "run": {
        "wise_pytest": "0.1.0",
        "models": ["alpha", "beta", "tiny"],
        "items_digest": "abc123",
        "decoding": {"max_tokens": 120, "temperature": 0.2},
        "partial": None,
        "not_recorded": [
            {"panel": "length_range", "model": "beta"},
            {"panel": "json_structure", "model": "beta"},
            {"panel": "length_range", "model": "tiny"},
            {"panel": "json_structure", "model": "tiny"},
            {"panel": "length_range", "model": "alpha"},
        ],
        "errors": [{"reason": "HTTP 429 after 5 tries", "n": 2}],
        "served_model_differs": {"beta": "beta-2"},
    },
    "panels": {
        "exact_count": {
            "reference": "POS",
            "models": ["alpha", "beta"],
            "excluded": {"tiny": "floor regime"},
            "n_rows": 36,
            "coverage": 0.9375,
            "notes": ["two rows name no length"],
            "summary": {
                "pos": 0.625,
                "mean": (0.625 + 5 / 14) / 2,
                "worst": 5 / 14,
                "worst_form": "AVOID1",
                "gap": 0.625 - 5 / 14,
                "best_form": "POS",
            },
            "forms": {
                "POS": {
                    "compliance": 0.625,
                    "n": 16,
                    "n_compliant": 10,
                    "directions": {"under": 0.25, "exact": 0.625, "over": 0.125},
                    "mean_abs_error": 0.75,
                    "statuses": {"ok": 15, "truncated": 1},
                },
                "AVOID1": {
                    "compliance": 5 / 14,
                    "n": 14,
                    "n_compliant": 5,
                    "diff": 5 / 14 - 0.625,
                    "directions": {"under": 0.5, "exact": 5 / 14, "over": 1 / 7},
                    "mean_abs_error": 1.5,
                    "statuses": {"ok": 14, "error": 2},
                },
            },
            "ranking": {
                "AVOID1": {
                    "tau_b": -1.0,
                    "reversal": 1.0,
                    "n_pairs": 1,
                    "top3_jaccard": 1.0,
                    "max_rank_shift": 1.0,
                }
            },
            "by_model": {
                "alpha": {
                    "provider": "acme",
                    "excluded": False,
                    "coverage": 1.0,
                    "n_planned": 16,
                    "n_scored": 16,
                    "statuses": {"ok": 16},
                    "forms": {"POS": {"compliance": 0.75, "n": 8}, "AVOID1": {"compliance": 0.25, "n": 8}},
                    "summary": {"pos": 0.75, "mean": 0.5, "worst": 0.25, "worst_form": "AVOID1", "gap": 0.5},
                },
                "beta": {
                    "provider": "acme",
                    "excluded": False,
                    "coverage": 0.875,
                    "n_planned": 16,
                    "n_scored": 14,
                    "statuses": {"ok": 13, "truncated": 1, "error": 2},
                    "forms": {"POS": {"compliance": 0.5, "n": 8}, "AVOID1": {"compliance": 0.5, "n": 6}},
                    "summary": {"pos": 0.5, "mean": 0.5, "worst": 0.5, "worst_form": "POS", "gap": 0.0},
                },
                "tiny": {
                    "provider": "local",
                    "excluded": "floor regime",
                    "coverage": 1.0,
                    "n_planned": 4,
                    "n_scored": 4,
                    "forms": {"POS": {"compliance": 0.0, "n": 4}},
                    "summary": {
                        "pos": 0.0,
                        "mean": 0.0,
                        "worst": 0.0,
                        "worst_form": "POS",
                        "gap": None,
                        "reason": "gap: fewer than two forms have scored rows",
                    },
                },
            },
            "all_models": {
                "summary": {"pos": 0.5, "mean": 3 / 7, "worst": 5 / 14, "worst_form": "AVOID1", "gap": 1 / 7},
                "forms": {"POS": {"compliance": 0.5, "n": 20}, "AVOID1": {"compliance": 5 / 14, "n": 14}},
            },
        },
        "keyword_once": {
            "models": ["alpha", "beta"],
            "excluded": {},
            "n_rows": 0,
            "coverage": 0.0,
            "summary": None,
            "reason": "no scored rows",
            "ranking": {
                "NEG": {
                    "tau_b": None,
                    "reversal": None,
                    "top3_jaccard": None,
                    "max_rank_shift": None,
                    "n_pairs": 0,
                    "reason": "all models are tied under this form",
                }
            },
            "by_model": {"alpha": {"provider": "acme", "summary": None, "reason": "no scored rows"}},
        },
    },
    "gate": {
        "status": "fail",
        "checks": [
            {
                "panel": "exact_count",
                "model": "alpha",
                "metric": "gap",
                "value": 0.5,
                "limit": 0.2,
                "status": "fail",
                "reason": "wording gap 50.0, asked for at most 20.0",
            },
            {
                "panel": "exact_count",
                "model": "beta",
                "metric": "gap",
                "value": 0.0,
                "limit": 0.2,
                "status": "pass",
                "reason": None,
            },
            {
                "panel": "exact_count",
                "model": "beta",
                "metric": "coverage",
                "value": 0.9499,
                "limit": 0.95,
                "status": "fail",
                "reason": None,
            },
            {
                "panel": "keyword_once",
                "model": None,
                "form": "NEG",
                "metric": "tau_b",
                "value": None,
                "limit": 0.5,
                "status": "not_evaluated",
                "reason": "all models are tied under this form",
            },
        ],
    },
}

HOSTILE = (
    "a|b",
    "a\\|b\\",
    "`code` ``|``",
    "</script><script>alert(1)</script>",
    "two\nlines\r\nthree",
    "nul\0here",
    "right\u202eleft",
    "half \ud83d of a pair",
    "日本語のモデル",
    "*bold* _it_ [x](http://y) ~~z~~ $m$",
    "next\u0085line\u2028para\u2029end",
    " edges ",
    "- [ ] list",
    "1. list",
    "&lt;",
    "",
)


@pytest.fixture
def document():
    return copy.deepcopy(DOCUMENT)


def markdown_rows(text):
    """Every table of a markdown text as lists of cells, split as GitHub does: at unescaped pipes."""
    tables = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        if lines[0].startswith("|"):
            tables.append([re.split(r"(?<!\\)\|", line)[1:-1] for line in lines])
    return tables


def stripped(table):
    return [[cell.strip() for cell in row] for row in table]


def rows_of(table):
    return stripped(markdown_rows(render_table(table))[0])


class TestTables:
    def test_summary_holds_raw_values(self, document):
        table = summary_table(document)
        assert [column.header for column in table.columns] == [
            "Panel",
            "POS",
            "Mean",
            "Worst",
            "Worst form",
            "Gap",
            "Best form",
            "Models",
            "Rows",
            "Coverage",
        ]
        assert table.rows[0] == (
            "exact_count",
            0.625,
            (0.625 + 5 / 14) / 2,
            5 / 14,
            "AVOID1",
            0.625 - 5 / 14,
            "POS",
            2,
            36,
            0.9375,
        )

    def test_summary_in_points_with_a_footnote_where_there_is_none(self, document):
        text = render_table(summary_table(document))
        header, _, first, second = stripped(markdown_rows(text)[0])
        assert header[:4] == ["Panel", "POS", "Mean", "Worst"]
        assert first == ["exact_count", "62.5", "49.1", "35.7", "AVOID1", "26.8", "POS", "2", "36", "93.8"]
        assert second == ["keyword_once", "– (1)", "– (1)", "– (1)", "–", "– (1)", "–", "2", "0", "0.0"]
        assert text.endswith("\n\n- (1) no scored rows")

    def test_forms_with_signed_differences(self, document):
        rows = rows_of(forms_table(document["panels"]["exact_count"]))
        assert rows[0] == ["Form", "Compliance", "n", "Compliant", "Δ", "Mean abs. error"]
        assert rows[2:] == [
            ["POS", "62.5", "16", "10", "–", "0.75"],
            ["AVOID1", "35.7", "14", "5", "−26.8", "1.50"],
        ]

    def test_intervals_and_p_values_once_the_document_has_them(self, document):
        forms = document["panels"]["exact_count"]["forms"]
        forms["AVOID1"] |= {"ci_low": -0.4, "ci_high": 0.0125, "p_raw": 0.0004, "p_holm": 0.0312}
        forms["POS"] |= {"ci_low": None, "ci_high": None, "ci_reason": "the reference form"}
        rows = rows_of(forms_table(document["panels"]["exact_count"]))
        assert rows[0][4:8] == ["Δ", "Interval of Δ", "p", "p (Holm)"]
        assert rows[2][4:8] == ["–", "– (1)", "–", "–"]
        assert rows[3][4:8] == ["−26.8", "[−40.0, +1.2]", "< 0.001", "0.031"]

    def test_a_degenerate_rate_brings_its_interval(self, document):
        document["panels"]["exact_count"]["forms"]["POS"] |= {"wilson_low": 0.7225, "wilson_high": 1.0}
        rows = rows_of(forms_table(document["panels"]["exact_count"]))
        assert rows[0][4] == "Wilson interval"
        assert [rows[2][4], rows[3][4]] == ["[72.2, 100.0]", "–"]

    def test_models_with_one_column_a_form(self, document):
        rows = rows_of(models_table(document["panels"]["exact_count"]))
        assert rows[0] == ["Model", "POS", "AVOID1", "n per form", "Gap", "Worst form", "Left out"]
        assert rows[2:] == [
            ["alpha", "75.0", "25.0", "8", "50.0", "AVOID1", ""],
            ["beta", "50.0", "50.0", "6–8", "0.0", "every form", ""],
            ["tiny", "0.0", "–", "4", "– (1)", "POS", "floor regime"],
        ]

    def test_gate_tells_value_and_limit_apart(self, document):
        rows = rows_of(gate_table(document))
        assert rows[2] == ["exact_count", "alpha", "–", "gap", "50.0", "20.0", "fail"]
        assert rows[4] == ["exact_count", "beta", "–", "coverage", "94.99", "95.00", "fail"]
        assert rows[5] == ["keyword_once", "–", "NEG", "tau_b", "– (1)", "0.50", "not_evaluated"]

    def test_a_rate_that_rounds_to_zero_has_no_sign(self, document):
        document["panels"]["exact_count"]["forms"]["AVOID1"]["diff"] = -0.0001
        assert rows_of(forms_table(document["panels"]["exact_count"]))[3][4] == "0.0"

    def test_nan_is_missing(self, document):
        document["panels"]["exact_count"]["forms"]["POS"]["compliance"] = float("nan")
        assert rows_of(forms_table(document["panels"]["exact_count"]))[2][1] == "–"


class TestVerdict:
    @pytest.mark.parametrize(
        ("gate", "sentence"),
        [
            ({"status": "pass", "checks": []}, "PASS"),
            ({"status": "fail", "checks": [{"status": "fail"}]}, "FAIL: 1 of 1 check"),
            (
                {"status": "fail", "checks": [{"status": "fail"}] * 2 + [{"status": "pass"}] * 3},
                "FAIL: 2 of 5 checks",
            ),
            ({"status": "not_evaluated", "checks": []}, "NOT EVALUATED: no check was made"),
            (
                {"status": "not_evaluated", "reason": "no rows", "checks": []},
                "NOT EVALUATED: no rows",
            ),
            (
                {
                    "status": "not_evaluated",
                    "checks": [
                        {"status": "not_evaluated", "reason": "a"},
                        {"status": "not_evaluated", "reason": "b"},
                    ],
                },
                "NOT EVALUATED: a (and 1 more)",
            ),
            ({}, "NOT EVALUATED: the audit states no verdict"),
            ({"status": "passed"}, "NOT EVALUATED: the audit states no verdict"),
        ],
    )
    def test_in_words(self, gate, sentence):
        assert gate_verdict({"panels": {}, "gate": gate}).sentence == sentence

    @pytest.mark.parametrize(
        ("check", "sentence"),
        [
            (
                {"metric": "gap", "value": 0.234, "limit": 0.2, "model": "M", "panel": "exact_count"},
                "gap 23.4 > 20.0 for model M in exact_count",
            ),
            (
                {"metric": "gap", "value": 0.2004, "limit": 0.2, "model": "M", "panel": "p"},
                "gap 20.04 > 20.00 for model M in p",
            ),
            (
                {"metric": "tau_b", "value": -0.5, "limit": 0.25, "panel": "p", "form": "NEG"},
                "tau_b −0.50 < 0.25 in p, form NEG",
            ),
            ({"metric": "max_rank_shift", "value": 2.5, "limit": 2}, "rank shift 2.5 > 2"),
            ({"metric": "novel", "value": 3, "limit": 3}, "novel 3 = 3"),
            (
                {"metric": "gap", "value": None, "limit": 0.2, "model": "M", "reason": "one form"},
                "gap not available (limit 20.0) for model M: one form",
            ),
        ],
    )
    def test_a_check_in_a_sentence(self, check, sentence):
        assert check_sentence(check) == sentence

    def test_panels_without_recordings_are_grouped(self, document):
        assert not_recorded(document) == ["length_range, json_structure (beta, tiny)", "length_range (alpha)"]

    def test_in_a_line_the_first_of_many_stands_for_them(self, document):
        document["run"]["not_recorded"] = [
            {"panel": panel, "model": model}
            for model, panels in {"a": "pqrs", "b": "pqrs", "c": "pqrs", "d": "pqr"}.items()
            for panel in panels
        ]
        assert not_recorded(document, brief=True) == ["p and 3 others (a, b, c)", "p, q, r (d)"]
        assert not_recorded(document) == ["p, q, r, s (a, b, c)", "p, q, r (d)"]


class TestMarkdown:
    def test_verdict_is_the_first_line_and_the_failures_come_next(self, document):
        assert render_markdown(document).split("\n")[:9] == [
            "# WISE audit – FAIL: 2 of 4 checks",
            "",
            "## Gate",
            "",
            "Failed:",
            "",
            "- gap 50.0 > 20.0 for model alpha in exact_count",
            "- coverage 94.99 &lt; 95.00 for model beta in exact_count",
            "",
        ]

    @pytest.mark.parametrize(
        "line",
        [
            "- wise-pytest: 0.1.0",
            "- Decoding: max_tokens 120, temperature 0.2",
            "- length_range, json_structure (beta, tiny)",
            "- beta was served by beta-2",
            "Without a usable reply: 2 technical errors.",
            "## Panel exact_count",
            "Primary models: alpha, beta.",
            "- tiny (floor regime)",
            "- two rows name no length",
            "- (1) all models are tied under this form",
        ],
    )
    def test_says_what_was_run_and_what_was_not(self, document, line):
        assert render_markdown(document).split("\n").count(line) >= 1

    def test_limitations_are_stated(self, document):
        text = render_markdown(document)
        assert "The worst form and the gap depend on the forms that the panel declares" in text
        assert "Rates of different providers are not directly comparable" in text
        assert "A verifier sees the complete visible output and repairs nothing" in text

    def test_what_a_verifier_counts_is_said_of_those_that_scored(self, document):
        document["panels"]["exact_count"]["verifiers"] = ["word_count/1", "mine/1"]
        text = render_markdown(document)
        assert "word_count/1: words are what blanks separate; a hyphenated word is one" in text
        assert "mine/1: a verifier of your own." in text

    def test_a_partial_run_says_so_at_the_top(self, document):
        document["run"]["partial"] = "partial: 3 of 8 cells"
        assert render_markdown(document).split("\n")[2] == "**Partial run:** 3 of 8 cells"

    def test_all_models_are_reported_beside_the_primary_ones(self, document):
        tables = [stripped(table) for table in markdown_rows(render_markdown(document))]
        over_all = [table for table in tables if table[0][:2] == ["Panel", "POS"]][1]
        assert over_all[2:] == [["exact_count", "50.0", "42.9", "35.7", "AVOID1", "14.3"]]

    @pytest.mark.parametrize("text", HOSTILE)
    def test_no_text_breaks_a_table(self, document, text):
        text_of = hostile_document(document, text)
        report = render_markdown(text_of)
        report.encode("utf-8")
        plain = markdown_rows(render_markdown(document))
        hostile = markdown_rows(report)
        assert [(len(table), len(table[0])) for table in hostile] == [
            (len(table), len(table[0])) for table in plain
        ]
        assert all(len(row) == len(table[0]) for table in hostile for row in table)
        assert "<" not in re.sub(r"< 0\.001", "", report)
        assert all(mark == "\n" or mark.isprintable() for mark in report)

    def test_what_does_not_show_is_written_as_its_code_point(self, document):
        report = render_markdown(hostile_document(document, "a\u202eb\0c\nd\ud83d"))
        assert "a&lt;U+202E>b&lt;U+0000>c&lt;U+000A>d&lt;U+D83D>" in report

    def test_only_panels_and_gate_are_needed(self):
        report = render_markdown({"panels": {"p": {}}, "gate": {"status": "pass", "checks": []}})
        assert report.startswith("# WISE audit – PASS\n")
        assert stripped(markdown_rows(report)[0])[2] == ["p", "–", "–", "–", "–", "–", "–", "–", "–"]

    def test_equal_documents_give_equal_reports(self, document):
        assert render_markdown(document) == render_markdown(json.loads(json.dumps(document)))


def hostile_document(document, text):
    """The document with ``text`` as model, form, panel, reason, note, metric and provenance."""
    changed = copy.deepcopy(document)
    changed["run"]["wise_pytest"] = text
    panel = changed["panels"]["exact_count"]
    panel["notes"] = [text]
    panel["models"] = [text, "beta"]
    panel["excluded"] = {"tiny": text}
    panel["by_model"] = {text: panel["by_model"].pop("alpha"), **panel["by_model"]}
    panel["by_model"][text]["provider"] = text
    panel["summary"]["worst_form"] = text
    panel["by_model"]["tiny"]["summary"]["reason"] = text
    for forms in (panel["forms"], panel["ranking"], *(m["forms"] for m in panel["by_model"].values())):
        if "AVOID1" in forms:
            forms[text] = forms.pop("AVOID1")
    changed["gate"]["checks"][0] |= {"model": text, "panel": text, "metric": text}
    changed["panels"] = {text: panel, "keyword_once": changed["panels"]["keyword_once"]}
    return changed


def write_tables(document, folder):
    write_report(document, folder, [ReportKind("csv", folder)], json_text="{}")


class TestCsv:
    def read(self, document, name):
        return list(csv.DictReader(io.StringIO(render_tables(document)[name], newline="")))

    def test_one_file_a_table(self, document, tmp_path):
        write_tables(document, tmp_path / "tables")
        written = list((tmp_path / "tables").iterdir())
        assert {"summary.csv", "forms.csv", "models.csv", "ranking.csv", "gate.csv", "statuses.csv"} <= {
            path.name for path in written
        }
        for path in written:
            content = path.read_bytes()
            assert b"\r" not in content
            assert content.endswith(b"\n")

    def test_numbers_are_unrounded_rates(self, document):
        rows = self.read(document, "forms.csv")
        assert [(row["panel"], row["form"], row["n"]) for row in rows] == [
            ("exact_count", "POS", "16"),
            ("exact_count", "AVOID1", "14"),
        ]
        assert float(rows[1]["compliance"]) == 5 / 14
        assert float(rows[1]["diff"]) == 5 / 14 - 0.625
        assert rows[0]["diff"] == rows[0]["ci_low"] == rows[0]["ci_high"] == ""

    def test_pandas_reads_the_same_numbers(self, document, tmp_path):
        write_tables(document, tmp_path)
        models = pd.read_csv(tmp_path / "models.csv").set_index(["panel", "model"])
        assert models.loc[("exact_count", "alpha"), "gap"] == 0.5
        assert pd.isna(models.loc[("exact_count", "tiny"), "gap"])
        assert models.loc[("exact_count", "tiny"), "excluded"] == "floor regime"
        forms = pd.read_csv(tmp_path / "forms.csv")
        assert forms["compliance"].tolist() == pytest.approx([0.625, 5 / 14], rel=1e-12)

    def test_what_is_missing_is_empty_and_says_why(self, document):
        ranking = self.read(document, "ranking.csv")[1]
        assert (ranking["tau_b"], ranking["reversal"], ranking["n_pairs"]) == ("", "", "0")
        assert ranking["reason"] == "all models are tied under this form"
        assert self.read(document, "summary.csv")[1]["reason"] == "no scored rows"

    def test_intervals_are_two_columns(self, document):
        document["panels"]["exact_count"]["ranking"]["AVOID1"]["tau_b_ci"] = [-1.0, 0.25]
        row = self.read(document, "ranking.csv")[0]
        assert (row["tau_b_ci_low"], row["tau_b_ci_high"]) == ("-1.0", "0.25")

    def test_statuses_name_their_level(self, document):
        rows = self.read(document, "statuses.csv")
        assert {
            "panel": "exact_count",
            "level": "form",
            "form": "POS",
            "model": "",
            "status": "ok",
            "n": "15",
        } in rows
        assert {
            "panel": "exact_count",
            "level": "model",
            "form": "",
            "model": "beta",
            "status": "error",
            "n": "2",
        } in rows

    @pytest.mark.parametrize(
        "text",
        [
            '=HYPERLINK("http://x","y")',
            "+1",
            "-1+2",
            "@x",
            "\tx",
            "\rx",
            "\nx",
            "＝1",
            "mid\rdle",
            'q"u,o',
            "日本",
        ],
    )
    def test_text_is_no_formula_and_reads_back(self, document, text, tmp_path):
        document["gate"]["checks"][0] |= {"model": text, "value": -1.5}
        expected = text if text in {"mid\rdle", 'q"u,o', "日本"} else f"'{text}"
        row = self.read(document, "gate.csv")[0]
        assert (row["model"], row["value"]) == (expected, "-1.5")
        write_tables(document, tmp_path)
        frame = pd.read_csv(tmp_path / "gate.csv")
        assert (frame["model"][0], frame["value"][0]) == (expected, -1.5)
        assert len(frame) == 4

    def test_a_lone_surrogate_and_a_nul_lose_nothing_else(self, document, tmp_path):
        document["gate"]["checks"][0]["model"] = "a\ud83d\0b"
        write_tables(document, tmp_path)
        assert pd.read_csv(tmp_path / "gate.csv")["model"][0] == r"a\ud83d<U+0000>b"


class TestTerminal:
    def test_the_lines(self, document):
        assert summary_lines(document, report_paths=["reports/x/audit.md"]) == [
            Line("panel         model   POS  mean       worst (form)   gap  coverage", "bold"),
            Line("exact_count   alpha  75.0  50.0      25.0 (AVOID1)  50.0     100.0"),
            Line("exact_count   beta   50.0  50.0  50.0 (every form)   0.0      87.5"),
            Line("exact_count   tiny    0.0   0.0          0.0 (POS)     –     100.0"),
            Line("keyword_once  alpha     –     –                  –     –         –"),
            Line("left out of the primary models of exact_count: tiny (floor regime)"),
            Line("ranking in exact_count: lowest tau_b −1.00 (AVOID1), highest reversal 100.0 (AVOID1)"),
            Line("ranking in keyword_once: not available (all models are tied under this form)"),
            Line("2 technical errors", "yellow"),
            Line("  2 × HTTP 429 after 5 tries", "yellow"),
            Line("not recorded: length_range, json_structure (beta, tiny); length_range (alpha)", "yellow"),
            Line("  record with --record-mode=new_episodes", "yellow"),
            Line("beta was served by beta-2", "yellow"),
            Line("gate: FAIL: 2 of 4 checks", "red"),
            Line("  gap 50.0 > 20.0 for model alpha in exact_count", "red"),
            Line("  coverage 94.99 < 95.00 for model beta in exact_count", "red"),
            Line(
                "  tau_b not available (limit 0.50) in keyword_once, form NEG: "
                "all models are tied under this form",
                "yellow",
            ),
            Line("report: reports/x/audit.md"),
        ]

    def test_the_worst_ranking_is_named_with_its_own_form(self, document):
        document["panels"]["exact_count"]["ranking"] = {
            "A": {"tau_b": 0.6, "reversal": 0.3},
            "B": {"tau_b": 0.2, "reversal": 0.1},
        }
        texts = [line.text for line in summary_lines(document)]
        assert "ranking in exact_count: lowest tau_b 0.20 (B), highest reversal 30.0 (A)" in texts

    def test_no_ranking_line_for_one_model(self, document):
        document["panels"]["exact_count"]["models"] = ["alpha"]
        assert not [
            line for line in summary_lines(document) if line.text.startswith("ranking in exact_count")
        ]

    def test_many_models_are_cut_and_counted(self, document):
        model = document["panels"]["exact_count"]["by_model"]["alpha"]
        document["panels"]["exact_count"]["by_model"] = {f"m{i}": model for i in range(24)}
        texts = [line.text for line in summary_lines(document, report_paths=["r/audit.md"])]
        assert texts[21] == "… and 5 more in r/audit.md"
        assert texts[20].startswith("exact_count  m19 ")

    def test_long_names_keep_both_ends_within_the_width(self, document):
        panel = document["panels"]["exact_count"]
        panel["by_model"] = {f"{'x' * 300}{end}": panel["by_model"]["alpha"] for end in "ab"}
        panel["by_model"]["日本語のとても長いモデルの名前です"] = panel["by_model"][f"{'x' * 300}a"]
        document["panels"] = {"constructional_controls": panel}
        rows = [line.text for line in summary_lines(document, width=100)[:4]]
        assert {display_width(row) for row in rows} == {100}
        assert "xa " in rows[1]
        assert "xb " in rows[2]

    @pytest.mark.parametrize(("status", "style"), [("pass", "green"), ("not_evaluated", "yellow")])
    def test_the_verdict_has_its_colour(self, document, status, style):
        document["gate"] = {"status": status, "checks": []}
        assert [line.style for line in summary_lines(document) if line.text.startswith("gate:")] == [style]

    def test_a_partial_run_is_named(self, document):
        document["run"]["partial"] = "partial: 3 of 8"
        assert Line("partial: 3 of 8", "yellow") in summary_lines(document)

    @pytest.mark.parametrize("text", HOSTILE)
    @pytest.mark.parametrize(
        "encoding", ["ascii", "cp1252", "utf-8", "utf-16", "no-such", "rot13", "a\0b", None]
    )
    def test_any_text_goes_to_any_stream(self, document, text, encoding):
        plain = summary_lines(document)
        lines = summary_lines(hostile_document(document, text))
        assert len(lines) == len(plain)
        for line in lines:
            assert line.text.isprintable()
            shown = degrade(line.text, encoding)
            shown.encode(encoding if encoding in {"ascii", "cp1252", "utf-8", "utf-16"} else "ascii")

    def test_nothing_to_report(self):
        assert summary_lines({"panels": {}, "gate": {"status": "not_evaluated", "reason": "no rows"}}) == [
            Line("no model was audited", "yellow"),
            Line("gate: NOT EVALUATED: no rows", "yellow"),
        ]


def test_models_that_differ_in_the_middle_of_their_names_stay_apart_on_a_narrow_terminal():
    summary = {"pos": 0.5, "mean": 0.5, "worst": 0.4, "worst_form": "AVOID1", "gap": 0.1}
    names = ["qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct"]
    panel = {"by_model": {name: {"summary": summary, "coverage": 1.0} for name in names}}
    document = {"panels": {"exact_count": panel}, "gate": {"status": "pass", "checks": []}}
    shown = [line.text.split()[1] for line in summary_lines(document, width=72)[1:3]]
    assert len(set(shown)) == 2
