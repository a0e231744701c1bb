"""What the peers of `peers.bench.ts` have in common: each is a program that holds vectors and answers queries.

Arguments: folder of the data, number of results. The folder has `vectors.f32` and `queries.f32` (float32, row-major),
`texts.json` and `query-texts.json` (lists of strings), and `shape.json` ({"dimensions": n}). A program prints
{"version", "seconds", "modes", "efforts"} once everything is added, then answers each line
{"mode", "effort", "from", "to"} on standard input with {"times", "found"}: the milliseconds and the rows found of these
queries, one query after the other.
"""

import json
import pathlib
import sys
import time

import numpy


def serve(version, open_peer, efforts=(None,)):
    """Fill a peer and answer queries until standard input ends.

    :param version: function that returns the version, called once the peer is open
    :param open_peer: takes the folder, the vectors [rows, dimensions], the texts and the number of results; returns a
        function for each mode that takes a vector, a text and an effort, and returns rows, best first
    :param efforts: values of the parameter that trades speed for recall, in rising order
    """
    folder, results = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    dimensions = json.loads((folder / "shape.json").read_text())["dimensions"]
    vectors = numpy.fromfile(folder / "vectors.f32", dtype=numpy.float32).reshape(-1, dimensions)
    queries = numpy.fromfile(folder / "queries.f32", dtype=numpy.float32).reshape(-1, dimensions)
    texts = json.loads((folder / "texts.json").read_text())
    query_texts = json.loads((folder / "query-texts.json").read_text())
    began = time.perf_counter()
    modes = open_peer(folder, vectors, texts, results)
    ready = {
        "version": version(),
        "seconds": time.perf_counter() - began,
        "modes": list(modes),
        "efforts": list(efforts),
    }
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        search = modes[asked["mode"]]
        times, found = [], []
        for nth in range(asked["from"], asked["to"]):
            vector, text = queries[nth], query_texts[nth]
            began = time.perf_counter()
            rows = search(vector, text, asked["effort"])
            times.append((time.perf_counter() - began) * 1000)
            found.append([int(row) for row in rows])
        print(json.dumps({"times": times, "found": found}), flush=True)
