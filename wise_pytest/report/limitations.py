"""What the numbers do not say, in plain words; the same in every format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMITATIONS = (
    (
        "The worst form and the gap depend on the forms that the panel declares: they say how far these "
        "wordings differ, not how bad a wording can be."
    ),
    (
        "Rates of different providers are not directly comparable: system prompts, decoding defaults and "
        "what counts as visible output differ between them."
    ),
    (
        "A verifier sees the complete visible output and repairs nothing: an added greeting, a heading or a "
        "code fence counts."
    ),
    (
        "A rate is taken over scored generations only; refusals and truncated outputs are scored as they "
        "stand, technical errors and blocked outputs are left out and show in the coverage."
    ),
    (
        "Intervals hold the middle 95 % of bootstrap replicates: they say how far a figure would move with "
        "other units of the resampled kinds, and nothing of what was not resampled; those of a ranking "
        "resample items alone. A p value is two-sided, from the same replicates; Holm's method corrects "
        "those of a panel together."
    ),
    (
        "Each replicate has its own best and worst form, and resampling adds noise to every rate: the "
        "interval of a gap leans upwards, that of a worst form downwards, and neither tells whether there "
        "is a gap at all. The differences to the reference form do."
    ),
    "A large gap is no verdict on negation: longer and later positive wordings can cost compliance as well.",
)
VERIFIERS: Mapping[str, str] = {
    "word_count": (
        "words are what blanks separate; a hyphenated word is one, a dash between blanks is one, too"
    ),
    "word_range": "words are what blanks separate, and both bounds are allowed",
    "keyword_once": (
        "the keyword counts as a whole word, in any case; a possessive or a hyphen beside it does not hide it"
    ),
    "json_keys": (
        "the output is one JSON object with exactly the named keys; a code fence, prose or a key given "
        "twice fails"
    ),
}
"""What each verifier that comes with the package counts, by its name without the version."""


def verifier_sentence(verifier: str) -> str:
    """What a verifier such as ``word_count/1`` counts, in a sentence."""
    counts = VERIFIERS.get(verifier.partition("/")[0])
    return f"{verifier}: {counts}." if counts else f"{verifier}: a verifier of your own."
