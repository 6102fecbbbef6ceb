"""The audit of the bundled recordings equals a recount that shares no code with the package.

The recount reads the recorded replies as plain JSON, takes targets from the
manifest with the csv module, counts words with a regular expression over what
Python calls white space, and divides by hand.
"""

import csv
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

ROOT = Path(__file__).parents[2]
PACKS = sorted((ROOT / "cassettes" / "exact_count").glob("*.jsonl"))
# Every character for which str.isspace() is true, so that no call to str.split() is needed.
SPACE = "".join(chr(code) for code in range(0x110000) if chr(code).isspace())
WORD = re.compile(f"[^{re.escape(SPACE)}]+")


def targets() -> dict[str, int]:
    with (ROOT / "wise_pytest" / "panels" / "items.csv").open(encoding="utf-8", newline="") as stream:
        return {row["item_id"]: int(row["target_words"]) for row in csv.DictReader(stream)}


def recount(pack: Path) -> tuple[str, dict[str, list[tuple[int, int, str]]]]:
    """The model, and by form (observed, target, finish reason) of every recording."""
    wanted = targets()
    header, *lines = pack.read_text(encoding="utf-8").splitlines()
    counted: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for line in lines:
        record = json.loads(line)
        choice = json.loads(record["response"]["body"])["choices"][0]
        n_words = len(WORD.findall(choice["message"]["content"] or ""))
        counted[record["form"]].append((n_words, wanted[record["item"]], choice["finish_reason"]))
    return json.loads(header)["model"], counted


def audited_session(out: Path, *packs: Path) -> dict:
    """The audit of one session over some packs."""
    models = [word for pack in packs for word in ("--model", recount(pack)[0])]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--block-network"),
            *("test_panels/test_exact_count.py", "--wise-out", str(out), *models),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((out / "latest" / "audit.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def all_of_them(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return audited_session(tmp_path_factory.mktemp("reports"), *PACKS)


def test_all_bundled_recordings_are_whole():
    assert PACKS
    for pack in PACKS:
        _, counted = recount(pack)
        assert {form: len(values) for form, values in counted.items()} == dict.fromkeys(
            ("POS", "NEG", "NEVER", "AVOID1", "AVOID2", "CNEG"), 300
        )


def test_the_numbers_of_one_model_equal_the_recount(tmp_path: Path):
    same_as_the_recount(audited_session(tmp_path, PACKS[-1]), PACKS[-1])


@pytest.mark.slow
@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.stem)
def test_a_models_numbers_among_others_equal_the_recount(all_of_them: dict, pack: Path):
    same_as_the_recount(all_of_them, pack)


def same_as_the_recount(document: dict, pack: Path) -> None:
    model, counted = recount(pack)
    audited = document["panels"]["exact_count"]["by_model"][model]
    rates = {}
    for form, values in counted.items():
        found = audited["forms"][form]
        hits = sum(observed == target for observed, target, _ in values)
        rates[form] = hits / len(values)
        assert (found["n"], found["n_compliant"]) == (len(values), hits)
        assert found["compliance"] == pytest.approx(rates[form], abs=1e-12)
        assert found["directions"]["under"] == pytest.approx(fmean(o < t for o, t, _ in values), abs=1e-12)
        assert found["directions"]["over"] == pytest.approx(fmean(o > t for o, t, _ in values), abs=1e-12)
        assert found["mean_abs_error"] == pytest.approx(fmean(abs(o - t) for o, t, _ in values), abs=1e-12)
        assert found["statuses"].get("truncated", 0) == sum(reason == "length" for _, _, reason in values)
    summary = audited["summary"]
    assert summary["pos"] == pytest.approx(rates["POS"], abs=1e-12)
    assert summary["mean"] == pytest.approx(fmean(rates.values()), abs=1e-12)
    assert summary["worst"] == pytest.approx(min(rates.values()), abs=1e-12)
    assert summary["gap"] == pytest.approx(max(rates.values()) - min(rates.values()), abs=1e-12)
    assert audited["coverage"] == 1


@pytest.mark.slow
def test_the_pooled_numbers_and_the_ranking_equal_the_recount(all_of_them: dict):
    panel = all_of_them["panels"]["exact_count"]
    primary = set(panel["models"])
    counts = dict(map(recount, PACKS))
    assert primary | set(panel["excluded"]) == set(counts)
    pooled = defaultdict(list)
    for model in primary:
        for form, values in counts[model].items():
            pooled[form] += [observed == target for observed, target, _ in values]
    for form, hits in pooled.items():
        assert panel["forms"][form]["compliance"] == pytest.approx(fmean(hits), abs=1e-12)
        assert panel["forms"][form]["n"] == len(hits)
        if form != "POS":
            assert panel["forms"][form]["diff"] == pytest.approx(
                fmean(hits) - fmean(pooled["POS"]), abs=1e-12
            )
    hits_of = {
        model: {form: sum(o == t for o, t, _ in values) for form, values in counts[model].items()}
        for model in primary
    }
    for form, found in panel["ranking"].items():
        ordered = reversed_ = 0
        models = sorted(primary)
        for n, first in enumerate(models):
            for second in models[n + 1 :]:
                by_pos = hits_of[first]["POS"] - hits_of[second]["POS"]
                by_form = hits_of[first][form] - hits_of[second][form]
                ordered += by_pos != 0 and by_form != 0
                reversed_ += by_pos * by_form < 0
        if found["reversal"] is not None:
            assert found["n_pairs"] == ordered
            assert found["reversal"] == pytest.approx(reversed_ / ordered, abs=1e-12)
