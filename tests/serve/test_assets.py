"""The script of report pages: one file, compressed, kept by browsers; pages do not hold it."""

import hashlib
import re

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.page.page import report_page

PAGES = ("/runs/aaa111", "/history?model=resnet.onnx", "/compare?run=aaa111&run=aaa222")


def script_of(text: str) -> str:
    (address,) = re.findall(r'<script src="(/static/[^"]+)"></script>', text)
    return address


def test_served_pages_share_one_script(client) -> None:
    pages = [client.get(address).text for address in PAGES]
    assert len({script_of(text) for text in pages}) == 1
    for text in pages:
        assert len(text) < 300_000
        assert not re.findall(r"<script>", text)


def test_the_script_is_compressed_and_kept(client) -> None:
    address = script_of(client.get("/runs/aaa111").text)
    answer = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 340_000
    assert "immutable" in answer.headers["cache-control"]
    assert hashlib.sha256(answer.content).hexdigest()[:16] in address
    plain = client.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == answer.content
    assert plain.headers["etag"] != answer.headers["etag"]


def test_what_a_browser_has_is_not_sent_again(client) -> None:
    for address in (script_of(client.get("/runs/aaa111").text), "/static/page.css"):
        tag = client.get(address).headers["etag"]
        answer = client.get(address, headers={"If-None-Match": tag})
        assert (answer.status_code, answer.content) == (304, b"")
        assert client.get(address, headers={"If-None-Match": '"other"'}).status_code == 200


def test_scripts_are_of_this_version_or_in_exported_pages(client, store) -> None:
    assert client.get("/static/pages-0123456789abcdef.js").status_code == 404
    page = report_page([RunView(store.load_id("aaa111"))]).decode()
    assert not re.findall(r"<script src=", page)
    assert "&#39;sha256-" in page
    assert len(page) > 800_000


def test_styles_are_whole(client) -> None:
    text = client.get("/static/page.css").text
    assert ':root[data-theme="dark"]' in text
    assert ".pages a[aria-current]" in text
    assert "&" not in text.replace("&:", "")
    assert ".pages a[aria-current]" in client.get("/runs/aaa111").text.partition("<body>")[2]
