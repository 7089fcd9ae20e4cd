#!/usr/bin/env python3
"""Finds wording that is slow to understand, in Markdown pages and in the program's own texts.

    .ci/dialect.py PAGE.md…            Markdown pages; exit code 1 if there are hits
    .ci/dialect.py --strings           string literals of src/**/*.rs (without tests), texts of assets/
    .ci/dialect.py --comments          comments of src/**/*.rs (without tests)
    .ci/dialect.py --help-of PROGRAM   the help of all commands of a built program
    .ci/dialect.py --lengths PAGE.md…  words of a page's sentences: mean, and each sentence above 20

Every hit is printed as FILE:LINE: RULE: TEXT, with a count for each folder at the end. `.ci/dialect-allow.txt` holds
exceptions, one a line: a regular expression, two spaces, "# " and the reason. A hit inside a match of such an expression
does not count.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOW = ROOT / ".ci" / "dialect-allow.txt"

# Name of the rule, expression (a space stands for any white space), what to write.
RULES = [
    ("tell", r"\b(?:tell|tells|told|telling)\b", "report, print, contain, show"),
    ("say", r"\b(?:say|says|said)\b", "report, print, contain, state"),
    ("stand", r"\b(?:stands|stood)\b(?! out\b)|\bstand (?:in|on|at|beside|below|above|under|here|there|for|as)\b", "is, are, lies"),
    ("know", r"\bknows\b|\b(?:files|programs|headers|formats|functions) know\b", "contain, support"),
    ("hear, obey", r"\b(?:hears?|heard|obeys?|obeyed)\b", "receive, handle"),
    ("go on", r"\b(?:go|goes|going|went) on\b", "continue, resume"),
    ("is there", r"\b(?:is|are|was|were) (?:not |still |already )?there\b(?! (?:a|an|any|no|is|are)\b)", "exists, is available"),
    ("come along", r"\b(?:come|comes|came|coming) along\b", "is included"),
    ("cannot be", r"\b(?:cannot|can not) be\b", "state the failure and the remedy"),
    ("nobody", r"\b(?:nobody|whoever|whatever|whichever|wherever)\b", "name the subject"),
    ("so many", r"\b(?:so many|as many as it takes|so much)\b", "a number, N"),
    ("of which", r"\bof (?:which|whom)\b", "two sentences"),
    ("one does", r"\bone (?:sees|must|can|may|reads|meets|does|wants|needs|takes|would|finds)\b", "you, the user, the program"),
    ("relative clause as subject", r"(?:^|[.:;!|]\s+|\n\s*[-*] |\n#+ )(?:What|Whether|How) (?!.{0,120}\?)", "a noun"),
    ("relative clause as subject", r"\bwhat (?:made|is|was|are|were|it|they|the|a|an|there|comes|came|has|had|stands|lies)\b", "a noun"),
    ("Of a", r"(?:^|[.:;!|]\s+)Of (?:a|an|the|several) ", "For a … / subject first"),
    ("by itself", r"\b(?:by (?:itself|themselves)|of (?:its|their) own)\b", "automatically"),
    ("out of proportion", r"\bout of all proportion\b", "out of range"),
    ("let go", r"\b(?:let go|lets go|put away|puts away|kept)\b", "stored, discarded"),
    ("elsewhere", r"\b(?:elsewhere|(?:an|the) ?other machine|machine there)\b", "remote host"),
    ("beside", r"\bbeside\b", "next to, in the same folder"),
    ("break off, take up", r"\btakes? up again\b|\btaken up\b|\bbroken off\b|\bbroke off\b", "resume, abort"),
    ("list of events", r"\blists? of (?:single )?events\b", "list-mode data"),
    ("counts of pairs", r"\bcounts of (?:its )?pairs\b", "crystal-pair histogram"),
    ("counts along lines", r"\bcounts along lines\b", "sinogram, projection data"),
    ("stored matrix", r"\bstored (?:system )?matri(?:x|ces)\b", "system matrix"),
    ("lines per bin", r"\blines per bin\b", "rays per LOR"),
    ("race", r"\b(?:without a race|races? (?:loses?|lost)|(?:a|the) run (?:with|without) a race)\b", "non-atomic, atomic accumulation"),
    ("what made an image", r"\brecord of what\b", "provenance record"),
    ("past", r"\b(?:room for the past|the past)\b", "history"),
    ("start", r"\b(?:next|each|a) start\b(?! (?:image|of|time|button|page))", "next run"),
    ("turned view", r"\bview that can be turned\b", "rotatable view"),
    ("way to add", r"\bways? to (?:add|write)\b", "accumulation"),
    ("per cent", r"\bper cent\b", "%"),
    ("how well pairs count", r"\bhow well\b", "detection efficiency, normalisation"),
]
# (Rules of the beginning of a sentence tell capitals apart.)
COMPILED = [
    (name, re.compile(text, re.M) if "(?:^|" in text else re.compile(text.replace(" ", r"\s+"), re.M | re.I), use)
    for name, text, use in RULES
]


def allowed():
    """The expressions of the allow list."""
    expressions = []
    for number, line in enumerate(ALLOW.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        expression, mark, reason = line.rpartition("  # ")
        if not mark or not reason.strip():
            sys.exit(f"{ALLOW.name}:{number}: expected EXPRESSION, two spaces, '# ' and a reason")
        expressions.append(re.compile(expression.strip()))
    return expressions


def hits_in(text, allow):
    """Rule, place and advice for each hit in a text, in order."""
    spans = [match.span() for expression in allow for match in expression.finditer(text)]
    found = {}
    for name, expression, use in COMPILED:
        for match in expression.finditer(text):
            start = match.start() + len(match[0]) - len(match[0].lstrip(".:;!|#-* \n\t"))
            if not any(first <= start and match.end() <= last for first, last in spans):
                found.setdefault(start, (name, use))
    return sorted((place, name, use) for place, (name, use) in found.items())


def blank(match):
    """White space of the same length and lines."""
    return re.sub(r"[^\n]", " ", match[0])


def prose(markdown):
    """A page without its code, addresses of links and comments; places stay the same."""
    for expression in (r"^ {0,3}(```+|~~~+).*?^ {0,3}\1", r"<!--.*?-->", r"(`+)(?!`).*?(?<!`)\1(?!`)", r"\]\([^)\s]*\)"):
        markdown = re.sub(expression, blank, markdown, flags=re.M | re.S)
    return markdown


def sentences(markdown):
    """The sentences of a page: of paragraphs, list items and quotes, without headings, tables and pictures."""
    text = re.sub(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1[^\n]*$|<!--.*?-->", "\n", markdown, flags=re.M | re.S)
    text = re.sub(r"^\s*(?:#|\||!\[).*$", "\n", text, flags=re.M)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(`+)(?!`)(.*?)(?<!`)\1(?!`)", "code", text, flags=re.S)
    for block in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.)\s+", "\n" + text):
        for sentence in re.split(r"(?<=[.!?])[*)_\"]*\s+(?=[*(_\"]*[A-Z0-9c])", " ".join(block.split())):
            if words := re.findall(r"\S*\w\S*", sentence):
                yield len(words), sentence


def literals(code):
    """Line and text of each string literal of Rust code."""
    token = re.compile(
        r"//[^\n]*|(?P<block>/\*)|(?<!\w)b?r(?P<hashes>#*)\"|b?(?P<plain>\")|'(?:\\(?:u\{[^}]*\}|.)|[^\\'\n])'", re.S
    )
    place = 0
    while match := token.search(code, place):
        place = match.end()
        if match["block"]:
            depth = 1
            while depth and (mark := re.compile(r"/\*|\*/").search(code, place)):
                depth += 1 if mark[0] == "/*" else -1
                place = mark.end()
        elif match["plain"]:
            end = re.compile(r"(?:[^\"\\]|\\.)*\"", re.S).match(code, place)
            if not end:
                return
            yield code.count("\n", 0, place) + 1, re.sub(r"\\\n\s*", "", end[0][:-1])
            place = end.end()
        elif match["hashes"] is not None:
            end = code.find('"' + match["hashes"], place)
            if end < 0:
                return
            yield code.count("\n", 0, place) + 1, code[place:end]
            place = end + 1 + len(match["hashes"])


def comments(code):
    """Line and text of each block of `//` comments that fill lines, code in backquotes blanked."""
    for block in re.finditer(r"(?:^[ \t]*//[^\n]*\n)+", code, re.M):
        # Doc comments of a file, of what follows, and plain comments are blocks of their own.
        for part in re.finditer(r"(?:^[ \t]*(//[/!]?)(?![/!])[^\n]*\n)(?:^[ \t]*\1(?![/!])[^\n]*\n)*", block[0], re.M):
            text = re.sub(r"^[ \t]*//[/!]? ?", "", part[0], flags=re.M)
            yield code.count("\n", 0, block.start() + part.start()) + 1, prose(text)


def rust_code():
    """File and code of src/, without unit tests."""
    tests = set()
    for path in (ROOT / "src").rglob("*.rs"):
        for name in re.findall(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod (\w+);", path.read_text(encoding="utf-8")):
            folder = path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") else path.with_suffix("")
            tests.update({folder / f"{name}.rs", folder / name})
    for path in sorted((ROOT / "src").rglob("*.rs")):
        if path in tests or tests & set(path.parents):
            continue
        yield path, re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", path.read_text(encoding="utf-8"))[0]


def rust_texts():
    """File, line and text of each string literal of src/, and the texts of assets/."""
    for path, code in rust_code():
        for line, text in literals(code):
            # Keys, endings and names have no spaces.
            if " " in text.strip():
                yield path, line, re.sub(r"\{[^{}\n]*\}", "{}", text)
    for path in sorted((ROOT / "assets").rglob("*.md")):
        yield path, 1, prose(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "assets").rglob("*.toml")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for text in re.findall(r'"([^"]*)"', line):
                yield path, number, text


def helps(program, command=()):
    """The help of a program and of all its commands."""
    result = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True)
    yield " ".join([Path(program).name, *command, "--help"]), result.stdout
    listed = re.search(r"^Commands:\n(.*?)\n\n", result.stdout, re.M | re.S)
    for name in re.findall(r"^  ([a-z][\w-]*)", listed[1], re.M) if listed else []:
        if name != "help":
            yield from helps(program, (*command, name))


def main():
    parser = argparse.ArgumentParser(description="Finds wording that is slow to understand.")
    parser.add_argument("pages", nargs="*", type=Path, help="Markdown pages")
    parser.add_argument("--strings", action="store_true", help="string literals of src/ and texts of assets/")
    parser.add_argument("--comments", action="store_true", help="comments of src/")
    parser.add_argument("--help-of", metavar="PROGRAM", help="the help of a built program")
    parser.add_argument("--lengths", action="store_true", help="the lengths of the pages' sentences instead")
    options = parser.parse_args()
    if not (options.pages or options.strings or options.comments or options.help_of):
        parser.error("name pages, --strings, --comments or --help-of PROGRAM")

    if options.lengths:
        for page in options.pages:
            lengths = list(sentences(page.read_text(encoding="utf-8")))
            for words, sentence in lengths:
                if words > 20:
                    print(f"{page}: {words} words: {sentence}")
            total = sum(words for words, _ in lengths)
            print(f"{page}: {len(lengths)} sentences, mean {total / max(1, len(lengths)):.1f} words")
        return 0

    texts = [(page.resolve(), 1, prose(page.read_text(encoding="utf-8"))) for page in options.pages]
    if options.strings:
        texts += rust_texts()
    if options.comments:
        texts += ((path, line, text) for path, code in rust_code() for line, text in comments(code))
    if options.help_of:
        texts += [(name, 1, text) for name, text in helps(options.help_of)]
    allow, counts = allowed(), Counter()
    for path, first_line, text in texts:
        if isinstance(path, Path) and path.is_relative_to(ROOT):
            path = path.relative_to(ROOT)
        for place, name, use in hits_in(text, allow):
            line = first_line + text.count("\n", 0, place)
            excerpt = " ".join(text[max(0, place - 40) : place + 60].split())
            print(f"{path}:{line}: {name} (→ {use}): …{excerpt}…")
            counts["/".join(Path(path).parts[:2]) if isinstance(path, Path) else path] += 1
    for folder, count in sorted(counts.items()):
        print(f"{count:6} {folder}")
    print(f"{sum(counts.values()):6} hits in {len(texts)} texts")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
