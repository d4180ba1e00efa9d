"""Opens a report in a headless browser and looks at what is drawn.

usage: look_at_page.py BROWSER PAGE

A screenshot is made of the page as it is. A copy, without the rule against scripts and with one
that measures, says where everything lies: tables have rows, plots their size, texts stay within
their plot and off each other.
"""

import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MEASURE = """<script>
const box = e => { const r = e.getBoundingClientRect();
  return [r.left, r.top, r.right, r.bottom].map(v => Math.round(v * 10) / 10); };
const found = {
  width: document.documentElement.clientWidth, scroll: document.documentElement.scrollWidth,
  tables: [...document.querySelectorAll('table')].map(t => t.rows.length),
  plots: [...document.querySelectorAll('svg[role=img]')].map(s => ({ box: box(s),
    curves: s.querySelectorAll('path').length,
    texts: [...s.querySelectorAll('text')].map(t => [t.textContent, box(t)]) })) };
const out = document.createElement('pre');
out.id = 'found';
out.textContent = JSON.stringify(found);
document.body.append(out);
</script></body>"""
RULE = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def browse(browser, *words):
    with tempfile.TemporaryDirectory() as profile:
        run = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={profile}", "--enable-logging=stderr", *words],
            capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        sys.exit(f"{browser} ended with {run.returncode}: {run.stderr[-500:]}")
    return run


class Found(html.parser.HTMLParser):
    """The text of <pre id="found">."""

    text, inside = "", False

    def handle_starttag(self, tag, attributes):
        self.inside = tag == "pre" and ("id", "found") in attributes

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        self.text += data if self.inside else ""


def touch(a, b):
    return min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 3


def faults(found):
    if found["scroll"] > found["width"]:
        yield f"the page is {found['scroll']} wide in a window of {found['width']}"
    if not found["tables"] or min(found["tables"]) < 2:
        yield f"rows of tables: {found['tables']}"
    if not found["plots"]:
        yield "no plots"
    for number, plot in enumerate(found["plots"]):
        left, top, right, bottom = plot["box"]
        if right - left < 0.4 * min(found["width"], 760) or bottom - top < 100:
            yield f"plot {number} is {right - left} x {bottom - top}"
        if plot["curves"] < 3 or len(plot["texts"]) < 6:
            yield f"plot {number} is empty"
        for i, (text, box) in enumerate(plot["texts"]):
            if box[0] < left - 1 or box[2] > right + 1 or box[1] < top - 1 or box[3] > bottom + 1:
                yield f"plot {number}: '{text}' leaves it: {box} of {plot['box']}"
            for other, place in plot["texts"][:i]:
                if touch(box, place):
                    yield f"plot {number}: '{text}' lies on '{other}'"


def main():
    browser, page = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    text = page.read_text(encoding="utf-8")
    copy = page.with_name("measured.html")
    copy.write_text(RULE.sub("", text).replace("</body>", MEASURE), encoding="utf-8")
    wrong = []
    for width in (1100, 500):
        dom = browse(browser, f"--window-size={width},1400", "--dump-dom", copy.as_uri()).stdout
        parser = Found()
        parser.feed(dom)
        found = json.loads(parser.text)
        wrong += [f"at {width}: {fault}" for fault in faults(found)]
        print(f"{width} wide: {len(found['tables'])} tables, {len(found['plots'])} plots, "
              f"{sum(len(plot['texts']) for plot in found['plots'])} texts")
    picture = page.with_name("page.png")
    run = browse(browser, f"--screenshot={picture}", "--window-size=1100,6000", page.as_uri())
    if "Refused to" in run.stderr or "violates" in run.stderr:
        wrong.append("the page breaks its own rule: " + run.stderr[-500:])
    if not picture.read_bytes().startswith(b"\x89PNG") or picture.stat().st_size < 50_000:
        wrong.append("there is no screenshot")
    if wrong:
        sys.exit("\n".join(wrong))


main()
