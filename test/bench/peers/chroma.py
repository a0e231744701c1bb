"""Chroma in this process, for `peers.bench.ts`.

Arguments: file of the vectors, file of the query vectors (float32, row-major), dimensions, number of results.
It prints {"ready": ...} once all vectors are added, then answers each line {"from": i, "to": j} on standard input with
the milliseconds and the rows found of these queries, one query after the other.
"""

import json
import sys
import time

import chromadb
import numpy

vectors_file, queries_file, dimensions, results = sys.argv[1:]
vectors = numpy.fromfile(vectors_file, dtype=numpy.float32).reshape(-1, int(dimensions))
queries = numpy.fromfile(queries_file, dtype=numpy.float32).reshape(-1, int(dimensions))
client = chromadb.EphemeralClient()
collection = client.create_collection("peers", configuration={"hnsw": {"space": "cosine"}})
began = time.perf_counter()
batch = min(5_000, client.get_max_batch_size())
for start in range(0, len(vectors), batch):
    rows = vectors[start : start + batch]
    collection.add(ids=[str(start + row) for row in range(len(rows))], embeddings=rows)
seconds = time.perf_counter() - began
print(json.dumps({"ready": chromadb.__version__, "seconds": seconds}), flush=True)
for line in sys.stdin:
    span = json.loads(line)
    times, found = [], []
    for query in queries[span["from"] : span["to"]]:
        began = time.perf_counter()
        reply = collection.query(query_embeddings=[query], n_results=int(results), include=["distances"])
        times.append((time.perf_counter() - began) * 1000)
        found.append([int(row) for row in reply["ids"][0]])
    print(json.dumps({"times": times, "found": found}), flush=True)
