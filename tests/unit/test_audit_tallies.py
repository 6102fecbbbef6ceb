"""Counting rows by hand and by data frame gives the same; the frame is checked by the published tables."""

from __future__ import annotations

import subprocess
import sys

import hypothesis.strategies as st
from hypothesis import given, settings

from wise_pytest.audit.tallies import FRAME_FROM_ROWS, Tallies, _by_frame, _by_hand, tally_rows
from wise_pytest.records import Row

OUTCOMES = st.sampled_from(
    [("ok", True), ("ok", False), ("truncated", True), ("refused", False), ("blocked", None), ("error", None)]
)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    status, compliant = draw(OUTCOMES)
    panel = draw(st.sampled_from(["exact_count", "own", "\ud83d"]))
    return Row(
        panel=panel,
        model=draw(st.sampled_from(["a", "b", "M"])),
        provider="p",
        item=draw(st.sampled_from(["i1", "i2", "i3"])),
        form=draw(st.sampled_from(["POS", "NEG"])),
        repetition=draw(st.integers(1, 3)),
        compliant=compliant,
        status=status,
        target=draw(st.sampled_from([None, 5, 8, "word", (8, 12), ("a", "b")])),
        observed=draw(st.sampled_from([None, 0, 5, 9])),
        error=draw(st.sampled_from([None, -5, 0, 4])),
        direction=draw(st.sampled_from([None, "under", "exact", "over"])),
        verifier=draw(st.sampled_from([None, "word_count/1"])),
    )


def comparable(tallies: Tallies) -> list[object]:
    cells = {
        key: (
            cell.n_rows,
            cell.rate,
            dict(cell.statuses),
            dict(cell.directions),
            cell.n_errors,
            cell.sum_abs_error,
        )
        for key, cell in tallies.cells.items()
    }
    items = {
        panel: (counts.models, counts.items, counts.forms, counts.n_compliant.tolist(), counts.n.tolist())
        for panel, counts in tallies.items.items()
    }
    targets = {pair: list(outcomes) for pair, outcomes in tallies.targets.items()}
    return [cells, targets, dict(tallies.grids), list(tallies.providers), list(tallies.verifiers), items]


@settings(deadline=None, max_examples=60)
@given(st.lists(rows(), min_size=1, max_size=40, unique_by=lambda row: row.key), st.booleans())
def test_both_ways_of_counting_agree(given_rows: list[Row], items: bool):  # noqa: FBT001 - drawn
    assert comparable(_by_hand(given_rows, items=items)) == comparable(_by_frame(given_rows, items=items))


def test_a_hand_count():
    counted = tally_rows(
        [
            Row(
                "p",
                "m",
                "x",
                "i1",
                "POS",
                1,
                compliant=True,
                target=5,
                observed=5,
                error=0,
                direction="exact",
            ),
            Row(
                "p",
                "m",
                "x",
                "i1",
                "POS",
                2,
                compliant=False,
                target=5,
                observed=7,
                error=2,
                direction="over",
            ),
            Row("p", "m", "x", "i2", "POS", 1, compliant=None, status="error"),
        ],
        items=True,
    )
    cell = counted.cells["p", "m", "POS"]
    assert (cell.n_rows, cell.rate.n_compliant, cell.rate.n) == (3, 1, 2)
    assert (cell.n_errors, cell.sum_abs_error) == (2, 2)
    assert counted.grids == {"p": 4}  # two items, one form, two repetitions
    assert counted.items["p"].n.tolist() == [[[2]]]  # the item without a scored row is not resampled


def test_a_session_pays_for_no_data_frame():
    program = (
        "import sys\nfrom wise_pytest.audit.audit import build_audit\nfrom wise_pytest.records import Row\n"
        "build_audit([Row('p', 'm', 'x', 'i1', form, 1, True) for form in ('POS', 'NEG')])\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert FRAME_FROM_ROWS > 7_500  # a model's six panels
