"""Other ways to read an output: what a verdict would be if less than the whole text counted.

``audit.sensitivity`` scores the same outputs again under each of these, beside
the strict score and never in its place. An alternative is a function from the
complete visible output to the text that the strict verifier is then given, so
that only what it is named for differs. Which of them suit a verifier is in
``alternatives_for``. Libraries load when an alternative is used.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from janome.tokenizer import Tokenizer

EXTRA = "pip install 'wise-pytest[sensitivity]'"

WORD_VERIFIERS = frozenset({"word_count", "word_range"})
"""Those that count the words of the whole output."""
JSON_VERIFIERS = frozenset({"json_keys", "tool_call"})
"""Those whose outputs are no prose: Markdown's rules would take marks out of JSON texts."""

_FENCE = re.compile(r"((?<!`)`{3,}+|(?<!~)~{3,}+)[^\n`]*+\n(?P<body>.*?)\n?\1", re.DOTALL)
_PAIRS = (
    ("***", "***"),
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("_", "_"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("\N{LEFT SINGLE QUOTATION MARK}", "’"),
    ("«", "»"),
    ("„", "“"),
    ("(", ")"),
)
_OPENING = re.compile(
    r"(?:sure|certainly|of course|absolutely|okay|ok|great question|here(?:'s|’s| is| are)|below is|"
    r"the answer is|natürlich|gerne|hier ist|hier sind|claro|por supuesto|aquí (?:está|tienes))\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\W{0,4}(?:final answer|answer|response|antwort|respuesta)\W{0,3}:\W{0,4}[ \t]*", re.IGNORECASE
)
_CLOSING = re.compile(
    r"(?:i hope|let me know|feel free|is there anything|do you have|if you (?:have|need|want)|"
    r"word count|total words?|words?:|ich hoffe|espero que)\b|\W*\d+ (?:words|wörter|palabras)\W*$",
    re.IGNORECASE,
)
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]")


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to read an output."""

    alternative_id: str
    description: str
    """What it does, in a sentence that follows its name."""
    read: Callable[[str], str]
    """From the complete visible output to what the strict verifier is given.

    Raises ``ImportError`` where the library that it needs is not installed."""


def alternatives_for(verifier_id: str) -> tuple[Alternative, ...]:
    """The alternatives that suit a verifier, by its id without version; those of one's own get the texts'."""
    if verifier_id in JSON_VERIFIERS:
        return (UNWRAPPED, JSON_BODY)
    texts = (MARKDOWN_REMOVED, UNWRAPPED, ANSWER_BODY)
    return (*texts, UNICODE_WORDS, LANGUAGE_WORDS) if verifier_id in WORD_VERIFIERS else texts


def remove_markdown(text: str) -> str:
    """The text that Markdown would show: without marks of headings, lists, emphasis, links and code."""
    from markdown_it import MarkdownIt

    blocks = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.children is not None:
            blocks.append("".join(_shown(child.type, child.content) for child in token.children))
        elif token.type in {"fence", "code_block", "html_block"}:
            blocks.append(token.content.strip("\n"))
    return "\n".join(blocks)


def unwrap(text: str) -> str:
    """The text inside of a fence, quotes, brackets or emphasis that enclose all of it, one in another."""
    inner = text.strip()
    while True:
        fence = _FENCE.fullmatch(inner)
        found = inner if fence is None else fence["body"]
        for opening, closing in _PAIRS:
            body = found[len(opening) : len(found) - len(closing)]
            encloses = found.startswith(opening) and found.endswith(closing) and body.strip()
            # A mark inside says that the two outer ones may not belong together: "a" and "b".
            if encloses and opening not in body and closing not in body:
                found = body
                break
        found = found.strip()
        if found == inner:
            return inner
        inner = found


def answer_body(text: str) -> str:
    """The answer without what introduces it, a label before it, and remarks after it.

    An introduction is a first paragraph or line that begins as answers to requests do and
    ends with a colon or exclamation mark; remarks are last paragraphs or lines
    that offer more help or count the words. Without any of them, and where
    nothing would be left, the whole text is the answer.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 1 and _OPENING.match(lines[0].strip()) and lines[0].rstrip()[-1] in ":!":
        lines = lines[1:]
    while len(lines) > 1 and _CLOSING.match(lines[-1].strip()):
        lines = lines[:-1]
    body = "\n".join(lines)
    labelled = _LABEL.sub("", body, count=1)
    return labelled.strip() or body.strip() or text


def json_body(text: str) -> str:
    """The one fenced block, or what is between the first opening and the last closing brace."""
    fenced = [found["body"] for found in _FENCE.finditer(text)]
    body = fenced[0] if len(fenced) == 1 else text
    start, end = body.find("{"), body.rfind("}")
    return body[start : end + 1] if 0 <= start < end else text


def unicode_words(text: str) -> str:
    """The words by Unicode's default word boundaries (UAX #29), with a blank between them.

    A word is a segment with a letter or digit in it: punctuation alone is none,
    ``well-known`` is two, ``can't`` is one, and every Han character is one.
    """
    from uniseg.wordbreak import words

    return " ".join(word for word in words(text) if _has_letter(word))


def language_words(text: str) -> str:
    """The words as the language has them where it writes no blanks between them; elsewhere as they stand.

    Chinese is cut by the dictionary of jieba, and text with kana by that of Janome;
    punctuation alone is then no word. A text without Han characters or kana is left alone.
    """
    if _KANA.search(text):
        pieces: Iterable[str] = map(str, _japanese().tokenize(text, wakati=True))
    elif _HAN.search(text):
        from rjieba import cut

        pieces = cut(text)
    else:
        return text
    return " ".join(piece.strip() for piece in pieces if _has_letter(piece))


MARKDOWN_REMOVED = Alternative("markdown_removed", "Markdown's marks are removed", remove_markdown)
UNWRAPPED = Alternative(
    "unwrapped", "a fence, quotes or emphasis around the whole output are removed", unwrap
)
ANSWER_BODY = Alternative(
    "answer_body", "an introduction, a label and closing remarks are left out", answer_body
)
JSON_BODY = Alternative("answer_body", "what is around the one JSON object is left out", json_body)
UNICODE_WORDS = Alternative("unicode_words", "words are those of Unicode's word boundaries", unicode_words)
LANGUAGE_WORDS = Alternative(
    "language_words", "Chinese and Japanese are cut into words by a dictionary", language_words
)


def reading_name(key: str) -> str:
    """A way to read outputs as people call it: the words of its id."""
    return key.replace("_", " ").replace("markdown", "Markdown").replace("unicode", "Unicode")


@functools.cache
def _japanese() -> Tokenizer:
    """Janome's tokenizer, which takes a fifth of a second to make."""
    from janome.tokenizer import Tokenizer

    return Tokenizer()


def _shown(kind: str, content: str) -> str:
    if kind in {"softbreak", "hardbreak"}:
        return "\n"
    return content  # of marks that open or close something, empty


def _has_letter(piece: str) -> bool:
    return any(character.isalnum() for character in piece)
