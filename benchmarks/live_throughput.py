"""How close a live, recording run comes to what its endpoint allows.

The limit is cells × latency / concurrency: nobody can be faster. The time is
that of the whole pytest process, from its start to its end, with the audit and
every report. The endpoint answers after 200 ms, in a process of its own. Python
keeps its compiled modules, as it does wherever a package is installed: one run
that is not counted compiles them.

    python benchmarks/live_throughput.py [--runs 3] [--compare [--neighbours PYTHON]]

``--compare`` also runs promptfoo, inspect_ai and lm-evaluation-harness on the
same endpoint, where they are installed: promptfoo on the PATH, the others for
the Python that ``--neighbours`` names. They are no dependency of anything here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from endpoint import Running

if TYPE_CHECKING:
    from collections.abc import Sequence

LATENCY_S = 0.2
PANEL_TEST = """\
import pytest


@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    wise.score(wise.ask())
"""


@dataclass(frozen=True)
class Case:
    """One size of run, and how far from the limit it may end."""

    cells: int
    concurrency: int
    most: float
    grid: tuple[str, ...]
    workers: tuple[str, ...] = ()

    @property
    def limit_s(self) -> float:
        """Seconds that nobody can be faster than."""
        return self.cells * LATENCY_S / self.concurrency

    @property
    def name(self) -> str:
        """The case in words."""
        return " ".join((f"{self.cells} cells at {self.concurrency}", *self.workers))


UNRELATED = ("-p", "no:hypothesispytest", "-p", "no:anyio")
"""Plugins that are here for other tests; hypothesis loads itself at every session's end."""
THOUSAND = ("--wise-items", "100", "--wise-repetitions", "2", "--wise-form", "POS,NEG,NEVER,AVOID1,AVOID2")
CASES = (
    Case(1000, 32, 1.2, THOUSAND),
    Case(1000, 32, 1.2, THOUSAND, ("-n", "2")),
    Case(1800, 64, 1.35, ()),
    Case(1800, 64, 1.35, (), ("-n", "2")),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each case (default: 3)")
    parser.add_argument("--compare", action="store_true", help="run other tools on the same endpoint, too")
    parser.add_argument("--neighbours", default=sys.executable, metavar="PYTHON", help="has other tools")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as compiled:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        for case in (CASES[0], CASES[1]):
            ours(case)
        measure(parsed.runs)
        if parsed.compare:
            for case in (CASES[0], CASES[2]):
                compare(case, parsed.neighbours)


def measure(n_runs: int) -> None:
    """Print the ratios of all cases."""
    for case in CASES:
        ratios = [ours(case) / case.limit_s for _ in range(n_runs)]
        print(
            f"live_throughput: {case.name}: median ratio {statistics.median(ratios):.2f}, "
            f"best {min(ratios):.2f} of the limit {case.limit_s:.2f} s (at most {case.most}), "
            f"{n_runs} runs, {os.cpu_count()} cores",
            flush=True,
        )


def ours(case: Case) -> float:
    """Seconds of one whole run."""
    with tempfile.TemporaryDirectory() as name, Running(delay_s=LATENCY_S) as endpoint:
        folder = Path(name)
        (folder / "test_panel.py").write_text(PANEL_TEST, encoding="utf-8")
        model = ("--model", f"m={endpoint.base_url}", "--record-mode=once")
        took = timed(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *UNRELATED, *model),
                *(*case.grid, "--wise-concurrency", str(case.concurrency), *case.workers),
            ],
            folder,
        )
        (header, *_) = (folder / "cassettes" / "exact_count" / "m.jsonl").read_text("ascii").splitlines()
        n_asked = sum(endpoint.counts()["asked"].values())
        if json.loads(header)["recordings"] != case.cells or n_asked != case.cells:
            raise SystemExit(f"{case.name}: {n_asked} calls, {json.loads(header)['recordings']} recordings")
        return took


def compare(case: Case, python: str) -> None:
    """The same calls by other tools, each by its own command line; a tool that is not installed is named."""
    prompts = [f"Question {n}. Answer using exactly 8 words." for n in range(case.cells)]
    for name, run in (
        ("promptfoo", promptfoo),
        ("inspect_ai", inspect_ai),
        ("lm-evaluation-harness", lm_evaluation_harness),
    ):
        with tempfile.TemporaryDirectory() as folder, Running(delay_s=LATENCY_S) as endpoint:
            took = run(Path(folder), endpoint.base_url, prompts, case.concurrency, python)
            if took is None:
                print(f"live_throughput: {name}: not installed", flush=True)
                continue
            n_asked = sum(endpoint.counts()["asked"].values())
            whole = "" if n_asked == case.cells else f", and {n_asked} calls are not all: it has failed"
            ratio = f"ratio {took / case.limit_s:.2f} ({took:.1f} s)"
            print(f"live_throughput: {name}, {case.name}: {ratio}{whole}", flush=True)


def promptfoo(
    folder: Path, base_url: str, prompts: Sequence[str], concurrency: int, _python: str
) -> float | None:
    if shutil.which("promptfoo") is None:
        return None
    config = {
        "prompts": ["{{prompt}}"],
        "providers": [
            {
                "id": "openai:chat:m",
                "config": {
                    "apiBaseUrl": base_url,
                    "apiKey": "none",
                    "max_tokens": 120,
                    "temperature": 0.2,
                },
            }
        ],
        "tests": [{"vars": {"prompt": prompt}} for prompt in prompts],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
    return timed(
        [
            *("promptfoo", "eval", "-c", "promptfooconfig.json", "-j", str(concurrency)),
            *("--no-cache", "--no-progress-bar", "--no-table", "-o", "out.json"),
        ],
        folder,
        PROMPTFOO_DISABLE_TELEMETRY="1",
        PROMPTFOO_DISABLE_UPDATE="1",
        PROMPTFOO_CONFIG_DIR=str(folder),
    )


INSPECT_TASK = """\
import json
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def words():
    prompts = json.load(open("prompts.json"))
    samples = [Sample(input=prompt, target="answer") for prompt in prompts]
    return Task(dataset=samples, solver=generate(), scorer=includes())
"""


def inspect_ai(
    folder: Path, base_url: str, prompts: Sequence[str], concurrency: int, python: str
) -> float | None:
    if not has(python, "inspect_ai"):
        return None
    (folder / "words.py").write_text(INSPECT_TASK, encoding="utf-8")
    (folder / "prompts.json").write_text(json.dumps(prompts), encoding="utf-8")
    return timed(
        [
            *(python, "-m", "inspect_ai", "eval", "words.py", "--model", "openai-api/local/m"),
            *("--max-connections", str(concurrency), "--max-samples", str(2 * concurrency)),
            *("--display", "none", "--max-tokens", "120", "--temperature", "0.2"),
        ],
        folder,
        LOCAL_API_KEY="none",
        LOCAL_BASE_URL=base_url,
    )


LM_EVAL_TASK = """\
task: words
dataset_path: json
dataset_kwargs:
  data_files: prompts.jsonl
test_split: train
output_type: generate_until
doc_to_text: "{{prompt}}"
doc_to_target: answer
generation_kwargs:
  max_gen_toks: 120
  until: []
metric_list:
  - metric: exact_match
"""


def lm_evaluation_harness(
    folder: Path, base_url: str, prompts: Sequence[str], concurrency: int, python: str
) -> float | None:
    if not has(python, "lm_eval"):
        return None
    (folder / "words.yaml").write_text(LM_EVAL_TASK, encoding="utf-8")
    lines = (json.dumps({"prompt": prompt}) for prompt in prompts)
    (folder / "prompts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    arguments = (
        f"model=m,base_url={base_url}/chat/completions,num_concurrent={concurrency},tokenized_requests=False"
    )
    return timed(
        [
            *(python, "-m", "lm_eval", "--model", "local-chat-completions"),
            *("--model_args", arguments, "--tasks", "words", "--include_path", ".", "--apply_chat_template"),
        ],
        folder,
        OPENAI_API_KEY="none",
    )


def has(python: str, module: str) -> bool:
    """Whether a Python has a module installed."""
    look = f"import importlib.util as u; raise SystemExit(u.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", look], check=False).returncode == 0


def timed(command: Sequence[str], folder: Path, **environment: str) -> float:
    """Wall time of one process, in seconds."""
    began = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return took


if __name__ == "__main__":
    main()
