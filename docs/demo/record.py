#!/usr/bin/env python3
"""Records a terminal session with a real `vouch` binary and writes it as an animated SVG.

usage: python3 docs/demo/record.py PATH-TO-VOUCH > docs/demo/demo.svg

Runs each command of COMMANDS in a temporary project, in a pseudo-terminal, and renders exactly the output that it printed.
Needs only Python 3. Long outputs are cut after MAX_LINES lines, and the cut is marked with an ellipsis.
"""
import html
import os
import pty
import re
import select
import subprocess
import sys
import tempfile

COLUMNS, MAX_LINES = 104, 14
CHAR_WIDTH, LINE_HEIGHT, PADDING = 8.0, 19, 18
COMMANDS = [
    "vouch call read_repo_file path=notes.txt",
    "vouch call read_repo_file path=.env",
    "vouch fuzz --demo --seed 1 --workers 1 --plain",
]
FILES = {"notes.txt": "Refresh tokens rotate on every use.\n", ".env": "API_KEY=hunter2\n"}
COLORS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea"}


def run(command, vouch, project):
    """Returns what the command prints to a terminal of COLUMNS columns, standard output and error together."""
    master, slave = pty.openpty()
    environment = {
        "PATH": os.environ["PATH"], "HOME": project, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": "40",
    }
    arguments = [vouch] + command.split()[1:]
    process = subprocess.Popen(
        arguments, cwd=project, env=environment, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, close_fds=True
    )
    os.close(slave)
    output = b""
    while True:
        ready, _, _ = select.select([master], [], [], 120)
        if not ready:
            process.kill()
            sys.exit(f"failed to record `{command}`: no output for 120 seconds")
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
    process.wait()
    return output.decode("utf-8", "replace")


def screen_lines(text):
    """Returns the lines that stay on the screen: a line rewritten after a carriage return counts once."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-HJKSTfhlsu]", "", text)
    return [line.rsplit("\r", 1)[-1] for line in text.replace("\r\n", "\n").rstrip("\n").split("\n")]


def spans(line):
    """Returns the line as SVG spans, with ANSI colors and bold."""
    out, color, bold = [], None, False
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if match := re.fullmatch(r"\x1b\[([0-9;]*)m", part):
            for code in (int(code or 0) for code in match.group(1).split(";")):
                if code == 0:
                    color, bold = None, False
                elif code == 1:
                    bold = True
                elif code == 39:
                    color = None
                elif code % 60 in COLORS:
                    color = COLORS[code % 60]
        elif part:
            style = (f' fill="{color}"' if color else "") + (' font-weight="bold"' if bold else "")
            out.append(f"<tspan{style}>{html.escape(part)}</tspan>")
    return "".join(out)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    vouch = os.path.abspath(sys.argv[1])
    rows, moment = [], 0.5
    with tempfile.TemporaryDirectory() as project:
        for name, content in FILES.items():
            with open(os.path.join(project, name), "w", encoding="utf-8") as file:
                file.write(content)
        for command in COMMANDS:
            rows.append((f'<tspan fill="#7ee787">$</tspan> {html.escape(command)}', moment))
            moment += 0.8
            lines = screen_lines(run(command, vouch, project))
            if len(lines) > MAX_LINES:
                lines = lines[:MAX_LINES] + ["…"]
            for line in lines:
                visible = re.sub(r"\x1b\[[0-9;]*m", "", line)
                if len(visible) > COLUMNS:
                    line = visible[: COLUMNS - 1] + "…"
                rows.append((spans(line), moment))
                moment += 0.05
            rows.append(("", moment))
            moment += 1.5
    rows = rows[:-1]
    width, height = COLUMNS * CHAR_WIDTH + 2 * PADDING, len(rows) * LINE_HEIGHT + 2 * PADDING
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="vouch in a terminal">')
    print("<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}"
          "@media (prefers-reduced-motion:no-preference){text{animation:show .01s both}}@keyframes show{from{opacity:0}}</style>")
    print(f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>')
    for number, (row, at) in enumerate(rows):
        y = PADDING + (number + 0.8) * LINE_HEIGHT
        if row:
            print(f'<text x="{PADDING}" y="{y:.1f}" xml:space="preserve" style="animation-delay:{at:.2f}s">{row}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
