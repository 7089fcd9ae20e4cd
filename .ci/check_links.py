#!/usr/bin/env python3
"""Checks the relative links and anchors of README.md, CHANGELOG.md and docs/**/*.md, without a network.

    .ci/check_links.py

A link must lead to a file of the repository, and its anchor to a heading of that page. Every page of docs/ must be in
docs/SUMMARY.md. Links to other sites are not opened.
"""

import re
import sys
import unicodedata
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^ {0,3}(```|~~~)")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]*)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)")
HTML = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"", re.I)
HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*$")
HTML_ANCHOR = re.compile(r"<a\b[^>]*?\b(?:id|name)=\"([^\"]+)\"", re.I)
OUTSIDE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.I)
# Files that other changes add; a link to one of them may lead nowhere until then.
EXPECTED = {"CONTRIBUTING.md", "CITATION.cff", "ARCHITECTURE.md"}


def lines_of(path):
    """The lines of a page with their numbers, without fenced code blocks."""
    fence = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = FENCE.match(line)
        if mark and fence in (None, mark[1]):
            fence = None if fence else mark[1]
        elif not fence:
            yield number, line


def slug(heading):
    """The anchor of a heading, as GitHub and mdBook make it."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    text = unicodedata.normalize("NFC", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(path):
    """All anchors of a page."""
    anchors, seen = set(), {}
    for _, line in lines_of(path):
        anchors.update(HTML_ANCHOR.findall(line))
        if match := HEADING.match(line):
            name = slug(match[2])
            count = seen.get(name, 0)
            seen[name] = count + 1
            anchors.add(f"{name}-{count}" if count else name)
    return anchors


def targets_of(path):
    """The targets of a page's links with their line numbers."""
    for number, line in lines_of(path):
        line = CODE.sub("", line)
        for pattern in (LINK, REFERENCE, HTML):
            for target in pattern.findall(line):
                yield number, target


def fault_of(page, target):
    """What is wrong with a link, or None."""
    file, _, anchor = target.partition("#")
    path = page if not file else (page.parent / unquote(file)).resolve()
    if not path.is_relative_to(ROOT):
        return "leads out of the repository"
    name = path.relative_to(ROOT).as_posix()
    if not path.exists():
        return None if name in EXPECTED else "no such file"
    if anchor and path.suffix == ".md" and unquote(anchor) not in anchors_of(path):
        return f"no heading with the anchor #{anchor}"
    return None


def main():
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    faults, num_links, in_summary = [], 0, set()
    summary = ROOT / "docs" / "SUMMARY.md"
    for page in pages:
        for number, target in targets_of(page):
            if not target or OUTSIDE.match(target):
                continue
            num_links += 1
            if page == summary:
                in_summary.add((page.parent / target.partition("#")[0]).resolve())
            if fault := fault_of(page, target):
                faults.append(f"{page.relative_to(ROOT)}:{number}: {target}: {fault}")
    for page in pages[2:]:
        if page != summary and page.resolve() not in in_summary:
            faults.append(f"{page.relative_to(ROOT)}: not in docs/SUMMARY.md")
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    print(f"{num_links} relative links on {len(pages)} pages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
