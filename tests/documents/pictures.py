"""Makes the pictures of README.md from a real run: the summary as SVG, and the top of the HTML page as PNG, each in
light and in dark. scripts/pictures runs it."""

import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import xml.sax.saxutils
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs/pictures"
JOB = PICTURES / "train.py"
COMMAND = "castscope run -o train -- python train.py"
HOME = "/home/me"  # what pictures show in place of the folder of the run
SCHEMES = ("light", "dark")
COLUMNS, CELL, LINE, FONT, MARGIN = 80, 7.8, 18, 13, 16
PAGE_SIZE = {"width": 1024, "height": 860}
# By the numbers of SGR; None is what has no colour of its own.
COLOURS = {"light": {None: "#1f2328", "31": "#b3261e", "33": "#8a5a00", "34": "#0b57d0", "36": "#0f6c74"},
           "dark": {None: "#e6e9ee", "31": "#ff8a80", "33": "#f2c14e", "34": "#8ab4f8", "36": "#6fd3dc"}}
BACKGROUND = {"light": "#f6f7f9", "dark": "#181c22"}
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def in_terminal(command, folder, environment):
    """What a command prints in a terminal of 80 columns, with its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        printed = b""
        while part := read_or_end(ours):
            printed += part
    os.close(ours)
    if process.returncode != 0:
        sys.exit(f"{command} ended with {process.returncode}:\n{printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


def read_or_end(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def record(folder, castscope):
    """Runs the job; returns what a reader saw in the terminal. The run is in the folder. Paths do not say where."""
    shutil.copy(JOB, folder)
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    environment |= {"TERM": "xterm-256color", "OMP_NUM_THREADS": "1",
                    "PATH": os.pathsep.join([str(pathlib.Path(sys.executable).parent), environment["PATH"]])}
    printed = in_terminal([castscope, *COMMAND.split()[1:]], folder, environment)
    return f"$ {COMMAND}\n" + printed.replace(str(folder), HOME)


def spans_of(line):
    """(column, style, text) of each stretch of a line that has one style, which is the numbers of its SGR sequence."""
    column, style = 0, ""
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if part.startswith("\x1b"):
            style = part[2:-1].removeprefix("0")
        elif part:
            yield column, style, part
            column += len(part)


def svg_of(printed, scheme):
    """A picture of a terminal. Every stretch has its column, since fonts differ in how wide they are."""
    lines = printed.rstrip("\n").split("\n")
    width, height = round(2 * MARGIN + COLUMNS * CELL), 2 * MARGIN + LINE * len(lines)
    picture = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
               f'viewBox="0 0 {width} {height}" font-family="{FONTS}" font-size="{FONT}" '
               f'fill="{COLOURS[scheme][None]}">',
               f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND[scheme]}"/>']
    for number, line in enumerate(lines):
        spans = "".join(span(column, style, text, scheme) for column, style, text in spans_of(line))
        picture.append(f'<text xml:space="preserve" y="{MARGIN + LINE * number + FONT}">{spans}</text>')
    return "\n".join([*picture, "</svg>", ""])


def span(column, style, text, scheme):
    looks = ' font-weight="bold"' if style == "1" else f' fill="{COLOURS[scheme][style]}"' if style else ""
    return (f'<tspan x="{MARGIN + CELL * column:g}" textLength="{CELL * len(text):g}"{looks}>'
            f"{xml.sax.saxutils.escape(text)}</tspan>")


def text_of(svg):
    """The text that a picture shows."""
    lines = re.findall(r"<text [^>]*>(.*?)</text>", svg)
    return "\n".join(xml.sax.saxutils.unescape(re.sub(r"<[^>]*>", "", line)) for line in lines) + "\n"


def without_times(printed):
    """What does not depend on times: without colours, numbers, the list of the costliest casts, what findings save, and
    whether more than one of them is worth mending."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", printed)
    plain = re.sub(r"^costliest casts.*?^$|^ +saves: .*?$", "", plain, flags=re.DOTALL | re.MULTILINE)
    plain = re.sub(r"<?\d([\d.,]*\d)?( ?(ns|µs|ms|s|%)(?!\w))?", "0", plain)
    return " ".join(plain.split()).replace(" first findings ", " findings ")


def page_of(folder, castscope):
    """Writes the HTML page of the run that is in the folder. It does not say on which machine, and where."""
    page = folder / "train.html"
    command = [castscope, "report", "--force", "-f", "html", "-o", page, "train.castscope"]
    subprocess.run(command, cwd=folder, check=True)
    text = page.read_text().replace(f"on {socket.gethostname()}<", "on workstation<")
    page.write_text(text.replace(str(folder), HOME))
    return page


def description_of(folder):
    """What a picture of the page shows, as far as that is known without a browser: the style, the findings."""
    style = re.search(r"sha256-[\w+/=]+", (folder / "train.html").read_text())[0]
    findings = json.loads((folder / "train.json").read_text())["findings"]
    return "\n".join([style, *sorted(f"{finding['rule']}: {finding['title']}" for finding in findings)])


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def described(png, description):
    """The picture with its description in it."""
    after_header = 8 + 25  # the signature and IHDR
    return png[:after_header] + chunk(b"tEXt", b"Description\0" + description.encode("latin-1")) + png[after_header:]


def description_in(png):
    found = re.search(rb"tEXtDescription\0", png)
    (length,) = struct.unpack(">I", png[found.start() - 4:found.start()])
    return png[found.end():found.start() + 4 + length].decode("latin-1")


def photograph(page, description):
    """Pictures of the top of the page."""
    sys.path.append(str(ROOT / "tests/integration"))
    import chromium  # what needs no picture needs no browser
    with chromium.started() as playwright:
        browser = chromium.Chromium(playwright)
        for scheme in SCHEMES:
            shown = browser.open(page.as_uri(), **PAGE_SIZE, scheme=scheme, ready=False)
            (PICTURES / f"page-{scheme}.png").write_bytes(described(shown.screenshot(), description))
        browser.browser.close()
        if browser.complaints:
            sys.exit(f"The page complains: {browser.complaints}")


def main():
    castscope = ROOT / os.environ.get("CASTSCOPE_BUILD", "build") / "castscope"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        printed = record(folder, castscope)
        for scheme in SCHEMES:
            (PICTURES / f"summary-{scheme}.svg").write_text(svg_of(printed, scheme))
        page = page_of(folder, castscope)
        photograph(page, description_of(folder))


if __name__ == "__main__":
    main()
