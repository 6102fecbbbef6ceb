"""Panels of the user's own: what a file may hold beside the required keys, and where panels are found."""

import dataclasses
import importlib
import sys

import pytest

from wise_pytest.errors import PanelError, WiseError
from wise_pytest.panels.catalog import PANEL_IDS, Catalog, bundled_panels, read_catalog
from wise_pytest.panels.check import check_panel
from wise_pytest.panels.loader import bundled_items, load_panel, manifest_digest
from wise_pytest.panels.model import Item
from wise_pytest.panels.starter import starter_files
from wise_pytest.records import Verdict

TOML = """\
schema = "wise.panel/1"
id = "mine"
title = "Mine"
question = "Does it?"
reference = "POS"
bootstrap = "item-cluster"
items = "mine.csv"

[verifier]
id = "ends_with/1"
function = "mine.py:verify"
target_from = "ending"

[defaults]
repetitions = 1
max_tokens = 10
temperature = 0

[forms]
POS = 'End with "{ending}".'
NEG = 'Do not end with anything but "{ending}".'

[self_test]
item = "a"
pass = ["so it is"]
fail = ["so it was"]
"""
CSV = "item_id,task,ending\na,Why?,it is\nb,How?,it does\n"
PYTHON = "def verify(text, target):\n    return text.endswith(target)\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "mine.csv", CSV)
    write(tmp_path / "mine.py", PYTHON)
    write(tmp_path / "mine.toml", TOML)
    return tmp_path


def load(folder, *changes, items=None):
    text = TOML
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return load_panel(write(folder / "mine.toml", text), bundled_items() if items is None else items)


def refusal(folder, *changes):
    with pytest.raises(PanelError) as caught:
        load(folder, *changes)
    message = str(caught.value)
    assert "\n" not in message
    return message


# A panel with everything of its own


def test_items_verifier_and_targets_of_ones_own(folder):
    panel = load(folder)
    assert [item.task for item in panel.items] == ["Why?", "How?"]
    assert [panel.target(item) for item in panel.items] == ["it is", "it does"]
    assert panel.prompt(panel.items[1], panel.forms[1]) == 'How? Do not end with anything but "it does".'
    verifier = panel.scorer()
    assert (verifier.name, verifier.directions) == ("ends_with/1", ("met", "missed"))
    assert verifier.verify("so it is", "it is") == Verdict(compliant=True, direction="met")
    assert verifier.verify("so it was", "it is") == Verdict(compliant=False, direction="missed")
    assert "it is" in verifier.requirement("it is")
    assert check_panel(panel).self_test == ()


def test_a_verdict_with_directions_of_ones_own(folder):
    write(
        folder / "mine.py",
        "from wise_pytest.records import Verdict\n"
        "def verify(text, target):\n"
        "    n = text.count(target)\n"
        "    direction = 'once' if n == 1 else 'never' if n == 0 else 'often'\n"
        "    return Verdict(compliant=n == 1, direction=direction, observed=n, error=n - 1)\n",
    )
    panel = load(
        folder, ('target_from = "ending"', 'target_from = "ending"\ndirections = ["once", "never", "often"]')
    )
    assert panel.scorer().directions == ("once", "never", "often")
    assert panel.scorer().verify("a a", "a") == Verdict(
        compliant=False, direction="often", observed=2, error=1
    )


def test_a_bundled_verifier_reads_the_cells_of_an_own_table(folder):
    write(folder / "mine.csv", "item_id,task,keys\na,Why?,one|two\nb,How?,three\n")
    panel = load(
        folder,
        (
            'id = "ends_with/1"\nfunction = "mine.py:verify"\ntarget_from = "ending"',
            'id = "json_keys"\ntarget_from = "keys"',
        ),
        ('"{ending}"', "{keys}"),
        ('"{ending}"', "{keys}"),
        ("so it is", '{\\"one\\": 1, \\"two\\": 2}'),
    )
    assert [panel.target(item) for item in panel.items] == [("one", "two"), ("three",)]
    assert panel.instruction(panel.items[0], panel.forms[0]) == 'End with "one" and "two".'
    assert check_panel(panel).self_test == ()


def test_the_bundled_items_serve_a_panel_without_items_of_its_own(folder):
    panel = load(
        folder,
        ('items = "mine.csv"\n', ""),
        ('"ending"', '["keyword", "target_words"]'),
        ('"{ending}"', "{keyword} {n}"),
        ('"{ending}"', "{keyword} {n}"),
        ('item = "a"', 'item = "i001"'),
    )
    assert panel.target(panel.items[0]) == ("faster", 5)
    assert panel.instruction(panel.items[0], panel.forms[0]) == "End with faster 5."


@pytest.mark.parametrize(("language", "joined"), [("en", "and"), ("de", "und"), ("es", "y"), ("fi", "and")])
def test_a_panel_has_a_language(folder, language, joined):
    write(folder / "mine.csv", "item_id,task,keys\na,Why?,one|two|three\n")
    panel = load(
        folder,
        ('items = "mine.csv"', f'items = "mine.csv"\nlanguage = "{language}"'),
        (
            'id = "ends_with/1"\nfunction = "mine.py:verify"\ntarget_from = "ending"',
            'id = "json_keys"\ntarget_from = "keys"',
        ),
        ('"{ending}"', "{keys}"),
        ('"{ending}"', "{keys}"),
    )
    assert panel.language == language
    assert f'"one", "two" {joined} "three"' in panel.instruction(panel.items[0], panel.forms[0])
    assert manifest_digest(panel) == manifest_digest(dataclasses.replace(panel, language="xx"))


def test_more_columns_are_joined_to_the_shared_items(folder):
    items = (Item("a", "Why?", 5, "sun", ("x",)), Item("b", "How?", 8, "sea", ("y",)))
    write(folder / "more.csv", "item_id,ending\nb,it does\na,it is\n")
    panel = load(folder, ('items = "mine.csv"', 'fields = "more.csv"'), items=items)
    assert [panel.target(item) for item in panel.items] == ["it is", "it does"]
    assert [item.keyword for item in panel.items] == ["sun", "sea"]


def test_a_digest_covers_what_an_own_table_holds(folder):
    before = manifest_digest(load(folder))
    write(folder / "mine.csv", CSV.replace("it does", "it did"))
    assert manifest_digest(load(folder)) != before


FACTORS = (
    "[self_test]",
    '[factors]\npolarity = ["affirm", "negate"]\nlength = ["short", "long"]\n\n[self_test]',
)
CELLS = (
    "POS = 'End with \"{ending}\".'\nNEG = 'Do not end with anything but \"{ending}\".'",
    (
        "NEGATE_LONG = 'Please do not end with anything but {ending}.'\nAFFIRM_SHORT = 'End with {ending}.'\n"
        "AFFIRM_LONG = 'Please end with {ending}.'\nNEGATE_SHORT = 'End not but with {ending}.'"
    ),
)


def test_the_forms_of_a_factorial_panel_are_put_in_the_order_of_their_levels(folder):
    panel = load(folder, FACTORS, CELLS, ('reference = "POS"', 'reference = "AFFIRM_SHORT"'))
    assert [(form.form_id, form.levels) for form in panel.forms] == [
        ("AFFIRM_SHORT", ("affirm", "short")),
        ("AFFIRM_LONG", ("affirm", "long")),
        ("NEGATE_SHORT", ("negate", "short")),
        ("NEGATE_LONG", ("negate", "long")),
    ]
    assert panel.forms[3].template == "Please do not end with anything but {ending}."


NAMED = ('target_from = "ending"', 'target = "lower"\nnamed_by = ["small letters", "lower case"]')
WITHOUT_FIELD = (('"{ending}"', "in lower case"), ('"{ending}"', "small letters"))


def test_forms_may_name_a_target_in_their_own_words(folder):
    panel = load(folder, NAMED, *WITHOUT_FIELD)
    assert panel.target(panel.items[0]) == "lower"
    assert panel.named_by == ("small letters", "lower case")


BROKEN = {
    "language": (
        [('items = "mine.csv"', 'items = "mine.csv"\nlanguage = "german"')],
        ["'language'", "language tag"],
    ),
    "items that are not there": ([('"mine.csv"', '"none.csv"')], ["none.csv", "cannot be read"]),
    "unknown column": (
        [('target_from = "ending"', 'target_from = "endign"')],
        ["'endign'", "did you mean 'ending'"],
    ),
    "column of the bundled items": (
        [('target_from = "ending"', 'target_from = "keyword"')],
        ["known: ending"],
    ),
    "no column at all": (
        [('target_from = "ending"', "target_from = []")],
        ["verifier.target_from", "a list of texts"],
    ),
    "named_by beside a column": (
        [("target_from", 'named_by = ["x"]\ntarget_from')],
        ["named_by", "by its field"],
    ),
    "a form that names no target": (
        [NAMED, WITHOUT_FIELD[0], ('"{ending}"', "that")],
        ["forms.NEG", "'small letters' or 'lower case'"],
    ),
    "function without file": ([('"mine.py:verify"', '"verify"')], ["verifier.function", "FILE.py:FUNCTION"]),
    "function in no file": ([('"mine.py:verify"', '"none.py:verify"')], ["there is no such file"]),
    "function that is not there": ([('"mine.py:verify"', '"mine.py:check"')], ["has no function 'check'"]),
    "verifier without version": ([('"ends_with/1"', '"ends_with"')], ["an id with a version"]),
    "verifier of a bundled name": (
        [('"ends_with/1"', '"word_count/2"')],
        ["'word_count' is a bundled verifier"],
    ),
    "directions of a bundled verifier": (
        [('id = "ends_with/1"\nfunction = "mine.py:verify"', 'id = "keyword_once"\ndirections = ["a"]')],
        ["verifier.directions", "go with a function"],
    ),
    "unknown key": ([("[defaults]", 'functoin = "x"\n[defaults]')], ["functoin", "did you mean 'function'"]),
    "no factor": ([("[self_test]", "[factors]\n[self_test]")], ["at least one factor"]),
    "one level": (
        [("[self_test]", '[factors]\nx = ["pos"]\n[self_test]')],
        ["factors.x", "at least 2 levels"],
    ),
    "a level twice": ([("[self_test]", '[factors]\nx = ["pos", "pos"]\n[self_test]')], ["different levels"]),
    "a form that is no combination": (
        [("[self_test]", '[factors]\nx = ["pos", "rel"]\n[self_test]')],
        ["forms.NEG", "combination of levels"],
    ),
    "a combination without form": (
        [("[self_test]", '[factors]\nx = ["pos", "neg", "rel"]\n[self_test]')],
        ["forms.REL", "one of every combination"],
    ),
    "self-test of no item": ([('item = "a"', 'item = "c"')], ["self_test.item", "known: a, b"]),
    "self-test without failing texts": (
        [('fail = ["so it was"]', "fail = []")],
        ["self_test.fail", "at least one text"],
    ),
    "self-test that is no list": (
        [('pass = ["so it is"]', 'pass = "so it is"')],
        ["self_test.pass", "a list of texts"],
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_used_is_refused_in_one_line(folder, case):
    changes, fragments = BROKEN[case]
    message = refusal(folder, *changes)
    for fragment in fragments:
        assert fragment in message


TABLES = {
    "no task": ("item_id,ending\na,it is\n", "must begin with 'item_id,task'"),
    "column twice": ("item_id,task,ending,ending\na,Why?,x,y\n", "column 'ending' cannot be used"),
    "column in capitals": ("item_id,task,Ending\na,Why?,x\n", "column 'Ending' cannot be used"),
    "reserved column": ("item_id,task,low\na,Why?,x\n", "column 'low' cannot be used"),
    "empty cell": ("item_id,task,ending\na,Why?,\n", "line 2: column 'ending' must be a text"),
    "blanks around a cell": ("item_id,task,ending\na,Why?, x\n", "line 2: column 'ending' must be a text"),
    "id twice": (
        "item_id,task,ending\na,Why?,x\na,How?,y\n",
        "line 3: item_id 'a' is already used in line 2",
    ),
    "task twice": ("item_id,task,ending\na,Why?,x\nb,why?,y\n", "its task is already used in line 2"),
    "id in capitals": ("item_id,task,ending\nA,Why?,x\n", "item_id must be made of"),
    "no items": ("item_id,task,ending\n", "there are no items"),
    "empty": ("", "the file is empty"),
    "too few cells": ("item_id,task,ending\na,Why?\n", "expected 3 columns, found 2"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_that_cannot_be_used_is_refused(folder, case):
    text, fragment = TABLES[case]
    write(folder / "mine.csv", text)
    message = refusal(folder)
    assert message.startswith(f"{folder / 'mine.csv'}: ")
    assert fragment in message


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("item_id,ending\na,it is\n", "no line for item 'b'"),
        ("item_id,ending\na,it is\nb,x\nc,y\n", "line 4: unknown item 'c'"),
        ("id,ending\na,it is\n", "must begin with 'item_id'"),
    ],
)
def test_columns_that_do_not_fit_the_items_are_refused(folder, text, fragment):
    items = (Item("a", "Why?", 5, "sun", ("x",)), Item("b", "How?", 8, "sea", ("y",)))
    write(folder / "more.csv", text)
    with pytest.raises(PanelError) as caught:
        load(folder, ('items = "mine.csv"', 'fields = "more.csv"'), items=items)
    assert fragment in str(caught.value)


def test_a_cell_that_a_verifier_cannot_read_names_its_item(folder):
    write(folder / "mine.csv", "item_id,task,n\na,Why?,5\nb,How?,five\n")
    message = refusal(
        folder,
        (
            'id = "ends_with/1"\nfunction = "mine.py:verify"\ntarget_from = "ending"',
            'id = "word_count"\ntarget_from = "n"',
        ),
        ('"{ending}"', "{n}"),
        ('"{ending}"', "{n}"),
    )
    assert "item 'b': expected a whole number from 1, not 'five'" in message


# The user's code


@pytest.mark.parametrize(
    ("code", "fragment"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError"),
        ("def verify(:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("verify = 3", "has no function 'verify'"),
    ],
)
def test_code_that_cannot_be_loaded_is_a_panel_error(folder, code, fragment):
    write(folder / "mine.py", code)
    message = refusal(folder)
    assert "mine.py: " in message
    assert fragment in message


@pytest.mark.parametrize(
    ("body", "fragment"),
    [
        ("return text[10_000]", "verifier ends_with/1 failed: IndexError"),
        ("import sys; sys.exit(3)", "verifier ends_with/1 failed: SystemExit: 3"),
        ("return None", "must return a bool, not None"),
        ("return 1", "must return a bool, not 1"),
        ("return 'met'", "must return a bool"),
    ],
)
def test_an_own_verifier_that_breaks_is_no_verdict(folder, body, fragment):
    write(folder / "mine.py", f"def verify(text, target):\n    {body}\n")
    panel = load(folder)
    with pytest.raises(WiseError) as caught:
        panel.scorer().verify("text", "it is")
    assert not isinstance(caught.value, PanelError)
    assert fragment in str(caught.value)


def test_a_direction_that_was_not_declared_is_no_verdict(folder):
    write(
        folder / "mine.py",
        "from wise_pytest.records import Verdict\n"
        "def verify(text, target):\n    return Verdict(compliant=True, direction='fine')\n",
    )
    panel = load(folder, ("[defaults]", 'directions = ["ok"]\n\n[defaults]'))
    with pytest.raises(WiseError, match="one of the directions ok"):
        panel.scorer().verify("text", "it is")


def test_loading_code_leaves_nothing_behind(folder):
    before = set(sys.modules)
    load(folder)
    assert set(sys.modules) == before
    assert not (folder / "__pycache__").exists()


# Where panels are found


def test_the_bundled_panels_are_there_without_any_setting(tmp_path):
    catalog = read_catalog(tmp_path, None)
    assert list(catalog) == list(PANEL_IDS)
    assert "mine" not in catalog
    with pytest.raises(KeyError):
        catalog["mine"]
    with pytest.raises(PanelError, match=r"unknown panel 'mine'"):
        catalog.panel("mine")


@pytest.mark.parametrize("declared", [["mine.toml"], ["."], ["./mine.toml"]])
def test_a_panel_is_found_by_its_file_or_its_folder(folder, declared):
    catalog = read_catalog(folder, declared)
    assert list(catalog) == [*PANEL_IDS, "mine"]
    assert len(catalog) == len(PANEL_IDS) + 1
    assert catalog["mine"] is catalog["mine"]
    assert catalog.panel("mine").title == "Mine"
    assert catalog.verifier("ends_with/1") is catalog["mine"].own_verifier
    assert catalog.verifier("word_count/1").verifier_id == "word_count"


def test_a_panels_file_is_read_when_it_is_looked_up(folder):
    write(folder / "mine.toml", "schema = 1")
    catalog = read_catalog(folder, ["mine.toml"])
    assert catalog["exact_count"].panel_id == "exact_count"
    with pytest.raises(PanelError, match="schema"):
        catalog["mine"]


@pytest.mark.parametrize(
    ("declared", "fragment"),
    [
        ("mine.toml", "must be a list"),
        ([1], "must be a list"),
        (["none.toml"], "is no panel file"),
        (["mine.csv"], "is no panel file"),
        (["empty"], "is no panel file, nor a folder with any"),
        (["bundled/exact_count.toml"], "'exact_count' is a bundled panel"),
        (["mine.toml", "other/mine.toml"], "rename one of them"),
    ],
)
def test_a_setting_that_leads_to_no_panel_is_refused(folder, declared, fragment):
    (folder / "empty").mkdir()
    write(folder / "bundled" / "exact_count.toml", TOML)
    write(folder / "other" / "mine.toml", TOML)
    with pytest.raises(PanelError) as caught:
        read_catalog(folder, declared)
    assert fragment in str(caught.value)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that offers what a test writes as the value of its entry point."""

    def install(value, code):
        site = tmp_path / "site"
        write(site / "offering" / "__init__.py", code)
        write(
            site / "offering-1.dist-info" / "METADATA", "Metadata-Version: 2.1\nName: offering\nVersion: 1\n"
        )
        write(site / "offering-1.dist-info" / "entry_points.txt", f"[wise_pytest.panels]\nmore = {value}\n")
        monkeypatch.syspath_prepend(str(site))
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, "offering", raising=False)
        return site / "offering"

    return install


@pytest.mark.parametrize("value", ["HERE / 'mine.toml'", "str(HERE / 'mine.toml')", "[HERE / 'mine.toml']"])
def test_an_installed_package_offers_panels_by_an_entry_point(installed, tmp_path, value):
    package = installed(
        "offering:PANELS", f"import pathlib\nHERE = pathlib.Path(__file__).parent\nPANELS = {value}\n"
    )
    for name, text in (("mine.toml", TOML), ("mine.csv", CSV), ("mine.py", PYTHON)):
        write(package / name, text)
    assert read_catalog(tmp_path, None)["mine"].title == "Mine"


@pytest.mark.parametrize(
    ("code", "fragment"),
    [
        ("1 / 0", "cannot be loaded: ZeroDivisionError"),
        ("PANELS = 3", "must lead to the path of a panel file"),
        ("PANELS = 'nowhere.toml'", "must lead to the path of a panel file"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_refused(installed, tmp_path, code, fragment):
    installed("offering:PANELS", code)
    with pytest.raises(PanelError) as caught:
        read_catalog(tmp_path, None)
    assert "entry point 'more'" in str(caught.value)
    assert fragment in str(caught.value)


# Signs that two wordings ask for different things

SAME = {"POS": "Use exactly {n} words.", "NEG": "Do not use more or fewer than {n} words."}


def warnings_of(**forms):
    panel = bundled_panels()["exact_count"]
    chosen = tuple(
        dataclasses.replace(panel.forms[0], form_id=name, template=text) for name, text in forms.items()
    )
    return [
        text
        for text in check_panel(dataclasses.replace(panel, forms=chosen)).warnings
        if "[self_test]" not in text
    ]


def test_wordings_of_one_requirement_raise_no_warning():
    assert warnings_of(**SAME) == []
    assert warnings_of(A="Use {n} words, once.", B="Use {n} words one time.") == []
    assert warnings_of(A="Use at least {n} and at most {n} words.", B="Use {n} words!") == []


@pytest.mark.parametrize(
    ("template", "fragment"),
    [
        ("Use exactly {n} words in 2 sentences.", "form NEW: it names the number 2, and POS, NEG do not"),
        ("Use exactly {n} words in two sentences.", "names the number 2"),
        ("Use {n} words, twice.", "names the number 2"),
        ("Use about {n} words.", "'about' asks for less"),
        ("Try to use {n} words.", "'Try to' asks for less"),
        ("Verwende ungefähr {n} Wörter.", "'ungefähr' asks for less"),
        ("Use at least {n} words.", "names the lower bound alone"),
        ("Do not use fewer than {n} words.", "names the lower bound alone"),
        ("Use no more than {n} words.", "names the upper bound alone"),
        ("Do not exceed {n} words.", "names the upper bound alone"),
        ("Please use exactly {n} words", "does not end like a sentence"),
        ("use exactly {n} words!", "differs from POS in capital letters and punctuation only"),
    ],
)
def test_a_wording_that_may_ask_for_something_else_is_pointed_out(template, fragment):
    found = warnings_of(**SAME, NEW=template)
    assert len(found) == 1
    assert fragment in found[0]


def test_a_form_that_lacks_a_target_that_no_text_needs_to_name_is_pointed_out(folder):
    panel = load(
        folder,
        ('target_from = "ending"', 'target = "lower"\nnamed_by = []'),
        ('"{ending}"', "lower"),
        ('"{ending}"', "small"),
    )
    assert check_panel(panel).warnings == (
        "form NEG: it does not name the target 'lower': 'Do not end with anything but small.'",
    )


def test_a_self_test_that_fails_says_which_text(folder):
    panel = load(
        folder, ('pass = ["so it is"]', 'pass = ["so it is", "it is so"]'), ('"so it was"', '"but it is"')
    )
    found = check_panel(panel)
    assert found.n_texts == 3
    assert found.self_test == (
        "pass: 'it is so' does not comply (missed) with the target 'it is'",
        "fail: 'but it is' complies (met) with the target 'it is'",
    )


# The start of a new panel


def test_a_new_panel_is_a_working_one(tmp_path):
    for name, text in starter_files("my_panel").items():
        write(tmp_path / name, text)
    panel = read_catalog(tmp_path, ["panels"])["my_panel"]
    found = check_panel(panel)
    assert (found.self_test, found.warnings) == ((), ())
    assert found.n_texts >= 3
    assert [form.form_id for form in panel.forms] == ["POS", "NEG", "AVOID", "EXCLUDE"]
    compile((tmp_path / "test_my_panel.py").read_text("utf-8"), "test_my_panel.py", "exec")


@pytest.mark.parametrize("name", ["", "1st", "my-panel", "My", "../x", "a" * 61, "exact_count", "items\n"])
def test_a_name_that_no_panel_can_have_is_refused(name):
    with pytest.raises(PanelError):
        starter_files(name)


def test_an_empty_catalog_is_a_mapping():
    catalog = Catalog({})
    assert dict(catalog).keys() == set(PANEL_IDS)
    assert next(iter(catalog.values())).panel_id == "exact_count"
