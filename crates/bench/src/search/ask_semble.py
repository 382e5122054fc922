"""semble on one folder: the files that it finds for each query, best first. Prints one JSON list for each query."""

import json
import pathlib
import sys

from semble import SembleIndex
from semble.types import ContentType

folder = pathlib.Path(sys.argv[1]).resolve()
asked = json.load(sys.stdin)
index = SembleIndex.from_path(folder, content=ContentType(asked["content"]))
answers = []
for query in asked["queries"]:
    files = []
    for result in index.search(query, top_k=20):
        path = pathlib.Path(result.chunk.file_path)
        name = str(path.relative_to(folder)) if path.is_absolute() else str(path)
        if name not in files:
            files.append(name)
    answers.append(files)
print(json.dumps(answers))
