from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from cfl_cli.cluster import CONTENT, checked_link

PAGES = {"with": (200, b'{"Workers": "/workers"}'), "without": (200, b"{}"), "none": (404, b"")}


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        _, folder, name = self.path.split("/")
        code, content = PAGES[folder]
        self.send_response(code if name == CONTENT else 500)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    with HTTPServer(("127.0.0.1", 0), Pages) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_page_that_has_something_to_show_is_linked(site):
    assert checked_link(f"{site}/with/status") == f"{site}/with/status"


@pytest.mark.parametrize("folder", ["without", "none"])
def test_a_page_that_has_nothing_or_is_not_there_is_not(site, folder):
    assert checked_link(f"{site}/{folder}/status") == ""


@pytest.mark.parametrize("link", [None, "", "http://127.0.0.1:1/status", "file:///etc/status"])
def test_nothing_that_is_no_page_is_linked(link):
    assert checked_link(link) == ""
