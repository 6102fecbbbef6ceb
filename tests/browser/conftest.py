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

    from playwright.sync_api import BrowserContext, Page

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
    """Opens a file from disk; every test ends with nothing to complain about."""
    opened: list[Opened] = []

    def open_file(path: Path, *, width: int = 1280, scheme: Any = "light", ready: bool = True) -> Opened:
        page = browser.new_page()
        new = Opened(page)
        opened.append(new)
        page.on("console", lambda message: new.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: new.complaints.append(f"error: {error}"))
        page.on(
            "dialog", lambda dialog: new.complaints.append(f"dialog: {dialog.message}") or dialog.dismiss()
        )
        address = path.as_uri()
        page.on("request", lambda request: request.url == address or new.complaints.append(request.url))
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        if ready:
            page.wait_for_selector("#browser:not([hidden])")
        return new

    yield open_file
    for one in opened:
        one.page.close()
    assert [one.complaints for one in opened if one.complaints] == []
