"""The page as text: what goes into it, what is left out, and how its rows are packed."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.records import Row, Usage
from wise_pytest.report.html.examples import shown_text
from wise_pytest.report.html.page import render_page
from wise_pytest.report.html.payload import pack_rows, pack_to_fit, unpack_rows
from wise_pytest.report.limitations import LIMITATIONS

ANY_TEXT = st.text(st.characters())  # lone surrogates included


def row(text: str | None = "a b c", **more) -> Row:
    fields = {"panel": "p", "model": "m", "provider": "v", "item": "i1", "form": "POS", "repetition": 1}
    return Row(**{**fields, "compliant": True, "text": text, **more})


def packed(rows, **more):
    return unpack_rows(pack_rows(rows, form_order={}, replies={}, **more))


class TestPackedRows:
    def test_every_field_comes_back(self):
        full = row(
            target=(8, 12),
            instruction="x",
            prompt="y x",
            observed=3,
            error=-5,
            direction="below",
            flags=("a", "b"),
            usage=Usage(input_tokens=1, output_tokens=2, reasoning_tokens=0),
            latency_s=0.5,
            attempts=2,
            served_model="s",
            request_digest="d",
            recorded_at="t",
            verifier="word_range/1",
            finish_reason="stop",
        )
        (back,) = packed([full])
        record = json.loads(full.to_json())
        expected = {**record, **record["usage"]}
        assert back == {
            name: value
            for name, value in expected.items()
            if name not in {"schema", "run", "usage"} and value is not None
        }

    @given(st.lists(ANY_TEXT, min_size=1, max_size=8))
    def test_any_text_comes_back_and_needs_no_escape(self, texts):
        rows = [row(text, repetition=number) for number, text in enumerate(texts, start=1)]
        content = pack_rows(rows, form_order={}, replies={})
        assert re.fullmatch(r"[A-Za-z0-9+/=]+", content)
        assert [back["text"] for back in unpack_rows(content)] == texts

    def test_rows_come_in_the_order_of_their_forms(self):
        rows = [row(form=form, repetition=n) for form in ("Z", "POS", "A") for n in (2, 1)]
        back = unpack_rows(pack_rows(rows, form_order={"p": ["POS", "Z"]}, replies={}))
        assert [(found["form"], found["repetition"]) for found in back] == [
            ("POS", 1), ("POS", 2), ("Z", 1), ("Z", 2), ("A", 1), ("A", 2),
        ]  # fmt: skip

    def test_true_and_one_stay_apart(self):
        rows = [row(compliant=True, observed=1), row(compliant=False, observed=0, repetition=2)]
        back = packed(rows)
        assert [(type(found["compliant"]), type(found["observed"])) for found in back] == [(bool, int)] * 2

    @pytest.mark.parametrize("ascii_only", [True, False])
    def test_a_reply_does_not_hold_its_output_twice(self, ascii_only):
        made = row("unlikely 日本 words")
        body = json.dumps({"a": made.text, "b": 1}, ensure_ascii=ascii_only)
        content = pack_rows([made], form_order={}, replies={made.key: body})
        (back,) = unpack_rows(content)
        assert back["text"] == made.text
        assert "unlikely" not in back["reply"]
        # Where the output could not be put back exactly, the reply is kept whole.
        twice = f"{body}{body}"
        (kept,) = unpack_rows(pack_rows([made], form_order={}, replies={made.key: twice}))
        assert kept["reply"] == twice

    def test_too_many_are_cut_by_whole_items_and_it_is_said(self):
        rows = [
            row(hashlib.sha256(f"{item}{n}".encode()).hexdigest(), item=f"i{item:02}", repetition=n)
            for item in range(40)
            for n in range(1, 4)
        ]
        replies = {made.key: hashlib.sha256(repr(made.key).encode()).hexdigest() for made in rows}
        whole = pack_rows(rows, form_order={}, replies={})
        without = pack_to_fit(rows, form_order={}, replies=replies, max_bytes=len(whole))
        assert len(unpack_rows(without.content)) == 120
        assert without.note.startswith("The recorded replies are left out")
        fitted = pack_to_fit(rows, form_order={}, replies=replies, max_bytes=len(whole) // 2)
        kept = unpack_rows(fitted.content)
        assert len(fitted.content) <= len(whole) // 2
        assert 30 < len(kept) < 70
        items = [found["item"] for found in kept]
        assert all(items.count(item) == 3 for item in items)
        assert f"{len(kept)} generations of {len(kept) // 3} of 40 items" in fitted.note

    def test_no_rows(self):
        assert pack_to_fit([], form_order={}, replies={}).content == ""


DOCUMENT = {
    "run": {"wise_pytest": "9.9", "n_rows": 2, "models": ["m"]},
    "panels": {
        "p": {
            "models": ["m"],
            "summary": {"pos": 0.5, "mean": 0.375, "worst": 0.25, "worst_form": "A", "best": 0.5,
                        "best_form": "POS", "gap": 0.25, "gap_ci": [0.125, 0.5]},
            "forms": {"POS": {"compliance": 0.5, "n": 4}, "A": {"compliance": 0.25, "n": 4, "diff": -0.25}},
        }
    },
    "gate": {"status": "fail", "checks": [
        {"panel": "p", "model": "m", "metric": "gap", "value": 0.25, "limit": 0.2, "status": "fail"}]},
}  # fmt: skip


class TestPage:
    def test_a_part_without_data_is_left_out(self):
        page = render_page(DOCUMENT)
        for gone in ('id="cross"', 'id="baseline"', 'id="generations"', "Ranking of the models", "Examples"):
            assert gone not in page
        assert "The same requirement is met by 50.0\u00a0% of answers when worded POS, and by 25.0" in page
        assert "[12.5, 50.0]" in page
        assert "gap 25.0 &gt; 20.0 for model m in p" in page

    def test_an_interval_without_width_is_not_sold_as_certainty(self):
        panel = DOCUMENT["panels"]["p"]
        certain = {"compliance": 1.0, "n": 10, "degenerate": True, "wilson_low": 0.7225, "wilson_high": 1.0}
        page = render_page(
            {
                "panels": {
                    "p": {
                        **panel,
                        "summary": {**panel["summary"], "pos_ci": [1.0, 1.0], "gap_ci": [0.5, 0.5]},
                        "forms": {**panel["forms"], "POS": certain},
                    }
                }
            }
        )
        assert "[72.2, 100.0] (Wilson)" in page
        assert "interval without width" in page
        assert "[100.0, 100.0]" not in page

    def test_an_empty_document_is_a_page_too(self):
        page = render_page({})
        assert "The gate was not evaluated" in page
        assert "the audit states no verdict" in page.lower()

    def test_limitations_are_in_plain_words(self):
        page = html.unescape(render_page(DOCUMENT)).replace("\u00a0%", " %")
        for sentence in LIMITATIONS:
            assert sentence in page

    def test_nothing_runs_but_what_the_policy_names(self):
        page = render_page(DOCUMENT, [row()])
        policy = html.unescape(re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[0])
        for tag in ("style", "script"):
            content = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
            assert len(content) == 1
            digest = base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in policy
        assert "default-src 'none'" in policy
        # No address but that of SVG's own vocabulary, which nothing is asked of.
        assert set(re.findall(r"https?://[\w./]+", page)) <= {"http://www.w3.org/2000/svg"}
        assert re.findall(r'\s(?:src|href)="(?!#|data:,)', page) == []
        assert re.findall(r"\son\w+=", page) == []
        assert " style=" not in page

    def test_a_baseline_is_set_beside_the_run(self):
        changed = {
            "before": 0.5,
            "after": 0.25,
            "diff": -0.25,
            "ci_low": -0.5,
            "ci_high": -0.125,
            "p_holm": 0.01,
            "verdict": "worse",
        }
        pair = {"panel": "p", "model": "m", "baseline_model": "old", "n_paired": 8, "forms": {"A": changed}}
        refused = {**pair, "model": "n", "forms": {}, "refused": ["other items: 3 only in the baseline"]}
        page = render_page({**DOCUMENT, "comparison": {"pairs": [pair, refused]}})
        section = page[page.index('id="baseline"') : page.index('id="panel-p"')]
        for said in (
            "p, m against old",
            "1 of 1 forms worse",
            "50.0",
            "25.0",
            "−25.0",
            "[−50.0, −12.5]",
            "0.010",
            "Not compared:",
            "other items: 3 only in the baseline",
        ):
            assert said in section

    def test_the_manifest_says_how_it_was_made(self):
        manifest = {
            "run": "20260101T000000Z-abcdef",
            "started_at": "2026-01-01T00:00:00Z",
            "software": {"python": "3.11", "numpy": "2.0"},
            "models": [{"name": "m", "provider": "v", "api_model": "m-1", "base_url": "http://h/v1"}],
            "plan": [{"panel": "p", "model": "m", "n_cells": 8, "items": ["a", "b"], "forms": ["POS", "A"],
                      "repetitions": 2}],
        }  # fmt: skip
        page = render_page(DOCUMENT, manifest=manifest)
        for said in ("20260101T000000Z-abcdef", "numpy 2.0", "m-1", "http://h/v1", "POS, A"):
            assert said in page
        assert "numpy 2.0" not in render_page(DOCUMENT)

    def test_the_manifest_says_what_the_calls_have_cost_and_how_they_were_decoded(self):
        manifest = {
            "plan": [
                {"panel": "exact_count", "model": "m", "decoding": {"max_tokens": 120, "temperature": 0.2}}
            ],
            "outcome": {
                "spent": {
                    "m": {"calls": 7, "input_tokens": 140, "output_tokens": 56, "usd": 0.0123, "inexact": 1}
                }
            },
        }
        page = render_page(DOCUMENT, manifest=manifest)
        assert "max_<wbr>tokens 120, temperature 0.2" in page
        assert "What the calls of this run have cost" in page
        assert all(f">{number}<" in page for number in ("7", "140", "56", "$0.0123"))

    def test_a_hostile_name_is_text_everywhere(self):
        name = "<b onload=x>&amp;\u202e\x00\ud83d'\""
        document = json.loads(json.dumps(DOCUMENT).replace('"m"', json.dumps(name)))
        page = render_page(document, [row(model=name)])
        assert "<b onload" not in page
        assert "&lt;b onload=x&gt;&amp;amp;&lt;U+202E&gt;&lt;U+0000&gt;&lt;U+D83D&gt;" in page
        page.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a b", "a b"),
        (" a ", '<span class="invisible">U+0020</span>a<span class="invisible">U+0020</span>'),
        ("a\nb", 'a<span class="invisible">U+000A</span>\nb'),
        ("<i>", "&lt;i&gt;"),
        ("\u202e", '<span class="invisible">U+202E</span>'),
        ("", "<em>the output is empty</em>"),
        ("  ", '<span class="invisible">U+0020</span>' * 2),
    ],
)
def test_an_output_shows_what_does_not_show(text, said):
    assert shown_text(text) == said
