"""A panel of thirteen models: the paper's rates by model and form, with answers made up to fit them.

For tests of the page at its full size, and to look at: ``python -m tests.browser.thirteen DIR``
writes its rows.
"""

from __future__ import annotations

import csv
import hashlib
import random
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.panels.catalog import bundled_panel
from wise_pytest.panels.cells import plan_cells
from wise_pytest.records import Row, Usage
from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wise_pytest.records import Cell

RATES = Path(__file__).parents[1] / "stats" / "data" / "paper_model_rates.csv"
PANEL = "exact_count"
GEMINI = ("Gemini 2.5 Flash", "Gemini 3.1 Flash Lite")
N_REPETITIONS = 3
_WORDS = """
light travels faster than sound because waves carry energy through air and water while plants turn
sunlight into sugar and animals breathe oxygen that rivers and forests help to renew every single day
""".split()  # noqa: SIM905 - read as lines


def rates(panel: str = PANEL) -> dict[tuple[str, str], tuple[str, int]]:
    """Provider and number of compliant generations out of 300, by model and form."""
    with RATES.open(encoding="utf-8") as stream:
        records = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    return {
        (record["model"], record["form"]): (record["provider"], round(Fraction(record["compliance_pct"]) * 3))
        for record in records
        if record["panel"] == panel
    }


def rows(panel: str = PANEL, *, n_models: int | None = None, n_items: int | None = None) -> Iterator[Row]:
    """The rows of one panel, or of its first models and items; the same at every call."""
    known = rates(panel)
    models = list(dict.fromkeys(model for model, _ in known))[:n_models]
    declared = bundled_panel(panel)
    items = [item.item_id for item in declared.items[:n_items]]
    for model in models:
        provider = next(found for (name, _), (found, _) in known.items() if name == model)
        numbers: dict[str, int] = {}
        for cell in plan_cells(
            declared, model=model, provider=provider, items=items, repetitions=N_REPETITIONS
        ):
            if (model, cell.form) not in known:
                continue
            # 37 has no common divisor with 300: compliant cells are spread over items and repetitions.
            number = numbers[cell.form] = numbers.get(cell.form, -1) + 1
            yield _row(cell, complies=number * 37 % 300 < known[model, cell.form][1])


def _row(cell: Cell, *, complies: bool) -> Row:
    seed = hashlib.sha256("|".join(map(str, cell.key)).encode()).digest()
    dice = random.Random(seed)
    verifier = get_verifier(cell.verifier)
    text = _answer(cell, dice, complies=complies)
    verdict = verifier.verify(text, cell.target)
    truncated = verdict.direction == "over" and (verdict.error or 0) > 20
    return Row(
        run="20260601T000000Z-000000",
        panel=cell.panel,
        model=cell.model,
        provider=cell.provider,
        item=cell.item,
        form=cell.form,
        repetition=cell.repetition,
        compliant=verdict.compliant,
        status="truncated" if truncated else "ok",
        target=cell.target,
        instruction=cell.instruction,
        prompt=cell.prompt,
        finish_reason="length" if truncated else "stop",
        text=text,
        observed=verdict.observed,
        error=verdict.error,
        direction=verdict.direction,
        usage=Usage(input_tokens=30 + len(cell.prompt) // 4, output_tokens=len(text) // 4 + 1),
        latency_s=round(dice.uniform(0.3, 2.5), 6),
        attempts=1,
        served_model=cell.model,
        request_digest=hashlib.sha256(cell.prompt.encode() + cell.model.encode()).hexdigest(),
        recorded_at=f"2026-06-{dice.randint(1, 28):02}T12:00:00.{dice.randint(0, 999):03}Z",
        verifier=cell.verifier,
    )


def _answer(cell: Cell, dice: random.Random, *, complies: bool) -> str:
    if cell.panel == "json_structure":
        keys = list(cell.target) if isinstance(cell.target, tuple) else []
        body = "{" + ", ".join(f'"{key}": "{dice.choice(_WORDS)}"' for key in map(str, keys)) + "}"
        return body if complies else f"```json\n{body}\n```"
    if cell.panel == "keyword_once":
        text = _sentence(dice, dice.randint(8, 16))
        many = 1 if complies else dice.choice([0, 0, 0, 2])
        return f"{text} {' '.join([str(cell.target)] * many)}".strip()
    if cell.panel == "length_range":
        return _sentence(dice, dice.randint(8, 12) if complies else dice.choice([3, 5, 6, 7, 13, 14, 17, 22]))
    target = int(cell.target) if isinstance(cell.target, int) else 8
    if complies:
        return _sentence(dice, target)
    floored = cell.model in GEMINI
    errors = (-3, -2, -2) if floored else _ERRORS.get(cell.form, (-2, -1, -1, 1, 1, 2))
    length = 4 if floored and target > 5 else target + dice.choice(errors)
    text = _sentence(dice, max(length if length != target else target + 1, 0))
    return f"Here is one:\n\n{text}" if dice.random() < 0.01 else text


_ERRORS = {
    "AVOID1": (-4, -3, -2, -1, 1, 1, 2, 3, 4, 6, 9, 25),
    "NEVER": (-3, -1, -1, 1, 1, 2),
    "AVOID2": (-1, -1, 1, 1, 2),
}


def _sentence(dice: random.Random, n: int) -> str:
    words = [dice.choice(_WORDS) for _ in range(n)]
    return (" ".join(words).capitalize() + ".") if words else ""


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    panels = sys.argv[2:] or [PANEL]
    with (folder / "generations.jsonl").open("w", encoding="ascii") as stream:
        for panel in panels:
            for row in rows(panel):
                stream.write(row.to_json() + "\n")


if __name__ == "__main__":
    main()
