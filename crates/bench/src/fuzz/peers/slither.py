#!/usr/bin/env python3
"""Slither as Echidna 2.0.2 expects it: functions with assertions are a list there, and a map since slither 0.11.

What slither says of a contract is kept in the folder from which it is asked, so that each run does not wait for it again.
"""

import json
import pathlib
import subprocess
import sys

KEPT = pathlib.Path("slither.json")


def main() -> None:
    if not KEPT.exists():
        command = [sys.executable, "-m", "slither", *sys.argv[1:]]
        # Its exit code counts its findings.
        KEPT.write_text(older(subprocess.run(command, capture_output=True, text=True).stdout))
    print(KEPT.read_text())


def older(text: str) -> str:
    answer = json.loads(text)
    for printer in answer["results"]["printers"]:
        known = json.loads(printer["description"])
        known["assert"] = {contract: list(functions) for contract, functions in known["assert"].items()}
        printer["description"] = json.dumps(known)
    return json.dumps(answer)


main()
