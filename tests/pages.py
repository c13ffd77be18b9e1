"""What is asked of every page that neurofs writes, by tests and by hand.

    python -m tests.pages reports/*/report.html --out looks

opens each page in Debian's Chromium, light and dark, as wide as a screen and as a phone; prints what is wrong (text
that overlaps, what runs out of the window, violations of accessibility, messages on the console, requests), how long
it is and how many words; and leaves pictures of the first screen and of the whole page to be looked at.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")

SCREENS = {1280: 800, 400: 860}
"""Widths at which pages are looked at, and the height of such a screen."""

SCHEMES = ("light", "dark")

OVERLAPS = """() => {
  const boxes = [];
  const clip = (box, element) => {
    let { left, top, right, bottom } = box;
    for (let e = element; e; e = e.parentElement) {
      if (!/auto|hidden|scroll/.test(getComputedStyle(e).overflow + getComputedStyle(e).overflowX)) continue;
      const o = e.getBoundingClientRect();
      left = Math.max(left, o.left); right = Math.min(right, o.right);
      top = Math.max(top, o.top); bottom = Math.min(bottom, o.bottom);
    }
    return { left, top, right, bottom };
  };
  const walker = document.createTreeWalker(document.querySelector(".page"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || !parent.checkVisibility()) continue;
    if (parent.closest("script, style, .hidden, option")) continue;
    if (parent.closest("thead")) continue;   // sticky heads lie above their own rows by design
    const svg = parent.closest("svg") !== null;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of svg ? [parent.getBoundingClientRect()] : range.getClientRects()) {
      const box = clip(rect, parent), slack = svg ? 0.18 * (box.bottom - box.top) : 1;
      if (box.right - box.left < 1 || box.bottom - box.top < 1) continue;
      boxes.push({ text: node.textContent.trim().slice(0, 60), node: parent, left: box.left + 1,
        right: box.right - 1, top: box.top + slack, bottom: box.bottom - slack });
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  const found = [];
  for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) {
    if (b.top >= a.bottom) break;
    if (a.node !== b.node && a.left < b.right && b.left < a.right) found.push([a.text, b.text]);
  }
  const wide = Array.from(document.querySelectorAll(".page *")).filter((e) => {
    if (!e.checkVisibility()) return false;
    const r = clip(e.getBoundingClientRect(), e.parentElement);
    return r.right - r.left > 1 && r.right > innerWidth + 1;
  }).map((e) => e.tagName + " " + e.textContent.slice(0, 40));
  const overflow = document.documentElement.scrollWidth - innerWidth;
  return { overlaps: found.slice(0, 5), wide: wide.slice(0, 5), overflow, boxes: boxes.length };
}"""

WORDS = """() => {
  document.querySelectorAll("details").forEach((d) => d.open = true);
  const other = "td, th, svg, option, pre:not(.prose), .skip, script, style";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let n = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest(other) || !node.parentElement.checkVisibility()) continue;
    n += node.textContent.split(/\\s+/).filter(Boolean).length;
  }
  return n;
}"""
"""All that stands between spaces with every fold open: words, numbers, signs and formulas of headings, sentences,
captions, legends, buttons and the methods text. Left out are cells of tables, labels inside drawings, choices of a
menu, and what is copied into other programs (BibTeX, run.toml, commands)."""


def check_layout(page) -> None:
    """Check that nothing overlaps or runs out of the window."""
    assert find_faults(page) == []


def find_faults(page) -> list[str]:
    """Return what overlaps, is wider than the window, or stands beyond its edge."""
    found = page.evaluate(OVERLAPS)
    overflow = [f"{found['overflow']} px wider than the window"] * (found["overflow"] > 0)
    empty = ["hardly any text"] * (found["boxes"] <= 20)
    cut = [f"beyond the edge: {text}" for text in found["wide"]]
    return [*empty, *overflow, *cut, *(f"overlap: {one!r} and {other!r}" for one, other in found["overlaps"])]


def find_violations(page) -> list[str]:
    """Return the serious violations of accessibility that axe finds."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found if v["impact"] in ("serious", "critical")]


def open_all(page) -> None:
    """Open every fold."""
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")


def watch(page) -> list[str]:
    """Return a list that will hold what the browser complains about, and what is asked of the network."""
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: complaints.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
    return complaints


# By hand


@contextmanager
def start_browser() -> Iterator:
    """Run Chromium for as long as it is needed."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"], timeout=300_000)
        yield running
        running.close()


def look_at(browser, path: Path, out: Path | None, name: str) -> list[str]:
    """Open a page at every width, in light and dark; print its size, and return what is wrong with it."""
    problems = []
    for width, height in SCREENS.items():
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
            )
            page = context.new_page()
            complaints = watch(page)
            page.goto(path.resolve().as_uri())
            screens = page.evaluate("document.documentElement.scrollHeight") / height
            if out is not None:
                page.screenshot(path=out / f"{name}-{width}-{scheme}-first.png")
                page.screenshot(path=out / f"{name}-{width}-{scheme}-whole.png", full_page=True)
            found = find_faults(page)
            words = page.evaluate(WORDS)  # opens all folds
            found += [f"open: {fault}" for fault in find_faults(page)] + find_violations(page) + complaints
            problems += [f"{width} px, {scheme}: {problem}" for problem in found]
            context.close()
        print(f"  {width} px: {screens:.1f} screens folded, {words:,} words open")
    return problems


def main() -> int:
    """Look at the pages that are named, and return 1 if something is wrong with one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE")
    parser.add_argument("--out", type=Path, help="where pictures go; none are made by default")
    given = parser.parse_args()
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    failed = False
    with start_browser() as browser:
        for path in given.pages:
            print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
            problems = look_at(browser, path, given.out, path.resolve().parent.name)
            print("".join(f"  {problem}\n" for problem in problems) or "  nothing wrong")
            failed |= bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
