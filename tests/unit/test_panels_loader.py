"""What the loader takes, and how it says what it does not take."""

import dataclasses
import hashlib
import re

import pytest

from wise_pytest.errors import PanelError
from wise_pytest.panels.loader import load_panel, manifest_digest
from wise_pytest.panels.manifest import load_items
from wise_pytest.panels.model import Decoding, Form, Item

HEADER = "item_id,task,target_words,keyword,json_keys\n"
CSV = (
    HEADER
    + "rainbow,Why do rainbows appear?,5,light,cause|order\n"
    + 'castle,"Why did people, long ago, build ""castles""?",8,defense,purpose|builder|material\n'
)
ITEMS = (
    Item("rainbow", "Why do rainbows appear?", 5, "light", ("cause", "order")),
    Item(
        "castle",
        'Why did people, long ago, build "castles"?',
        8,
        "defense",
        ("purpose", "builder", "material"),
    ),
)
TOML = """\
schema = "wise.panel/1"
id = "short"
title = "Short answers"
question = "Is the answer short?"
reference = "POS"
bootstrap = "model-item"

[verifier]
id = "word_count/1"
target_from = "target_words"

[defaults]
repetitions = 2
max_tokens = 50
temperature = 0

[forms]
POS = "Use {n} words."
NEG_2 = "Use no other number of words than {n}."
"""


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_manifest_is_read_in_its_order_with_quoting(tmp_path):
    assert load_items(write(tmp_path / "items.csv", CSV)) == ITEMS


@pytest.mark.parametrize(
    "change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text, str.rstrip]
)
def test_how_an_editor_saves_a_manifest_makes_no_difference(tmp_path, change):
    assert load_items(write(tmp_path / "items.csv", change(CSV))) == ITEMS


def test_a_panel_file_is_read_in_full(tmp_path):
    panel = load_panel(write(tmp_path / "short.toml", TOML), ITEMS)
    assert panel.panel_id == "short"
    assert panel.title == "Short answers"
    assert panel.question == "Is the answer short?"
    assert panel.verifier == "word_count/1"
    assert panel.bootstrap == "model-item"
    assert panel.reference == "POS"
    assert panel.forms == (
        Form("POS", "Use {n} words."),
        Form("NEG_2", "Use no other number of words than {n}."),
    )
    assert panel.items == ITEMS
    assert panel.repetitions == 2
    assert panel.decoding == Decoding(max_tokens=50, temperature=0.0)
    assert [panel.target(item) for item in ITEMS] == [5, 8]
    assert panel.prompt(ITEMS[0], panel.forms[1]) == (
        "Why do rainbows appear? Use no other number of words than 5."
    )


def test_a_verifier_without_version_is_pinned_to_the_newest(tmp_path):
    path = write(tmp_path / "short.toml", TOML.replace("word_count/1", "word_count"))
    assert load_panel(path, ITEMS).verifier == "word_count/1"


FIXED = [
    ("word_range/1", "[8, 12]", (8, 12), "From {low} to {high} words.", "From 8 to 12 words."),
    ("word_count/1", "7", 7, "Use 7 words.", "Use 7 words."),
    ("keyword_once/1", "'c++'", "c++", "Say c++ once.", "Say c++ once."),
    ("json_keys/1", "['a', 'b']", ("a", "b"), 'Like {{"a": 1, "b": 2}}.', 'Like {"a": 1, "b": 2}.'),
]


@pytest.mark.parametrize("case", FIXED, ids=lambda case: case[0])
def test_a_target_may_be_the_same_for_all_items(tmp_path, case):
    verifier, toml, target, template, instruction = case
    text = (
        TOML.replace("word_count/1", verifier)
        .replace('target_from = "target_words"', f"target = {toml}")
        .replace('"Use {n} words."', f"'{template}'")
        .replace('"Use no other number of words than {n}."', f"'Never else: {template}'")
    )
    panel = load_panel(write(tmp_path / "short.toml", text), ITEMS)
    assert [panel.target(item) for item in ITEMS] == [target, target]
    assert panel.instruction(ITEMS[1], panel.forms[0]) == instruction


COUNT_TARGET = 'target_from = "target_words"'
BROKEN_PANELS = {
    "not TOML": ("[verifier]", "[verifier", ["not valid TOML", "line 8"]),
    "key twice": ('title = "Short answers"', 'title = "a"\ntitle = "b"', ["not valid TOML", "line 4"]),
    "huge number": ("repetitions = 2", "repetitions = " + "9" * 5000, ["not valid TOML"]),
    "deep array": ("repetitions = 2", "repetitions = " + "[" * 5000, ["not valid TOML"]),
    "no schema": ('schema = "wise.panel/1"\n', "", ["'schema'", "'wise.panel/1'", "missing"]),
    "later schema": ("wise.panel/1", "wise.panel/2", ["'schema'", "'wise.panel/1'", "not 'wise.panel/2'"]),
    "no id": ('id = "short"\n', "", ["'id'", "missing"]),
    "id is not the file's name": (
        'id = "short"',
        'id = "long"',
        ["'id'", "the name of the file, 'short'", "'long'"],
    ),
    "id in capitals": ('id = "short"', 'id = "Short"', ["'id'", "a-z, 0-9 and '_'", "'Short'"]),
    "no title": ('title = "Short answers"\n', "", ["'title'", "non-empty text", "missing"]),
    "blank title": ("Short answers", " ", ["'title'", "non-empty text", "' '"]),
    "question is a number": ('"Is the answer short?"', "7", ["'question'", "non-empty text", "not 7"]),
    "unknown reference": (
        'reference = "POS"',
        'reference = "NEG"',
        ["'reference'", "POS, NEG_2", "'NEG_2'?"],
    ),
    "unknown bootstrap": (
        "model-item",
        "model_item",
        ["'bootstrap'", "item-cluster", "did you mean 'model-item'?"],
    ),
    "misspelt key": ("bootstrap =", "boostrap =", ["'boostrap'", "did you mean 'bootstrap'?"]),
    "key in the wrong table": (
        "[defaults]",
        "[defaults]\nreference = 'POS'",
        ["'defaults.reference'", "unknown key"],
    ),
    "no verifier": (
        '[verifier]\nid = "word_count/1"\n' + COUNT_TARGET,
        "",
        ["'verifier'", "a table [verifier]", "missing"],
    ),
    "verifier is a text": (
        '[verifier]\nid = "word_count/1"\n' + COUNT_TARGET,
        'verifier = "word_count/1"',
        ["'verifier'", "a table [verifier]", "not 'word_count/1'"],
    ),
    "no verifier id": ('id = "word_count/1"\n', "", ["'verifier.id'", "missing"]),
    "misspelt verifier": (
        "word_count/1",
        "word_cuont/1",
        ["'verifier.id'", "word_range/1", "'word_count/1'?"],
    ),
    "unknown version": (
        "word_count/1",
        "word_count/2",
        ["'verifier.id'", "'word_count/2'", "'word_count/1'?"],
    ),
    "a relation": (
        "[verifier]",
        "[verifier]\nrelation = 'less than'",
        ["'verifier.relation'", "unknown key"],
    ),
    "no target": (COUNT_TARGET, "", ["'verifier.target_from'", "exactly one of target_from and target"]),
    "two targets": (COUNT_TARGET, COUNT_TARGET + "\ntarget = 5", ["'verifier.target_from'", "exactly one"]),
    "target from nowhere": (
        "target_words",
        "target",
        ["'verifier.target_from'", "json_keys", "'target_words'?"],
    ),
    "target from another field": (
        '"target_words"',
        '"task"',
        ["'verifier.target_from'", "target_words, keyword"],
    ),
    "target of the wrong kind": (
        '"target_words"',
        '"keyword"',
        ["'verifier.target_from'", "item 'rainbow'", "a whole number", "'light'"],
    ),
    "fixed target out of range": (COUNT_TARGET, "target = 0", ["'verifier.target'", "from 1", "not 0"]),
    "fixed target of the wrong kind": (
        COUNT_TARGET,
        "target = [8, 12]",
        ["'verifier.target'", "not (8, 12)"],
    ),
    "no defaults": ("[defaults]", "[default]", ["'default'", "did you mean 'defaults'?"]),
    "no repetitions": ("repetitions = 2\n", "", ["'defaults.repetitions'", "from 1", "missing"]),
    "zero repetitions": ("repetitions = 2", "repetitions = 0", ["'defaults.repetitions'", "from 1", "not 0"]),
    "repetitions true": ("repetitions = 2", "repetitions = true", ["'defaults.repetitions'", "not True"]),
    "half a token": (
        "max_tokens = 50",
        "max_tokens = 0.5",
        ["'defaults.max_tokens'", "whole number", "not 0.5"],
    ),
    "no tokens": ("max_tokens = 50", "max_tokens = 0", ["'defaults.max_tokens'", "from 1", "not 0"]),
    "cold": ("temperature = 0", "temperature = -0.1", ["'defaults.temperature'", "from 0 to 2", "not -0.1"]),
    "hot": ("temperature = 0", "temperature = 2.5", ["'defaults.temperature'", "from 0 to 2", "not 2.5"]),
    "temperature nan": (
        "temperature = 0",
        "temperature = nan",
        ["'defaults.temperature'", "from 0 to 2", "not nan"],
    ),
    "temperature in words": ("temperature = 0", "temperature = '0'", ["'defaults.temperature'", "not '0'"]),
    "one form": (
        'NEG_2 = "Use no other number of words than {n}."\n',
        "",
        ["'forms'", "at least 2", "not 1"],
    ),
    "form in small letters": ("NEG_2", "neg", ["'forms.neg'", "A-Z, 0-9 and '_'"]),
    "form with a line break": ("NEG_2", '"A\\nB"', [r"'forms.A\nB'", "A-Z, 0-9 and '_'"]),
    "empty form": ('"Use {n} words."', '""', ["'forms.POS'", "non-empty text", "not ''"]),
    "form with blanks around": (
        '"Use {n} words."',
        '" Use {n} words."',
        ["'forms.POS'", "without blanks around"],
    ),
    "form is a list": ('"Use {n} words."', '["{n}"]', ["'forms.POS'", "non-empty text", "not ['{n}']"]),
    "same wording twice": (
        "no other number of words than {n}.",
        "{n} words.",
        ["'forms.NEG_2'", "than that of POS"],
    ),
    "unknown field": ("Use {n} words.", "Use {m} words.", ["'forms.POS'", "unknown field '{m}'", "'{n}'?"]),
    "field of another panel": (
        "Use {n} words.",
        "Say {keyword} in {n} words.",
        ["'forms.POS'", "{keyword} does not"],
    ),
    "bound without a range": ("Use {n} words.", "Use {low} words.", ["'forms.POS'", "{low} does not"]),
    "form without target": ("Use {n} words.", "Use few words.", ["'forms.POS'", "names the target by {n}"]),
    "doubled braces": ("Use {n} words.", "Use {{n}} words.", ["'forms.POS'", "names the target by {n}"]),
    "open brace": ("Use {n} words.", "Use {n words.", ["'forms.POS'", "braces that do not match"]),
    "numbered field": ("Use {n} words.", "Use {} words.", ["'forms.POS'", "unknown field '{}'"]),
    "format in a field": ("Use {n} words.", "Use {n:03} words.", ["'forms.POS'", "without ':' and '!'"]),
    "conversion in a field": ("Use {n} words.", "Use {n!r} words.", ["'forms.POS'", "without ':' and '!'"]),
    "attribute of a field": (
        "Use {n} words.",
        "Use {n.real} words.",
        ["'forms.POS'", "unknown field '{n.real}'"],
    ),
    "fixed target, field": (COUNT_TARGET, "target = 7", ["'forms.POS'", "{n} does not hold"]),
    "fixed range, field": (
        f'"word_count/1"\n{COUNT_TARGET}',
        '"word_range/1"\ntarget = [2, 3]',
        ["'forms.POS'", "{n} does not hold"],
    ),
}


@pytest.mark.parametrize("case", BROKEN_PANELS)
def test_a_broken_panel_is_refused_in_one_line_that_names_file_and_key(tmp_path, case):
    old, new, fragments = BROKEN_PANELS[case]
    assert TOML.count(old) >= 1
    path = write(tmp_path / "short.toml", TOML.replace(old, new, 1))
    with pytest.raises(PanelError) as caught:
        load_panel(path, ITEMS)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message


@pytest.mark.parametrize(
    ("template", "fragment"),
    [
        ("Use 7 words or so.", None),
        ("Use 17 words.", "names the target by '7'"),
        ("Use seven words.", "names the target by '7'"),
    ],
)
def test_a_fixed_target_must_stand_in_the_text_itself(tmp_path, template, fragment):
    text = TOML.replace(COUNT_TARGET, "target = 7").replace("{n}", "7").replace("Use 7 words.", template)
    path = write(tmp_path / "short.toml", text)
    if fragment is None:
        assert load_panel(path, ITEMS).fixed_target == 7
        return
    with pytest.raises(PanelError, match=fragment):
        load_panel(path, ITEMS)


def test_a_range_needs_both_bounds_in_every_form(tmp_path):
    text = TOML.replace("word_count/1", "word_range/1").replace(COUNT_TARGET, "target = [2, 3]")
    text = text.replace("Use {n} words", "Use {low} to {high} words").replace("{n}", "{low}")
    with pytest.raises(
        PanelError, match=re.escape("'forms.NEG_2': expected a text that names the target by {high}")
    ):
        load_panel(write(tmp_path / "short.toml", text), ITEMS)


def test_a_panel_needs_items(tmp_path):
    with pytest.raises(PanelError, match=r"short\.toml: a panel needs at least one item"):
        load_panel(write(tmp_path / "short.toml", TOML), ())


def test_every_item_is_checked_against_the_verifier(tmp_path):
    bad = dataclasses.replace(ITEMS[1], target_words=0)
    with pytest.raises(PanelError, match=r"short\.toml: key 'verifier\.target_from': item 'castle': .*not 0"):
        load_panel(write(tmp_path / "short.toml", TOML), (ITEMS[0], bad))


@pytest.mark.parametrize("load", [load_items, lambda path: load_panel(path, ITEMS)])
def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path, load):
    with pytest.raises(PanelError, match=r"none\.toml: cannot be read: No such file or directory"):
        load(tmp_path / "none.toml")
    with pytest.raises(PanelError, match=re.escape(f"{tmp_path}: cannot be read")):
        load(tmp_path)
    path = write(tmp_path / "latin.toml", b"# first line\n# caf\xe9\n")
    with pytest.raises(PanelError, match=r"latin\.toml: line 2: byte 0xe9 is not UTF-8"):
        load(path)


ROW = "rainbow,Why do rainbows appear?,5,light,cause|order"
BROKEN_MANIFESTS = {
    "empty": (b"", ["the file is empty", HEADER.strip()]),
    "header only": (HEADER, ["no items"]),
    "other header": (
        CSV.replace("task", "question", 1),
        ["line 1", "item_id,task,target_words", "item_id,question"],
    ),
    "header in another order": (
        CSV.replace("item_id,task", "task,item_id", 1),
        ["line 1", "the header must be"],
    ),
    "no header": (ROW + "\n", ["line 1", "the header must be"]),
    "too few columns": (HEADER + "rainbow,Why?,5,light\n", ["line 2", "expected 5 columns, found 4"]),
    "too many columns": (HEADER + "rainbow,Why, though?,5,light,a|b\n", ["line 2", "found 6"]),
    "blank line": (HEADER + "\n" + ROW, ["line 2", "found 0"]),
    "open quote": (HEADER + 'rainbow,"Why?,5,light,a|b\n', ["line 2", "not valid CSV"]),
    "text after a quote": (HEADER + 'rainbow,"Why" now?,5,light,a|b\n', ["line 2", "not valid CSV"]),
    "not UTF-8": (CSV.replace("defense", "d\xe9fense").encode("latin-1"), ["line 3", "0xe9", "UTF-8"]),
    "no id": (HEADER + ROW.replace("rainbow,", ","), ["line 2", "item_id", "not ''"]),
    "capital in an id": (HEADER + ROW.replace("rainbow,", "Rainbow,"), ["line 2", "a-z, 0-9", "'Rainbow'"]),
    "id with a dot": (HEADER + ROW.replace("rainbow,", "rain.bow,"), ["line 2", "'rain.bow'"]),
    "id is a count": (HEADER + ROW.replace("rainbow,", "17,"), ["line 2", "with a letter in it", "'17'"]),
    "id with a line feed": (HEADER + ROW.replace("rainbow,", '"rain\n",'), ["line 3", r"'rain\n'"]),
    "same id": (CSV.replace("castle,", "rainbow,"), ["line 3", "item_id 'rainbow'", "line 2"]),
    "no task": (HEADER + "rainbow,,5,light,a|b\n", ["line 2", "item 'rainbow'", "task", "not ''"]),
    "blank after the task": (
        HEADER + ROW.replace("appear?", "appear? "),
        ["line 2", "task", "without blanks"],
    ),
    "task of two lines": (
        HEADER + ROW.replace(",Why do rainbows appear?", ',"Why\nnow?"'),
        ["line 3", "one line"],
    ),
    "same task": (CSV + ROW.replace("rainbow,Why", "again,WHY") + "\n", ["line 4", "item 'again'", "line 2"]),
    "no count": (HEADER + ROW.replace(",5,", ",,"), ["line 2", "target_words", "not ''"]),
    "count in words": (HEADER + ROW.replace(",5,", ",five,"), ["line 2", "target_words", "'five'"]),
    "half a word": (HEADER + ROW.replace(",5,", ",5.5,"), ["line 2", "target_words", "'5.5'"]),
    "count zero": (HEADER + ROW.replace(",5,", ",0,"), ["line 2", "from 1", "not 0"]),
    "negative count": (HEADER + ROW.replace(",5,", ",-5,"), ["line 2", "target_words", "'-5'"]),
    "count in other digits": (HEADER + ROW.replace(",5,", ",٥,"), ["line 2", "target_words"]),
    "count of 5,000 digits": (HEADER + ROW.replace(",5,", f",{'9' * 5000},"), ["line 2", "target_words"]),
    "no keyword": (HEADER + ROW.replace("light", ""), ["line 2", "item 'rainbow'", "keyword", "non-empty"]),
    "blank before the keyword": (
        HEADER + ROW.replace("light", " light"),
        ["line 2", "without whitespace", "' light'"],
    ),
    "keyword in the task": (
        HEADER + ROW.replace("light", "RAINBOWS"),
        ["line 2", "'RAINBOWS'", "must not occur"],
    ),
    "no keys": (
        HEADER + ROW.replace("cause|order", ""),
        ["line 2", "item 'rainbow'", "key names", "not blank"],
    ),
    "empty key": (HEADER + ROW.replace("cause|order", "cause|"), ["line 2", "not blank"]),
    "same key": (HEADER + ROW.replace("cause|order", "cause|cause"), ["line 2", "'cause' is there twice"]),
}


@pytest.mark.parametrize("case", BROKEN_MANIFESTS)
def test_a_broken_manifest_is_refused_in_one_line_that_names_file_and_line(tmp_path, case):
    content, fragments = BROKEN_MANIFESTS[case]
    path = write(tmp_path / "items.csv", content)
    with pytest.raises(PanelError) as caught:
        load_items(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message


def test_a_keyword_inside_another_word_of_the_task_is_allowed(tmp_path):
    path = write(tmp_path / "items.csv", HEADER + ROW.replace("light", "rain"))
    assert load_items(path)[0].keyword == "rain"


@pytest.fixture
def panel(tmp_path):
    return load_panel(write(tmp_path / "short.toml", TOML), ITEMS)


def test_a_digest_is_the_same_for_the_same_content(tmp_path, panel):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    again = load_panel(write(folder / "short.toml", "# a comment\n" + TOML), list(ITEMS))
    assert manifest_digest(again) == manifest_digest(panel)
    assert re.fullmatch("[0-9a-f]{64}", manifest_digest(panel))


def test_a_digest_stays_the_same_over_versions_of_this_package(panel):
    # Written out, because the manifest of a run from last year must still be comparable.
    canonical = (
        '{"fixed_target":null,'
        '"forms":[{"form_id":"POS","template":"Use {n} words."},'
        '{"form_id":"NEG_2","template":"Use no other number of words than {n}."}],'
        '"items":[{"item_id":"rainbow","json_keys":["cause","order"],"keyword":"light",'
        '"target_words":5,"task":"Why do rainbows appear?"},'
        '{"item_id":"castle","json_keys":["purpose","builder","material"],"keyword":"defense",'
        '"target_words":8,"task":"Why did people, long ago, build \\"castles\\"?"}],'
        '"panel":"short","target_from":"target_words","verifier":"word_count/1"}'
    )
    assert manifest_digest(panel) == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"panel_id": "other"},
        {"verifier": "word_count/2"},
        {"target_from": "keyword"},
        {"fixed_target": 5},
        {"items": ITEMS[:1]},
        {"items": ITEMS[::-1]},
        *(
            {"items": (dataclasses.replace(ITEMS[0], **{field: value}), ITEMS[1])}
            for field, value in [
                ("item_id", "other"),
                ("task", "Why?"),
                ("target_words", 6),
                ("keyword", "sun"),
                ("json_keys", ("order", "cause")),
            ]
        ),
        {"forms": (Form("POS", "Use {n} words!"), Form("NEG_2", "Use no other number of words than {n}."))},
        {"forms": (Form("POS", "Use {n} words."), Form("NEG_3", "Use no other number of words than {n}."))},
    ],
    ids=str,
)
def test_a_digest_covers_all_that_decides_what_is_asked_and_how_it_is_scored(panel, change):
    assert manifest_digest(dataclasses.replace(panel, **change)) != manifest_digest(panel)


@pytest.mark.parametrize(
    "change", [{"title": "Other"}, {"repetitions": 9}, {"decoding": Decoding(1, 1.0)}], ids=str
)
def test_a_digest_leaves_out_what_does_not(panel, change):
    assert manifest_digest(dataclasses.replace(panel, **change)) == manifest_digest(panel)
