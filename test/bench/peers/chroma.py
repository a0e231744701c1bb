"""Chroma in this process. Its search effort is fixed when a collection is made; its default is used."""

import chromadb
from peer import serve


def open_peer(folder, vectors, texts, results):
    client = chromadb.EphemeralClient()
    collection = client.create_collection("peers", configuration={"hnsw": {"space": "cosine"}})
    batch = min(5_000, client.get_max_batch_size())
    for start in range(0, len(vectors), batch):
        rows = vectors[start : start + batch]
        collection.add(ids=[str(start + row) for row in range(len(rows))], embeddings=rows)

    def search(vector, text, effort):
        return collection.query(query_embeddings=[vector], n_results=results, include=["distances"])["ids"][0]

    return {"vector": search}


serve(lambda: chromadb.__version__, open_peer)
