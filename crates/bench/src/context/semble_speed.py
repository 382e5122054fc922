"""semble on one folder: index it cold, then ask each question. Prints one JSON object."""

import json
import pathlib
import resource
import sys
import time

started = time.perf_counter()

from semble import SembleIndex  # noqa: E402

folder, questions = sys.argv[1], json.load(sys.stdin)
index = SembleIndex.from_path(folder)
index.search(questions[0], top_k=5)
first_answer = time.perf_counter() - started
cpu = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
times = []
for question in questions:
    before = time.perf_counter()
    index.search(question, top_k=5)
    times.append((time.perf_counter() - before) * 1e6)
status = pathlib.Path("/proc/self/status").read_text()
resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
print(json.dumps({
    "firstAnswer": first_answer,
    "cpu": cpu,
    "chunks": len(index.chunks),
    "times": times,
    "residentMb": resident / 1024,
}))
