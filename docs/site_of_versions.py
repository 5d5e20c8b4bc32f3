"""Put the manual that was built beside those of other versions, in a folder that any web server can show.

`python docs/site_of_versions.py FOLDER` copies `_build/html` to `FOLDER/<version>`. It writes `FOLDER/versions.json`,
newest first, from which every page takes its choice of versions, and `FOLDER/index.html`, which leads to the newest
release.
"""

import importlib.metadata
import json
import shutil
import sys
from pathlib import Path

from packaging.version import InvalidVersion, Version

HTML = Path(__file__).resolve().parent / "_build" / "html"
_INDEX = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<link rel="canonical" href="{newest}/index.html">
<title>rmtjax</title>
<p>The manual of the newest release is <a href="{newest}/index.html">here</a>.</p>
"""


def versions(site: Path) -> list[str]:
    """The versions whose manuals are in this folder, newest first."""
    found = {}
    for folder in site.iterdir():
        try:
            found[folder.name] = Version(folder.name)
        except InvalidVersion:
            continue
    return sorted(found, key=found.get, reverse=True)


def add(html: Path, site: Path, version: str) -> None:
    """Add a manual, or replace the one of its version."""
    shutil.rmtree(site / version, ignore_errors=True)
    shutil.copytree(html, site / version, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
    all_versions = versions(site)
    (site / "versions.json").write_text(json.dumps(all_versions) + "\n")
    releases = [each for each in all_versions if not Version(each).is_prerelease]
    (site / "index.html").write_text(_INDEX.format(newest=(releases or all_versions)[0]))


if __name__ == "__main__":
    add(HTML, Path(sys.argv[1]), importlib.metadata.version("rmtjax"))
