"""``wise cassettes``: what is recorded, whether it is sound, and what of it can go."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import help_of, print_lines
from wise_pytest.errors import OptionError
from wise_pytest.options import DEFAULT_CASSETTES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wise_pytest.cassettes.checking import Checked, CheckedPack
    from wise_pytest.cassettes.pack import RecordingKey
    from wise_pytest.endpoints.model import Endpoint

EXIT_FAULT = 1
LEFT_UNPACKED = (
    "a run that did not end has left it; the next run that records, or wise cassettes prune --yes, packs it"
)
FAULTS = ("orphaned", "stale", "with secrets", "unpacked")
"""What ``check`` counts, beside files that are damaged."""
MAX_SHOWN = 10
"""Recordings of one kind that are named without ``--cells``."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    cassettes = commands.add_parser("cassettes", help="see what is recorded, check, prune and export it")
    actions = cassettes.add_subparsers(title="actions", required=True, metavar="ACTION")
    listing = _action(
        actions,
        "list",
        _list,
        "list recordings: missing, orphaned and unplayed ones",
        "List the recordings of each panel and model beside what the panel plans.",
    )
    listing.add_argument(
        "--rows", nargs="+", metavar="ROWS", help="rows of a run: say which recordings it has not played"
    )
    checking = _action(
        actions,
        "check",
        _check,
        "check recordings: exit with 1 if any is damaged, stale, orphaned, or holds a secret",
        "Check that every recording is whole, answers the request of today, belongs to a cell, and holds "
        "nothing secret.",
    )
    checking.add_argument(
        "--complete", action="store_true", help="a planned cell that is missing is a fault, too"
    )
    pruning = _action(
        actions,
        "prune",
        _prune,
        "delete recordings that no cell asks for any more",
        "Delete orphaned recordings; without --yes, say which they are.",
    )
    pruning.add_argument("--stale", action="store_true", help="delete stale recordings, too")
    pruning.add_argument("--yes", action="store_true", help="really delete")
    for parser in (checking, pruning):
        parser.add_argument(
            "--model",
            action="append",
            default=[],
            metavar="NAME=BASE_URL",
            help="where a model is asked now, repeatable (default: as [tool.wise] or its recordings say)",
        )
    for parser in (listing, checking, pruning):
        parser.add_argument("--cells", action="store_true", help="name every cell that is counted")
    exporting = _action(
        actions,
        "export",
        _export,
        "write recordings as plain VCR.py cassettes",
        "Write each recording as a YAML file that any program with VCR.py can replay.",
    )
    exporting.add_argument("folder", type=Path, metavar="OUT", help="an empty or new folder")
    cutting = _action(
        actions,
        "excerpt",
        _excerpt,
        "copy the recordings of a few items into another folder",
        "Copy the recordings of a few items and repetitions, unchanged, into packs of their own, which say "
        "what they are a part of.",
    )
    cutting.add_argument("folder", type=Path, metavar="OUT", help="an empty or new folder")
    cutting.add_argument("--items", required=True, metavar="N|ID,ID…", help=help_of("items"))
    cutting.add_argument("--repetitions", type=int, metavar="N", help="the first N (default: all)")


def _action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=summary, description=description)
    parser.add_argument(
        "--cassettes", type=Path, default=Path(DEFAULT_CASSETTES), metavar="DIR", help=help_of("cassettes")
    )
    parser.set_defaults(run=run)
    return parser


def _list(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.rows import read_rows
    from wise_pytest.cassettes.inventory import take_inventory, unplayed
    from wise_pytest.settings import catalog_of

    _need_folder(parsed.cassettes)
    played: dict[tuple[str, str], list[RecordingKey]] = {}
    for row in read_rows(parsed.rows or []):
        played.setdefault((row.panel, row.model), []).append((row.item, row.form, row.repetition))
    for pack in take_inventory(parsed.cassettes, catalog_of(Path.cwd())):
        groups = {"missing": pack.missing, "orphaned": pack.orphaned}
        if parsed.rows:
            groups["unplayed"] = unplayed(pack.recorded, played.get((pack.panel, pack.model), []))
        planned = "an unknown panel" if pack.n_planned is None else str(pack.n_planned)
        counts = ", ".join(f"{len(keys)} {name}" for name, keys in groups.items())
        print_lines(
            [f"{pack.panel}, {pack.model}: {pack.n_recorded} recorded of {planned}, {counts}"], sys.stdout
        )
        if parsed.cells:
            print_lines(
                (f"  {name}: {key}" for name, keys in groups.items() for key in map(_shown, keys)), sys.stdout
            )
    return 0


def _check(parsed: argparse.Namespace) -> int:
    checked = _checked(parsed)
    n_faults = len(checked.damaged)
    for problem in checked.damaged:
        print_lines([f"damaged: {problem}"], sys.stdout)
    for pack in checked.packs:
        inventory = pack.inventory
        planned = "an unknown panel" if inventory.n_planned is None else str(inventory.n_planned)
        groups = _groups(pack)
        counts = ", ".join(f"{len(lines)} {name}" for name, lines in groups.items())
        title = f"{inventory.panel}, {inventory.model}: {inventory.n_recorded} recorded of {planned}"
        digest = "" if inventory.sha256 is None else f", sha256 {inventory.sha256[:12]}"
        print_lines([f"{title}, {counts}{digest}"], sys.stdout)
        for name, lines in groups.items():
            if name == "missing" and not parsed.complete and not parsed.cells:
                continue
            print_lines(_cut(f"  {name}: ", lines, everything=parsed.cells), sys.stdout)
        faults = (*FAULTS, "missing") if parsed.complete else FAULTS
        n_faults += sum(len(groups[name]) for name in faults)
    if not checked.packs and not checked.damaged:
        print_lines([f"{parsed.cassettes}: holds no recordings"], sys.stdout)
    verdict = "PASS" if n_faults == 0 else f"FAIL: {n_faults} fault{'' if n_faults == 1 else 's'}"
    print_lines([f"check: {verdict}"], sys.stdout)
    return 0 if n_faults == 0 else EXIT_FAULT


def _prune(parsed: argparse.Namespace) -> int:
    from wise_pytest.cassettes.checking import prune
    from wise_pytest.cassettes.store import RecordingLock

    _need_folder(parsed.cassettes)
    if not parsed.yes:
        n_unwanted = sum(map(len, _unwanted(parsed).values()))
        print_lines([f"{n_unwanted} recordings would be deleted; --yes deletes them"], sys.stdout)
        return 0
    with RecordingLock(parsed.cassettes):
        unwanted = _unwanted(parsed)
        prune(parsed.cassettes, unwanted)
    print_lines([f"{sum(map(len, unwanted.values()))} recordings were deleted"], sys.stdout)
    return 0


def _export(parsed: argparse.Namespace) -> int:
    from wise_pytest.cassettes.export import export_pack
    from wise_pytest.cassettes.inventory import take_inventory
    from wise_pytest.cassettes.store import CassetteStore

    _need_folder(parsed.cassettes)
    folder: Path = parsed.folder
    _need_new(folder)
    store = CassetteStore(parsed.cassettes)
    n_files = sum(
        export_pack(store.pack(pack.panel, pack.model), folder)
        for pack in take_inventory(parsed.cassettes, {})
    )
    print_lines([f"{n_files} cassettes in {folder}"], sys.stdout)
    return 0


def _excerpt(parsed: argparse.Namespace) -> int:
    from wise_pytest.cassettes.excerpt import excerpt_pack
    from wise_pytest.cassettes.inventory import take_inventory
    from wise_pytest.cassettes.store import CassetteStore
    from wise_pytest.settings import catalog_of

    _need_folder(parsed.cassettes)
    _need_new(parsed.folder)
    catalog = catalog_of(Path.cwd())
    store, copy = CassetteStore(parsed.cassettes), CassetteStore(parsed.folder)
    for found in take_inventory(parsed.cassettes, {}):
        pack = store.pack(found.panel, found.model)
        path = copy.path(found.panel, found.model)
        count = excerpt_pack(
            pack, path, catalog.panel(found.panel), items=parsed.items, repetitions=parsed.repetitions
        )
        print_lines([f"{found.panel}, {found.model}: {count} of {len(pack)} recordings"], sys.stdout)
    return 0


def _unwanted(parsed: argparse.Namespace) -> dict[tuple[str, str], set[RecordingKey]]:
    """What to prune, by panel and model; named as it is found."""
    checked = _checked(parsed)
    if checked.damaged:
        raise OptionError(f"{checked.damaged[0]}; nothing was deleted")
    unwanted: dict[tuple[str, str], set[RecordingKey]] = {}
    for pack in checked.packs:
        inventory = pack.inventory
        groups = {"orphaned": sorted(inventory.orphaned)}
        if parsed.stale:
            groups["stale"] = sorted(pack.stale)
        keys = {key for group in groups.values() for key in group}
        if keys:
            unwanted[inventory.panel, inventory.model] = keys
        for name, group in groups.items():
            start = f"{inventory.panel}, {inventory.model}, {name}: "
            print_lines(_cut(start, [_shown(key) for key in group], everything=parsed.cells), sys.stdout)
    return unwanted


def _checked(parsed: argparse.Namespace) -> Checked:
    from wise_pytest.cassettes.checking import check_folder
    from wise_pytest.endpoints.registry import load_registry, resolve_models
    from wise_pytest.settings import catalog_of, read_tool_table

    _need_folder(parsed.cassettes)
    registry = load_registry(read_tool_table(Path.cwd() / "pyproject.toml").get("models"), environ=os.environ)
    endpoints = dict(registry)
    for selected in resolve_models(parsed.model, registry) if parsed.model else ():
        endpoints[selected.endpoint.name] = selected.endpoint
    return check_folder(
        parsed.cassettes, catalog_of(Path.cwd()), endpoints.get, keys=tuple(_keys(endpoints, os.environ))
    )


def _keys(endpoints: Mapping[str, Endpoint], environ: Mapping[str, str]) -> Iterator[str]:
    """Every key that is set for some model; none of them may be recorded."""
    names = {name for endpoint in endpoints.values() for name in endpoint.key_env}
    return (value for name in sorted(names) if (value := environ.get(name, "").strip()))


def _groups(pack: CheckedPack) -> dict[str, list[str]]:
    """What there is to say of a pack, by its kind, a line each."""
    inventory = pack.inventory
    return {
        "missing": [_shown(key) for key in inventory.missing],
        "orphaned": [_shown(key) for key in inventory.orphaned],
        "stale": [f"{_shown(key)}: {difference}" for key, difference in pack.stale.items()],
        "with secrets": [f"{_shown(key)}: {', '.join(kinds)}" for key, kinds in pack.leaks.items()],
        "unpacked": [
            f"{path}{' (its last line is cut)' if path in inventory.cut_parts else ''}: {LEFT_UNPACKED}"
            for path in inventory.parts
        ],
    }


def _cut(start: str, lines: Sequence[str], *, everything: bool) -> list[str]:
    shown = lines if everything else lines[:MAX_SHOWN]
    more = len(lines) - len(shown)
    return [*(f"{start}{line}" for line in shown), *([f"{start}… and {more} more"] if more else [])]


def _need_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionError(f"{folder}: is no empty folder; name a new one")


def _need_folder(path: Path) -> None:
    if not path.is_dir():
        raise OptionError(f"{path}: is no folder; name the recordings with --cassettes DIR")


def _shown(key: RecordingKey) -> str:
    item, form, repetition = key
    return f"{item}, {form}, repetition {repetition}"
