"""Milvus Lite by the client that its manual uses, with an HNSW index of the manual's parameters."""

from milvus_lite import __version__
from peer import serve
from pymilvus import DataType, MilvusClient

BATCH = 5_000


def open_peer(folder, vectors, texts, results):
    client = MilvusClient(str(folder / "milvus.db"))
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=vectors.shape[1])
    index = client.prepare_index_params()
    graph = {"M": 16, "efConstruction": 200}
    index.add_index("vector", index_type="HNSW", metric_type="COSINE", params=graph)
    client.create_collection("peers", schema=schema, index_params=index)
    for start in range(0, len(vectors), BATCH):
        rows = vectors[start : start + BATCH]
        client.insert("peers", [{"id": start + row, "vector": vector} for row, vector in enumerate(rows)])
    client.flush("peers")
    client.load_collection("peers")

    def search(vector, text, effort):
        parameters = {"params": {"ef": effort}}
        found = client.search("peers", data=[vector], limit=results, search_params=parameters)
        return [hit["id"] for hit in found[0]]

    return {"vector": search}


serve(lambda: __version__, open_peer, efforts=(64, 128, 256, 512))
