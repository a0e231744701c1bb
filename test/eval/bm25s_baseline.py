"""Measure bm25s on a judged set, as a baseline of `npm run eval -- search`.

Usage: bm25s_baseline.py DIRECTORY ANALYSIS
ANALYSIS is a language of Snowball, such as `german`, or the length of character n-grams, such as `3`.
Prints nDCG@10 as JSON.
"""

import json
import math
import os
import sys
import unicodedata

import bm25s
import Stemmer

TOP = 10
STOP_WORDS = {"english": "en", "german": "de", "dutch": "nl", "french": "fr", "spanish": "es", "portuguese": "pt",
              "italian": "it", "russian": "ru", "swedish": "sv", "norwegian": "no", "turkish": "tr"}


def read_lines(directory, name):
    with open(os.path.join(directory, name), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def read_relevant(directory):
    relevant = {}
    with open(os.path.join(directory, "qrels.tsv"), encoding="utf-8") as lines:
        for line in lines:
            query, document, gain = line.rstrip("\n").split("\t")[:3]
            if float(gain) > 0:
                relevant.setdefault(query, set()).add(document)
    return relevant


def grams_of(text, length):
    text = unicodedata.normalize("NFC", text).lower()
    # A mark belongs to its letter: in Thai, vowels are marks.
    words = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text).split()
    return [word[at:at + length] for word in words for at in range(max(1, len(word) - length + 1))]


def tokenize(texts, analysis):
    if analysis.isdigit():
        return [grams_of(text, int(analysis)) for text in texts]
    return bm25s.tokenize(texts, stopwords=STOP_WORDS.get(analysis), stemmer=Stemmer.Stemmer(analysis),
                          return_ids=False, show_progress=False)


def main(directory, analysis):
    documents = read_lines(directory, "docs.jsonl")
    relevant = read_relevant(directory)
    queries = [query for query in read_lines(directory, "queries.jsonl") if query["id"] in relevant]
    texts = tokenize([f"{document['title']}\n{document['text']}" for document in documents], analysis)
    index = bm25s.BM25()
    index.index(texts, show_progress=False)
    total = 0
    for query, tokens in zip(queries, tokenize([query["text"] for query in queries], analysis)):
        known = [token for token in tokens if token in index.vocab_dict]
        if not known:
            continue
        found, _ = index.retrieve([known], k=min(TOP, len(documents)), show_progress=False)
        wanted = relevant[query["id"]]
        gain = sum(1 / math.log2(rank + 2) for rank, at in enumerate(found[0]) if documents[at]["id"] in wanted)
        total += gain / sum(1 / math.log2(rank + 2) for rank in range(min(TOP, len(wanted))))
    print(json.dumps({"ndcg": total / len(queries)}))


main(sys.argv[1], sys.argv[2])
