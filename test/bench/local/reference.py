"""Embeds texts by Python's onnxruntime, for `npm run bench -- local`: reference.py MODEL TOKENIZER PAD_ID

Reads one JSON document {"texts": [...], "short": "..."} on each line, and prints the times of it as one line of JSON.
"""

import json
import sys
import time

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

BATCH = 16


def main(model, tokenizer_file, pad_id):
    tokenizer = Tokenizer.from_file(tokenizer_file)
    tokenizer.no_truncation()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    inputs = [each.name for each in session.get_inputs()]

    def embed(texts):
        encoded = tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda at: -len(encoded[at].ids))
        vectors = [None] * len(texts)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            length = len(encoded[batch[0]].ids)
            ids = np.full((len(batch), length), int(pad_id), np.int64)
            mask = np.zeros_like(ids)
            for row, at in enumerate(batch):
                own = encoded[at].ids
                ids[row, : len(own)] = own
                mask[row, : len(own)] = 1
            feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            states = session.run(None, {name: feeds[name] for name in inputs})[0]
            pooled = (states * mask[:, :, None]).sum(1)
            pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
            for row, at in enumerate(batch):
                vectors[at] = pooled[row]
        return vectors

    for line in sys.stdin:
        task = json.loads(line)
        embed(task["texts"][:BATCH])
        began = time.perf_counter()
        vectors = embed(task["texts"])
        seconds = time.perf_counter() - began
        single = []
        for _ in range(100):
            began = time.perf_counter()
            embed([task["short"]])
            single.append(time.perf_counter() - began)
        first = [round(float(value), 6) for value in vectors[0]]
        print(json.dumps({"seconds": seconds, "p50Ms": sorted(single)[50] * 1e3, "first": first}), flush=True)


main(*sys.argv[1:])
