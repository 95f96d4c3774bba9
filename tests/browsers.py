"""Pages of Studio in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil

WAIT = 120_000  # milliseconds: a busy machine is slow, not wrong
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None
)


def opened(context, server, view: str = ""):
    page = context.new_page()
    page.goto(server.url)
    page.wait_for_selector("body[data-ready]")
    if view:
        page.goto(f"http://127.0.0.1:{server.port}/#/{view}")
    return page
