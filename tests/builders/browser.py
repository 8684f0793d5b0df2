"""Debian's Chromium, driven by selenium, and axe-core, which looks for barriers.

Nothing is fetched while tests run: chromium, chromedriver and axe-core must be there already.
"""

import base64
import json
import os
import tempfile
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from shutil import which

from builders.axe import place

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root needs it
    *("--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run"),
    "--disable-background-networking",
    *("--disable-component-update", "--disable-sync", "--force-color-profile=srgb"),
    "--hide-scrollbars",
)
TALLEST = 16_000  # of a screenshot


def lacking():
    """What there is to install before pages can be opened; nothing: all is there."""
    missing = [name for name in ("chromium", "chromedriver") if which(name) is None]
    if place() is None:
        missing.append("axe-core (python tests/builders/axe.py)")
    return ", ".join(missing)


class Browser:
    def __init__(self, driver):
        self.driver = driver

    def cdp(self, command, **settings):
        return self.driver.execute_cdp_cmd(command, settings)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def look(self, *, width=1000, height=800, dark=False, printed=False, scripts=True):
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = "dark" if dark else "light"
        self.cdp(
            "Emulation.setEmulatedMedia",
            media="print" if printed else "",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.cdp("Emulation.setScriptExecutionDisabled", value=not scripts)

    def open(self, path, **how):
        self.look(**how)
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(Path(path).resolve().as_uri())

    def requests(self):
        events = [
            json.loads(one["message"])["message"] for one in self.driver.get_log("performance")
        ]
        return [
            one["params"]["request"]["url"]
            for one in events
            if one["method"] == "Network.requestWillBeSent"
        ]

    def console(self):
        return [one["message"] for one in self.driver.get_log("browser")]

    def pdf(self, **how):
        from pypdf import PdfReader

        made = self.cdp("Page.printToPDF", printBackground=True, **how)
        return PdfReader(BytesIO(base64.b64decode(made["data"])))

    def barriers(self):
        """What axe-core finds: violations, and what it could not decide, by rule."""
        self.run(_axe())
        assert self.run("return typeof axe") == "object"
        self.driver.set_script_timeout(60)
        return self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, {resultTypes: ['violations', 'incomplete']}).then((found) => done({"
            "violations: found.violations.map((one) =>"
            " [one.id, one.nodes.map((node) => node.html.slice(0, 200))]),"
            "incomplete: found.incomplete.map((one) =>"
            " [one.id, one.nodes.map((node) => node.html.slice(0, 200))])}));"
        )

    def picture(self, path, *, height=None, place=""):
        width, full, top = self.run(
            "const at = arguments[0] && document.querySelector(arguments[0]);"
            "return [innerWidth, document.documentElement.scrollHeight,"
            " at ? at.getBoundingClientRect().top + scrollY - 16 : 0]",
            place,
        )
        height = min(height or full, TALLEST, full - top)
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
        made = self.cdp("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        Path(path).write_bytes(base64.b64decode(made["data"]))


@cache
def _axe():
    return place().read_text(encoding="utf-8")


@contextmanager
def browser():
    from selenium import webdriver

    os.environ["SE_OFFLINE"] = "true"
    with tempfile.TemporaryDirectory() as home:
        options = webdriver.ChromeOptions()
        options.binary_location = which("chromium")
        for flag in (*FLAGS, f"--user-data-dir={home}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(
            options=options, service=webdriver.ChromeService(which("chromedriver"))
        )
        try:
            yield Browser(driver)
        finally:
            driver.quit()
