"""Writes what Debian expects beside the program: the copyright file and the changelog.

Usage: debian_texts.py VERSION FOLDER
"""

import re
import sys
from email.utils import formatdate
from pathlib import Path

MAINTAINER = "The tomoscope developers <nobody@localhost>"


def indented(text: str) -> str:
    """Lines of a license field: one space before each, a full stop for an empty one."""
    return "\n".join(f" {line}" if line.strip() else " ." for line in text.strip().splitlines())


def main(version: str, folder: Path) -> None:
    mit, apache = (Path(name).read_text(encoding="utf-8") for name in ("LICENSE-MIT", "LICENSE-APACHE"))
    year = re.search(r"20\d\d", mit)
    assert year, "LICENSE-MIT names no year"
    (folder / "copyright").write_text(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: tomoscope\n"
        "Comment: The licences of the libraries in the program are in THIRD-PARTY-LICENSES.txt.\n\n"
        f"Files: *\nCopyright: {year[0]} The tomoscope developers\nLicense: Expat or Apache-2.0\n\n"
        f"License: Expat\n{indented(mit)}\n\n"
        "License: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n",
        encoding="utf-8",
    )
    assert "Version 2.0" in apache, "LICENSE-APACHE is another license"
    (folder / "changelog").write_text(
        f"tomoscope ({version}) unstable; urgency=medium\n\n  * See /usr/share/doc/tomoscope/CHANGELOG.md.\n\n"
        f" -- {MAINTAINER}  {formatdate()}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
