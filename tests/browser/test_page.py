"""The page in a real browser: it opens from disk, asks for nothing, finds what it should, hides nothing."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
import re

import pytest

from tests.browser import thirteen
from tests.browser.pages import document_of, write_page
from wise_pytest.panels.catalog import bundled_panel
from wise_pytest.records import Row

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright comes with the extra 'dev'")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe comes with the extra 'dev'")

WIDTHS = (400, 1600)
SCHEMES = ("light", "dark")
MAX_BYTES = 15 * 1024 * 1024
MAX_PAINT_MS = 1500
HOSTILE = {
    "image": '<img src=x onerror="window.hacked=1">',
    "script": "</script><script>window.hacked=1</script>",
    "comment": "<!-- <script> -->]]>",
    "template": "{{ 7 * 7 }} ${window.hacked=1} {% raw %}",
    "attribute": "\" onmouseover='window.hacked=1' x=`",
    "bidi": "abc \u202edef\u2066ghi\u2069",
    "separators": "one\u2028two\u2029three\u0085four",
    "controls": "nul\x00 bell\x07 escape\x1b[31m tab\t",
    "spaces": "  edge and\u00a0hard\u200b zero ",
    "surrogate": "half \ud83d and \udc00",
    "lines": "first\r\nsecond\nthird",
    "wide": "日本語 " * 30,
    "long": "w" * 3000,
}
"""Texts that must be shown as they are and never do anything, by what they are."""


def button_of(opened):
    return opened.page.locator("#theme")


def count(opened):
    return opened.page.locator("#count").inner_text()


def choose(opened, **filters):
    for name, value in filters.items():
        opened.page.select_option(f"#f-{name}", value if value == "" else f"={value}")


def search(opened, text):
    opened.page.fill("#f-search", text)
    opened.page.wait_for_timeout(250)


def shown(opened):
    return opened.page.locator("#detail").inner_text()


@pytest.fixture(scope="module")
def rows():
    return list(thirteen.rows(n_models=3, n_items=8))


@pytest.fixture(scope="module")
def document(rows):
    return document_of(rows, limits={"max-gap": "30"})


@pytest.fixture(scope="module")
def small(rows, document, tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("page") / "audit.html", rows, document)


@pytest.fixture(scope="module")
def hostile_rows():
    return [
        Row(
            panel="exact_count",
            model=f"model {HOSTILE['image']} {HOSTILE['bidi']}",
            provider=HOSTILE["script"],
            item=f"i{number:02} {kind}",
            form=form,
            repetition=1,
            compliant=form == "POS",
            target=5,
            instruction=f"Answer {HOSTILE['attribute']}",
            prompt=f"{text} Answer {HOSTILE['attribute']}",
            text=text,
            observed=5,
            error=0 if form == "POS" else 1,
            direction="exact" if form == "POS" else "</td><script>window.hacked=1</script>",
            finish_reason=HOSTILE["script"],
            verifier="word_count/1",
        )
        for number, (kind, text) in enumerate(HOSTILE.items())
        for form in ("POS", "AVOID1")
    ]


@pytest.fixture(scope="module")
def hostile(hostile_rows, tmp_path_factory):
    document = document_of(hostile_rows)
    replies = {row.key: f'{{"content": {json.dumps(row.text)}}}' for row in hostile_rows}
    return write_page(
        tmp_path_factory.mktemp("hostile") / "audit.html", hostile_rows, document, replies=replies
    )


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Thirteen models, 23,400 rows."""
    rows = list(thirteen.rows())
    document = document_of(rows, exclude=thirteen.GEMINI, limits={"max-gap": "30"})
    path = write_page(tmp_path_factory.mktemp("full") / "audit.html", rows, document)
    return path, rows


@pytest.fixture(scope="module")
def factorial(tmp_path_factory):
    """Two models in a panel with factors, read by other counters as well."""
    chosen = random.Random(1)
    rows = [
        Row(
            panel="factorial_count",
            model=model,
            provider=model,
            item=f"i{item}",
            form=form.form_id,
            repetition=1,
            compliant=text == "one two three",
            target=3,
            text=text,
            observed=len(text.split()),
            verifier="word_count/1",
        )
        for model in ("first", "second")
        for item in range(5)
        for form in bundled_panel("factorial_count").forms
        for text in [chosen.choice(["one two three", "- one two three", "one"])]
    ]
    document = document_of(rows, sensitivity=True)
    return write_page(tmp_path_factory.mktemp("factorial") / "audit.html", rows, document)


# What a reader sees first


def test_the_verdict_comes_first_and_in_words(open_page, small):
    opened = open_page(small)
    assert opened.page.locator("h1").inner_text() == "The gate fails"
    assert "gap" in opened.page.locator(".verdict").inner_text()
    order = opened.page.evaluate("[...document.querySelectorAll('main section[id]')].map(s => s.id)")
    assert order == ["verdict", "panel-exact_count", "generations", "run", "limits"]


def test_no_table_that_shows_is_cut_on_a_wide_screen(open_page, factorial):
    """32 forms with long names, at the width of a common laptop."""
    opened = open_page(factorial)
    opened.page.set_viewport_size({"width": 1400, "height": 900})
    cut = opened.page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.getAttribute('aria-label'))"
    )
    assert cut == []


@pytest.mark.parametrize("name", ["small", "factorial"])
def test_headings_are_in_order(open_page, request, name):
    opened = open_page(request.getfixturevalue(name))
    levels = opened.page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_a_panel_with_factors_shows_their_effects_and_the_other_counters(open_page, factorial):
    opened = open_page(factorial)
    effects = opened.page.locator("#panel-factorial_count-effects")
    assert effects.locator("figure svg[role=img]").count() == 1
    assert effects.locator("figure + details tbody tr").count() == 18
    assert "over 5 items" in effects.inner_text()
    counters = opened.page.locator("#panel-factorial_count-counters")
    assert counters.locator("h3").inner_text() == "Does the wording effect survive the choice of counter?"
    assert counters.locator("tbody").first.locator("tr").count() == 6
    assert opened.page.locator("nav a[href='#panel-factorial_count-counters']").count() == 1


@pytest.mark.parametrize("name", ["small", "factorial"])
def test_every_picture_has_its_data_in_a_table(open_page, request, name):
    opened = open_page(request.getfixturevalue(name))
    figures = opened.page.locator("figure")
    assert figures.count() >= {"small": 7, "factorial": 5}[name]
    for number in range(figures.count()):
        figure = figures.nth(number)
        assert figure.locator("svg[role=img]").get_attribute("aria-label")
        assert figure.locator("xpath=following-sibling::details[1]//tbody/tr").count() > 0


def test_the_page_reads_without_scripts(open_page, small, tmp_path):
    # Other than its digest, a script cannot run: this one is cut, as by a browser that runs none.
    text = small.read_text("utf-8").replace('"use strict";', '"use strict"; return;', 1)
    path = tmp_path / "audit.html"
    path.write_text(text, "utf-8")
    opened = open_page(path, ready=False)
    assert "Refused to execute" in opened.complaints.pop() or not opened.complaints
    assert opened.page.locator("h1").inner_text() == "The gate fails"
    assert opened.page.locator("table").count() > 10
    assert not opened.page.locator("#browser").is_visible()
    assert not button_of(opened).is_visible()


# Filters and search


@pytest.mark.parametrize(
    ("filters", "fits"),
    [
        ({"model": "Claude Opus 4.8"}, lambda row: row.model == "Claude Opus 4.8"),
        ({"form": "AVOID1"}, lambda row: row.form == "AVOID1"),
        ({"direction": "over"}, lambda row: row.direction == "over"),
        ({"status": "truncated"}, lambda row: row.status == "truncated"),
        ({"item": "i003"}, lambda row: row.item == "i003"),
        ({"verdict": "not compliant"}, lambda row: row.compliant is False),
        (
            {"form": "NEG", "verdict": "compliant", "item": "i001"},
            lambda row: row.form == "NEG" and row.compliant is True and row.item == "i001",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_filters_find_what_they_should(open_page, small, rows, filters, fits):
    opened = open_page(small)
    choose(opened, **filters)
    expected = [row for row in rows if fits(row)]
    assert 0 < len(expected) < len(rows)
    assert count(opened) == f"{len(expected)} of {len(rows)} generations"
    opened.page.click("text=Show all")
    sync_api.expect(opened.page.locator("#count")).to_have_text(f"{len(rows)} generations")


def test_search_looks_in_prompts_outputs_and_ignores_case(open_page, small, rows):
    opened = open_page(small)
    for needle in ("RIVERS", "do not fail", "here is one"):
        search(opened, needle)
        expected = sum(needle.lower() in f"{row.prompt}\n{row.text}".lower() for row in rows)
        assert expected
        assert count(opened) == f"{expected} of {len(rows)} generations"
    search(opened, "no such words at all")
    assert count(opened) == f"0 of {len(rows)} generations"
    assert "No generation fits" in shown(opened)


def test_a_link_of_a_table_leads_to_its_generations(open_page, small, rows):
    opened = open_page(small)
    opened.page.click("a.browse[data-form=AVOID1] >> nth=0")
    assert count(opened) == f"{sum(row.form == 'AVOID1' for row in rows)} of {len(rows)} generations"
    assert opened.page.evaluate("document.activeElement.id") == "list"


def test_the_prompt_marks_its_instruction_and_the_matched_output_is_beside(open_page, small, rows):
    opened = open_page(small)
    row = next(row for row in rows if row.form == "AVOID1" and row.repetition == 2 and not row.compliant)
    twin = next(other for other in rows if other.key == (*row.key[:3], "POS", 2))
    choose(opened, model=row.model, form="AVOID1", item=row.item)
    opened.page.locator(".row").nth(1).click()
    detail = opened.page.locator("#detail")
    assert detail.locator("mark").inner_text() == row.instruction
    outputs = [output.inner_text() for output in detail.locator(".two .output").all()]
    assert [text.split() for text in outputs] == [row.text.split(), twin.text.split()]
    assert str(row.request_digest) in shown(opened)


def test_the_recorded_reply_is_shown_as_it_was(open_page, rows, document, tmp_path):
    bodies = {}
    for number, row in enumerate(rows):
        reply = {"id": number, "choices": [{"text": row.text, "more": 'é"\x7f'}]}
        bodies[row.key] = json.dumps(reply, ensure_ascii=number % 2 == 0)
    opened = open_page(write_page(tmp_path / "audit.html", rows, document, replies=bodies))
    first = min(rows, key=lambda row: (row.model, row.item, row.form != "POS", row.repetition))
    choose(opened, model=first.model, item=first.item, form="POS")
    raw = opened.page.locator("#detail pre.raw").inner_text()
    assert "U+000A" not in raw  # the page's own layout
    raw = raw.replace("U+007F", "\x7f")
    assert json.loads(raw) == json.loads(bodies[first.key])


# Texts that would do harm


def test_nothing_that_a_model_wrote_ever_runs(open_page, hostile, hostile_rows):
    opened = open_page(hostile)
    for kind in HOSTILE:
        item = next(row.item for row in hostile_rows if kind in row.item.split())
        choose(opened, item=item)
        opened.page.locator(".row").first.click()
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("img, iframe, object").count() == 0
    assert opened.page.evaluate("document.scripts.length") == 1


@pytest.mark.parametrize("kind", ["image", "script", "comment", "template", "attribute", "wide", "long"])
def test_markup_is_shown_literally(open_page, hostile, kind):
    opened = open_page(hostile)
    choose(opened, item=f"i{list(HOSTILE).index(kind):02} {kind}", form="AVOID1")
    output = opened.page.locator("#detail .output").nth(1)
    assert output.evaluate("node => node.textContent").replace("U+0020", " ") == HOSTILE[kind]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bidi", ["U+202E", "U+2066", "U+2069"]),
        ("separators", ["U+2028", "U+2029", "U+0085"]),
        ("controls", ["U+0000", "U+0007", "U+001B", "U+0009"]),
        ("spaces", ["U+0020", "U+0020", "U+00A0", "U+200B", "U+0020"]),
        ("surrogate", ["U+D83D", "U+DC00"]),
        ("lines", ["U+000D", "U+000A", "U+000A"]),
    ],
)
def test_what_does_not_show_is_a_code_point(open_page, hostile, kind, said):
    opened = open_page(hostile)
    choose(opened, item=f"i{list(HOSTILE).index(kind):02} {kind}", form="AVOID1")
    output = opened.page.locator("#detail .output").nth(1)
    assert output.locator(".invisible").all_inner_texts() == said


def test_no_name_reorders_or_hides_what_is_around_it(open_page, hostile):
    opened = open_page(hostile)
    body = opened.page.evaluate("document.body.innerText")
    # Line ends are the page's own; a pasted text may hold no other control and no override.
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]", body) == []


# Ground, width, keyboard, print


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["small", "hostile", "factorial"])
def test_the_page_holds_at_any_width(open_page, request, name, width):
    opened = open_page(request.getfixturevalue(name), width=width)
    opened.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        # Each width and each scheme once; among the slow ones, all that there are of the small page.
        ("small", 1600, "light"),
        ("factorial", 400, "dark"),
        pytest.param("small", 400, "light", marks=pytest.mark.slow),
        pytest.param("small", 400, "dark", marks=pytest.mark.slow),
        pytest.param("small", 1600, "dark", marks=pytest.mark.slow),
        pytest.param("factorial", 1600, "light", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_no_fault(open_page, request, name, width, scheme):
    opened = open_page(request.getfixturevalue(name), width=width, scheme=scheme)
    opened.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    opened.page.wait_for_timeout(100)
    result = axe.Axe().run(opened.page)
    faults = [
        (fault["id"], fault["impact"], [node["html"][:120] for node in fault["nodes"][:3]])
        for fault in result.response["violations"]
    ]
    assert faults == []


def test_the_ground_can_be_changed_and_pictures_follow(open_page, small):
    opened = open_page(small, scheme="light")

    def colours():
        return opened.page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('figure text')).fill]"
        )

    light = colours()
    assert button_of(opened).inner_text() == "Dark background"
    button_of(opened).click()
    assert button_of(opened).inner_text() == "Light background"
    assert colours()[0] != light[0]
    assert colours()[1] != light[1]
    opened.page.emulate_media(media="print")
    assert colours() == light  # paper is white


def test_the_list_is_worked_by_keys_alone(open_page, small, rows):
    opened = open_page(small)
    opened.page.focus("#list")

    def chosen():
        return opened.page.locator("#list [aria-selected=true]").get_attribute("aria-posinset")

    for key, place in (("ArrowDown", 2), ("ArrowDown", 3), ("ArrowUp", 2), ("End", len(rows)), ("Home", 1)):
        opened.page.keyboard.press(key)
        assert chosen() == str(place)
        active = opened.page.locator("#list").get_attribute("aria-activedescendant")
        assert opened.page.locator(f"#{active}").is_visible()


def test_everything_that_can_be_used_can_be_reached_by_tabbing(open_page, small):
    opened = open_page(small, width=400)
    reached = set()
    for _ in range(400):
        opened.page.keyboard.press("Tab")
        name = opened.page.evaluate(
            "(() => { const n = document.activeElement; return n.id || n.className || n.tagName })()"
        )
        reached.add(name)
        if name == "detail":
            break
    assert {"skip", "theme", "f-search", "f-form", "list", "detail", "SUMMARY", "browse"} <= reached


def test_print_shows_the_folded_tables_and_leaves_out_the_list(open_page, small):
    opened = open_page(small)
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("details:not([open])").count() == 0
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator("details:not([open])").count() > 0
    opened.page.emulate_media(media="print")
    assert not opened.page.locator("#browser").is_visible()
    assert opened.page.locator(".printed").is_visible()


# Size


def test_23400_rows_stay_usable(open_page, full):
    path, rows = full
    assert path.stat().st_size <= MAX_BYTES
    paints = []
    for _ in range(3):
        opened = open_page(path)
        paints.append(
            opened.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        )
    assert min(paints) < MAX_PAINT_MS
    assert count(opened) == "23,400 generations"
    opened.page.focus("#list")
    opened.page.keyboard.press("End")
    assert opened.page.locator(".row").count() < 80
    assert opened.page.locator("#list [aria-selected=true]").get_attribute("aria-posinset") == "23400"
    took = opened.page.evaluate(
        """async () => {
            const field = document.getElementById("f-search"), began = performance.now();
            field.value = "rivers"; field.dispatchEvent(new Event("input", {bubbles: true}));
            while (!document.getElementById("count").textContent.includes(" of ")) {
                await new Promise(requestAnimationFrame);
            }
            return performance.now() - began;
        }"""
    )
    assert took < 1500
    expected = sum("rivers" in f"{row.prompt}\n{row.text}".lower() for row in rows)
    assert count(opened) == f"{expected:,} of 23,400 generations"


def test_rows_without_texts_still_make_a_page(open_page, tmp_path):
    rows = [
        Row(panel="own", model="m", provider="p", item="i", form=form, repetition=1, compliant=form == "POS")
        for form in ("POS", "X")
    ]
    opened = open_page(write_page(tmp_path / "audit.html", rows, document_of(rows)))
    assert count(opened) == "2 generations"
    assert "none was kept" in shown(opened) or "no output" in shown(opened)


def test_equal_rows_give_an_equal_page(rows, document, tmp_path):
    shuffled = [dataclasses.replace(row, run="another") for row in reversed(rows)]
    first = write_page(tmp_path / "1.html", rows, document).read_bytes()
    assert write_page(tmp_path / "2.html", shuffled, document).read_bytes() == first
