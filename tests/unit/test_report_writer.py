import os
import stat
import sys
from pathlib import Path

import pytest

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.audit.table import table_of
from wise_pytest.errors import CassetteError, OptionError, ReportError
from wise_pytest.files import write_whole
from wise_pytest.records import Row
from wise_pytest.report.kinds import NAMES, ReportKind, kinds_of_a_run, parse_report_option
from wise_pytest.report.markdown import render_markdown
from wise_pytest.report.writer import STEP_SUMMARY_BYTES, append_step_summary, write_report

DOCUMENT = {
    "panels": {"p": {"models": ["m\ud83d"], "by_model": {"m\ud83d": {"summary": {"gap": 0.5}}}}},
    "gate": {"status": "pass", "checks": []},
}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


class TestWriteWhole:
    def test_bytes_are_utf8_with_the_line_ends_given(self, tmp_path):
        path = write_whole(tmp_path / "new" / "folder" / "f.md", "é\n日本\n\ud83d\n")
        assert path.read_bytes() == b"\xc3\xa9\n\xe6\x97\xa5\xe6\x9c\xac\n\\ud83d\n"
        assert names(path.parent) == ["f.md"]

    def test_replaces_an_earlier_file(self, tmp_path):
        path = tmp_path / "f"
        path.write_text("a much longer text than the new one")
        write_whole(path, "new")
        assert path.read_text() == "new"

    @pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
    def test_others_may_read_what_the_umask_lets_them(self, tmp_path):
        before = os.umask(0o022)
        try:
            path = write_whole(tmp_path / "f", "x")
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o644

    def test_a_folder_in_its_place_stays(self, tmp_path):
        folder = tmp_path / "audit.md"
        folder.mkdir()
        (folder / "kept").write_text("x")
        with pytest.raises(ReportError, match=r"audit\.md: cannot be written: it is a folder"):
            write_whole(folder, "new")
        assert names(tmp_path) == ["audit.md"]
        assert names(folder) == ["kept"]

    def test_a_file_as_parent(self, tmp_path):
        (tmp_path / "file").write_text("kept")
        with pytest.raises(ReportError) as caught:
            write_whole(tmp_path / "file" / "audit.md", "new")
        assert str(caught.value).startswith(f"{tmp_path / 'file' / 'audit.md'}: cannot be written: ")
        assert (tmp_path / "file").read_text() == "kept"

    def test_a_failed_replacement_leaves_the_earlier_file_and_no_draft(self, tmp_path, monkeypatch):
        path = tmp_path / "f"
        path.write_text("earlier")

        def refuse(_self, target):
            raise PermissionError(13, "Permission denied", str(target))

        monkeypatch.setattr(Path, "replace", refuse)
        with pytest.raises(CassetteError, match=r"f: cannot be written: Permission denied$"):
            write_whole(path, "new", error=CassetteError)
        assert path.read_text() == "earlier"
        assert names(tmp_path) == ["f"]

    def test_an_interrupted_write_leaves_no_draft(self, tmp_path, monkeypatch):
        def interrupt(_self, _target):
            raise KeyboardInterrupt

        monkeypatch.setattr(Path, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_whole(tmp_path / "f", "new")
        assert names(tmp_path) == []

    @pytest.mark.parametrize("name", ["a\0b", "a\ud83d"])
    def test_a_path_that_cannot_exist(self, tmp_path, name):
        with pytest.raises(ReportError, match="cannot be written"):
            write_whole(tmp_path / name, "new")

    @pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
    def test_a_link_is_followed(self, tmp_path):
        (tmp_path / "real").write_text("earlier")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        write_whole(tmp_path / "link", "new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_text() == "new"

    @pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in the file system there")
    def test_a_pipe_is_written_to_and_not_replaced(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            write_whole(pipe, "new")
            assert os.read(reader, 100) == b"new"
        finally:
            os.close(reader)
        assert stat.S_ISFIFO(pipe.stat().st_mode)


class TestWriteReport:
    def test_every_kind_in_its_place(self, tmp_path):
        kinds = [ReportKind("json"), ReportKind("markdown"), ReportKind("csv")]
        assert write_report(DOCUMENT, tmp_path / "run", kinds, json_text='{"given": 1}\n') == [
            tmp_path / "run" / "audit.json",
            tmp_path / "run" / "audit.md",
            tmp_path / "run" / "tables",
        ]
        assert (tmp_path / "run" / "audit.json").read_bytes() == b'{"given": 1}\n'
        assert (tmp_path / "run" / "audit.md").read_text("utf-8").startswith("# WISE audit – PASS\n")
        assert r"p,m\ud83d,,,,,,,0.5," in (tmp_path / "run" / "tables" / "models.csv").read_text("utf-8")

    def test_a_path_of_its_own(self, tmp_path):
        write_report(
            DOCUMENT, tmp_path / "run", [ReportKind("markdown", tmp_path / "copy.md")], json_text="{}\n"
        )
        assert names(tmp_path) == ["copy.md"]

    def test_a_failure_names_the_path_and_keeps_what_was_there(self, tmp_path):
        (tmp_path / "audit.md").mkdir()
        (tmp_path / "audit.json").write_text("earlier")
        with pytest.raises(ReportError, match=r"audit\.md"):
            write_report(DOCUMENT, tmp_path, [ReportKind("markdown"), ReportKind("json")], json_text="{}\n")
        assert (tmp_path / "audit.json").read_text() == "earlier"


class TestStepSummary:
    TEXT = "# WISE audit – FAIL: 1 of 2 checks\n\n" + "日本語\n" * 200_000

    def test_without_the_variable_there_is_nothing_to_say(self):
        assert append_step_summary({}, self.TEXT) is None
        assert append_step_summary({"GITHUB_STEP_SUMMARY": ""}, self.TEXT) is None

    def test_appends_after_what_is_there(self, tmp_path):
        path = tmp_path / "summary"
        path.write_text("earlier")
        environ = {"GITHUB_STEP_SUMMARY": str(path)}
        assert append_step_summary(environ, "# é\ud83d\n") == f"step summary: added to {path}"
        assert path.read_text("utf-8") == "earlier\n# é\\ud83d\n"

    @pytest.mark.parametrize("held", [0, 1_000, STEP_SUMMARY_BYTES - 1_000])
    def test_the_cap_counts_what_is_there(self, tmp_path, held):
        path = tmp_path / "summary"
        path.write_bytes(b"x" * held)
        said = append_step_summary({"GITHUB_STEP_SUMMARY": str(path)}, self.TEXT)
        assert said == f"step summary: added to {path}, cut to fit its limit of 1 MiB"
        content = path.read_bytes()
        assert STEP_SUMMARY_BYTES - 20 < len(content) <= STEP_SUMMARY_BYTES
        added = content[held:].decode("utf-8").lstrip("\n")
        assert added.startswith("# WISE audit – FAIL: 1 of 2 checks\n")
        assert added.endswith("the run's own files have them all.*\n")

    @pytest.mark.parametrize("left", [-10, 0, 1, 20])
    def test_no_room_for_the_verdict_adds_nothing(self, tmp_path, left):
        path = tmp_path / "summary"
        path.write_bytes(b"x" * (STEP_SUMMARY_BYTES - left))
        said = append_step_summary({"GITHUB_STEP_SUMMARY": str(path)}, self.TEXT)
        assert said == f"step summary: {path} has no room left, nothing was added"
        assert path.stat().st_size == STEP_SUMMARY_BYTES - left

    @pytest.mark.parametrize("name", ["", "missing/summary", "a\0b"])
    def test_a_failure_is_a_note(self, tmp_path, name):
        said = append_step_summary({"GITHUB_STEP_SUMMARY": f"{tmp_path}/{name}"}, self.TEXT)
        assert said is not None
        assert "cannot be written" in said

    def test_20000_failing_rows_in_other_scripts_leave_a_page_that_can_be_read(self, tmp_path):
        rows = [
            Row(
                panel=f"パネル{panel}",
                model=f"模型{number % 400:03}",
                provider="供給",
                item=f"項目{number // 400}",
                form="否定",
                repetition=1,
                compliant=False,
                text="日本語の長い答え" * 20,
                direction="超過",
            )
            for panel in range(2)
            for number in range(10_000)
        ]
        text = render_markdown(to_document(build_audit(table_of(rows), replicates=0)))
        path = tmp_path / "summary.md"
        held = b"x" * (STEP_SUMMARY_BYTES - 20_000)
        path.write_bytes(held)
        said = append_step_summary({"GITHUB_STEP_SUMMARY": str(path)}, text)
        assert said is not None
        assert "cut to fit" in said
        content = path.read_bytes()
        assert STEP_SUMMARY_BYTES - 500 < len(content) <= STEP_SUMMARY_BYTES
        added = content.removeprefix(held).decode("utf-8")
        assert added.startswith("\n# WISE audit – NOT EVALUATED")
        assert "lines are left out here" in added.splitlines()[-1]


class TestReportOption:
    @pytest.mark.parametrize(
        ("asked", "written"),
        [
            ([], ["markdown", "json", "html", "csv", "svg"]),
            (["markdown"], ["markdown", "json"]),
            (["png"], ["markdown", "json", "html", "csv", "svg", "png"]),
            (["html", "comment"], ["json", "html", "comment"]),
            (["html:elsewhere.html"], ["markdown", "json", "html", "csv", "svg"]),
            (list(NAMES), list(NAMES)),
        ],
    )
    def test_what_goes_into_the_folder_of_a_run(self, asked, written):
        found = kinds_of_a_run([parse_report_option(text) for text in asked])
        assert [kind.kind for kind in found] == written
        assert all(kind.path is None for kind in found)

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("markdown", ReportKind("markdown")),
            ("json:out/audit.json", ReportKind("json", Path("out/audit.json"))),
            (r"csv:C:\reports\tables", ReportKind("csv", Path(r"C:\reports\tables"))),
            ("markdown:a:b.md", ReportKind("markdown", Path("a:b.md"))),
        ],
    )
    def test_kind_and_path(self, text, kind):
        assert parse_report_option(text) == kind

    def test_a_home_folder_is_expanded(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        assert parse_report_option("json:~/a.json") == ReportKind("json", tmp_path / "a.json")

    @pytest.mark.parametrize("text", ["pdf", "pdf:x", "", r"C:\reports\audit.md", "Markdown"])
    def test_an_unknown_kind_names_those_that_exist(self, text):
        with pytest.raises(
            OptionError, match=r"there is no kind .* one of markdown, json, html, csv, svg, png, comment$"
        ):
            parse_report_option(text)

    def test_a_colon_without_a_path(self):
        with pytest.raises(OptionError, match="a path must follow the colon"):
            parse_report_option("json:")
