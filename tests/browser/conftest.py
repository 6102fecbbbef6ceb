"""A real browser, driven by Playwright: Debian's Chromium, which ``.ci/run`` installs."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Error, Page, Request

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Opened:
    """A page in the browser, and what it has done that it should not."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    """Console messages, errors and requests."""
    address: str = ""

    def listen(self) -> None:
        for event, listener in self._listeners.items():
            self.page.on(event, listener)

    def leave(self) -> None:
        """Let the next test have the browser's page, as if nothing had been opened in it."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.goto("about:blank")

    @property
    def _listeners(self) -> dict[Any, Callable[[Any], None]]:
        return {
            "console": self._hear,
            "pageerror": self._hear_error,
            "dialog": self._dismiss,
            "request": self._see,
        }

    def _hear(self, message: ConsoleMessage) -> None:
        self.complaints.append(f"{message.type}: {message.text}")

    def _hear_error(self, error: Error) -> None:
        self.complaints.append(f"error: {error}")

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _see(self, request: Request) -> None:
        if request.url != self.address:
            self.complaints.append(request.url)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("there is no Chromium: install it (apt-get install chromium), or name it in CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright comes with the extra 'dev'")
    with playwright.sync_playwright() as running:
        context = running.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=found,
            headless=True,
            args=list(ARGUMENTS),
            viewport={"width": 1280, "height": 900},
        )
        yield context
        context.close()


@pytest.fixture
def open_page(browser: BrowserContext) -> Iterator[Callable[..., Opened]]:
    """Opens a file from disk; every test ends with nothing to complain about.

    The first that a test opens is opened in the page that the browser has: a new
    page is a new process, whose start takes as long as a test.
    """
    opened: list[Opened] = []

    def open_file(path: Path, *, width: int = 1280, scheme: Any = "light", ready: bool = True) -> Opened:
        page = browser.new_page() if opened else browser.pages[0]
        new = Opened(page, address=path.as_uri())
        opened.append(new)
        new.listen()
        page.emulate_media(media="null", color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(new.address)
        if ready:
            page.wait_for_selector("#browser:not([hidden])")
        return new

    yield open_file
    for one in opened[1:]:
        one.page.close()
    for one in opened[:1]:
        one.leave()
    assert [one.complaints for one in opened if one.complaints] == []
