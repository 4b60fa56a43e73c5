#!/usr/bin/env python3
"""Writes the licences and copyright notices of what the program has of others.

    shipping/notices.py BUILD_FOLDER FILE

Of libraries and headers they are what Debian's packages bring, of the viewer's page what its npm packages bring.
"""

import pathlib
import sys

from parts import debian_packages, headers_read, linked_archives, packages_of_the_page


def notices(build):
    """Each text with the names of all that it belongs to."""
    texts = {}
    for package in sorted(debian_packages([*linked_archives(build), *headers_read(build)])):
        name = package.split(":")[0]
        text = pathlib.Path("/usr/share/doc", name, "copyright").read_text(errors="replace")
        texts.setdefault(text, []).append(name)
    for folder in packages_of_the_page():
        for file in sorted(folder.glob("LICEN[SC]E*")):
            texts.setdefault(file.read_text(), []).append(folder.name)
    return texts


def main():
    if len(sys.argv) != 3 or not (pathlib.Path(sys.argv[1]) / "build.ninja").exists():
        sys.exit("usage: shipping/notices.py BUILD_FOLDER FILE   (a folder in which Ninja has built castscope)")
    rule = "=" * 80
    text = ("castscope is free software under the Apache License 2.0. It contains work of others, under the licences"
            " below.\n")
    for notice, names in notices(pathlib.Path(sys.argv[1])).items():
        text += f"\n{rule}\n{', '.join(names)}\n{rule}\n\n{notice.strip()}\n"
    pathlib.Path(sys.argv[2]).write_text(text)


if __name__ == "__main__":
    main()
