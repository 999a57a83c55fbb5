"""The picture of docs/tracking-server.md: `radrl ui` of a project whose record has the arms.

    python tools/ui_screenshot.py FOLDER docs/mlflow_ui.png

Needs Debian's chromium and playwright (the extra `test`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/helpers"))

import browser

PORT = 5098


def main(project: Path, picture: Path) -> None:
    program = "from radrl.commands.main import main; main()"
    words = [sys.executable, "-c", program, "ui", "--port", str(PORT), "--no-open"]
    with subprocess.Popen(words, cwd=project, stdout=subprocess.PIPE, text=True) as ui:
        assert ui.stdout
        address = ui.stdout.readline().split()[1]
        try:
            browser.wait(f"http://127.0.0.1:{PORT}/health")
            with browser.started() as one, browser.visit(one, 1680, 760) as opened:
                opened.page.goto(address)
                opened.page.get_by_text("matching runs").first.wait_for(timeout=90_000)
                opened.page.evaluate("localStorage.clear()")
                for label in ("Close", "close"):
                    for button in opened.page.get_by_role("button", name=label).all():
                        button.click()
                opened.page.wait_for_timeout(1500)
                opened.page.screenshot(path=picture)
        finally:
            ui.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
