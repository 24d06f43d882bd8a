"""What hostile documents cost, and whether a server that is sent some stays responsive.

    python benchmarks/hostile_documents.py [--against OTHER/bin/python] [--seconds 60]

First the CPU time in seconds from the bytes of a document, 9 MB of each pattern, to its text, with
that of its subprocess and without imports. A document that is rejected counts, too. `--against`
measures an older version beside it, and stops it after ten seconds. Then the latency of a server in
milliseconds, idle and while a client posts hostile pages one after the other: in turn, so that
other work on the machine slows both. The exit code is 1 if a limit is passed.
"""

import argparse
import http.client
import io
import itertools
import json
import math
import re
import resource
import statistics
import subprocess
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Iterator

from docx import Document
from openpyxl import Workbook

SIZE = 9_000_000
# Seconds; those of the subprocess, where a library reads; and times the idle latency.
LIMIT, OF_LIBRARIES, TIMES = 2.0, 30.0, 3.0
_STOPPED = 10  # seconds
_PROBE = """
import os, sys
try:
    from readlet.inference.document_files import KINDS, document_text
except ImportError:
    from readlet.reading.document_text import KINDS, document_text
data, kind = sys.stdin.buffer.read(), sys.argv[1]
before = os.times()
try:
    document_text(data, kind)
except ValueError:
    pass
print(sum(os.times()[:4]) - sum(before[:4]) if kind in KINDS.values() else "nan")
"""
_PATTERNS = {
    "html": "<a |<a b='|<a b=\"|<x/|<x y=|<a =|<!--|<!---|<![CDATA[|<script|<style |</|<!|<?|"
    "<a b=c |<a/|=|<|<b>|<p>|<p>x|<br>|<h1>x|<table><tr><th>x|<tr><td>x|<th colspan=999>x|&amp;|"
    "&#1|&a|x ",
    "markdown": "# |#|# a #\n|\n|a[|`|x ",
    "text": "x|x |\n|é",
    "csv": 'x,|"|"x",\n|,\n|x\n|x;y,',
}


def office(kind: str, content: str) -> bytes:
    """A file whose body, or sheet, has this content; a small file may unpack to a large one."""
    sound, changed = io.BytesIO(), io.BytesIO()
    (Document() if kind == "docx" else Workbook()).save(sound)
    tag = "w:body" if kind == "docx" else "sheetData"
    with zipfile.ZipFile(sound) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name)
            if name in ("word/document.xml", "xl/worksheets/sheet1.xml"):
                found = re.split(rf"(?s)<{tag}/>|<{tag}>.*</{tag}>", text.decode())
                text = f"<{tag}>{content}</{tag}>".join(found).encode()
            new.writestr(name, text)
    return changed.getvalue()


def pdf(content: bytes, filters: bytes = b"") -> bytes:
    """A page whose content is this stream."""
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R"
        b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>"
    )
    stream = b"<<%s/Length %d>>stream\n%s\nendstream" % (filters, len(content), content)
    first = b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    objects = enumerate((*first, page, stream), 1)
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, one) for number, one in objects)
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>\nstartxref\n0\n%%EOF"


def filled(pattern: str, around: str = "@") -> str:
    return around.replace("@", pattern * (SIZE // len(pattern.encode())))


def documents() -> Iterator[tuple[str, str, bytes]]:
    """Kind, name and bytes of each; archives and PDFs unpack to the size."""
    for kind, patterns in _PATTERNS.items():
        yield from ((kind, repr(one)[1:-1], filled(one).encode()) for one in patterns.split("|"))
    parts = "Content-Type: multipart/mixed; boundary=a\n\n"
    for name, mail in {
        "a long subject": filled("x ", "Subject: @\n\nx"),
        "recipients": filled("a, ", "To: @\n\nx"),
        "header lines": filled("A: b\n", "Subject: x\n@\nx"),
        "nested parts": filled(f"--a\n{parts}", f"Subject: x\n{parts}@"),
        "empty parts": filled("--a\n\n", f"Subject: x\n{parts}@"),
        "parameters": filled("a*0*=b;", "Subject: x\nContent-Disposition: x;@\n\nx"),
    }.items():
        yield "eml", name, mail.encode()
    cells = filled("<w:tc><w:p/></w:tc>", "<w:tbl><w:tr>@</w:tr></w:tbl>")
    rows = filled("<w:tr><w:tc><w:p/></w:tc></w:tr>", "<w:tbl>@</w:tbl>")
    yield "docx", "paragraphs", office("docx", filled("<w:p><w:r><w:t>x</w:t></w:r></w:p>"))
    yield "docx", "cells of a row", office("docx", cells)
    yield "docx", "rows", office("docx", rows)
    yield "xlsx", "rows", office("xlsx", filled("<row><c><v>1</v></c></row>"))
    yield "xlsx", "cells of a row", office("xlsx", filled("<c><v>1</v></c>", "<row>@</row>"))
    yield "xlsx", "far cells", office("xlsx", filled('<row><c r="XFD1"><v>1</v></c></row>'))
    shown, packed = filled("BT /F1 9 Tf (x) Tj ET\n").encode(), b"/Filter/FlateDecode"
    yield "pdf", "texts", pdf(shown)
    yield "pdf", "packed texts", pdf(zlib.compress(shown), packed)
    yield "pdf", "packed spaces, 50 times", pdf(zlib.compress(b" " * 50 * SIZE), packed)
    yield "pdf", "saved states", pdf(filled("q ").encode())


def cpu_seconds(python: str, kind: str, data: bytes) -> float:
    """Infinite if it was stopped, nan if this version does not read the kind."""
    stop = (resource.RLIMIT_CPU, (_STOPPED, resource.RLIM_INFINITY))
    command = [python, "-W", "ignore", "-c", _PROBE, kind]
    done = subprocess.run(
        command, input=data, capture_output=True, preexec_fn=lambda: resource.setrlimit(*stop)
    )
    return math.inf if done.returncode < 0 else float(done.stdout)


def send(port: int, path: str, body: bytes = b"", kind: str = "application/json") -> float:
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST" if body else "GET", path, body, {"Content-Type": kind})
    connection.getresponse().read()
    connection.close()
    return 1000 * (time.perf_counter() - began)


def is_responsive(port: int, seconds: float) -> bool:
    """Print the latencies; whether the medians under hostile pages are within the limit."""
    pages = itertools.cycle(filled(pattern).encode() for pattern in ("<a ", "<h1>x", "<p>x"))
    question = json.dumps({"question": "Who lit it?", "passage": "Ada lit the lamp. " * 10})
    requests = {"/health": b"", "/answer": question.encode()}
    times: dict[str, dict[bool, list[float]]] = {path: {False: [], True: []} for path in requests}
    is_hostile, is_over, posts = threading.Event(), threading.Event(), []

    def post() -> None:
        while not is_over.is_set():
            if is_hostile.wait(0.1):
                posts.append(send(port, "/text?kind=html", next(pages), "text/html"))

    sender = threading.Thread(target=post)
    sender.start()
    for turn in range(7):  # the first warms up
        (is_hostile.set if turn and turn % 2 == 0 else is_hostile.clear)()
        time.sleep(3)  # until the page that was posted last has been read
        end = time.monotonic() + seconds / 6
        while time.monotonic() < end:
            for path, body in requests.items():
                taken = send(port, path, body)
                times[path][is_hostile.is_set()] += [taken] * bool(turn)
    is_over.set()
    sender.join()
    print(f"| ms, {len(posts)} pages posted | idle | under hostile pages | ratio |")
    print("|---|--:|--:|--:|")
    ratios = []
    for path, name in itertools.product(requests, ("median", "worst")):
        part = statistics.median if name == "median" else max
        idle, loaded = part(times[path][False]), part(times[path][True])
        ratios += [loaded / idle] * (name == "median")
        print(f"| `{path}`, {name} | {idle:.1f} | {loaded:.1f} | {loaded / idle:.1f} |")
    return max(ratios) <= TIMES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", default="", help="the Python of an older version")
    parser.add_argument("--seconds", type=float, default=60.0, help="of measuring latency")
    options = parser.parse_args()
    command = [sys.executable, "-m", "readlet", "serve", "bundled", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/", server.stderr.readline())):
            pass
        is_within = is_responsive(int(found[1]), options.seconds)
        server.terminate()
    pythons = [options.against] * bool(options.against) + [sys.executable]
    print(f"\n| kind | 9 MB of |{' before |' * (len(pythons) - 1)} now |")
    print(f"|---|---|{'--:|' * len(pythons)}")
    for kind, name, data in documents():
        measured = [cpu_seconds(python, kind, data) for python in pythons]
        shown = [f"> {_STOPPED} s" if s == math.inf else f"{s:.2f} s" for s in measured]
        print(f"| {kind} | `{name}` | {' | '.join(shown)} |".replace("nan s", "-"), flush=True)
        is_within &= measured[-1] <= (LIMIT if kind in _PATTERNS else OF_LIBRARIES)
    sys.exit(0 if is_within else 1)


if __name__ == "__main__":
    main()
