"""Tests against an installation: SERVICE_URL, SERVICE_API_KEY and SERVICE_BUCKET name a bucket with three documents."""

import os

import httpx
import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index_service import ServiceError, ServiceRetriever

BUCKET = os.environ["SERVICE_BUCKET"]
QUERY = "when is the pump of the north harbour greased?"


async def test_nodes_have_their_origin() -> None:
    retriever = ServiceRetriever(BUCKET, top_k=2)
    results = retriever.retrieve(QUERY)
    assert [each.node_id for each in await retriever.aretrieve(QUERY)] == [each.node_id for each in results]
    assert len(results) == 2
    first = results[0]
    assert "north harbour" in first.node.get_content()
    assert first.node.metadata["file_name"] == "north.txt"
    assert first.node.metadata["place"] == "north"
    assert first.score is not None and 0 < first.score <= 1
    assert first.node.ref_doc_id


def test_a_query_engine_answers_from_the_nodes() -> None:
    engine = RetrieverQueryEngine.from_args(ServiceRetriever(BUCKET), llm=MockLLM())
    assert len(engine.query(QUERY).source_nodes) == 3


def test_a_filter_chooses_documents() -> None:
    retriever = ServiceRetriever(BUCKET, filter={"type": "eq", "key": "place", "value": "south"})
    assert [each.node.metadata["file_name"] for each in retriever.retrieve(QUERY)] == ["south.txt"]


async def test_refusals_have_the_message_of_the_service() -> None:
    for retriever in (ServiceRetriever("no such bucket"), ServiceRetriever(BUCKET, api_key="sk-wrong")):
        with pytest.raises(ServiceError) as sync_refusal:
            retriever.retrieve(QUERY)
        with pytest.raises(ServiceError) as refusal:
            await retriever.aretrieve(QUERY)
        assert refusal.value.status in (401, 403, 404)
        assert str(refusal.value) == str(sync_refusal.value)
        assert refusal.value.request_id
        assert "sk-wrong" not in str(refusal.value)


def test_a_key_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERVICE_API_KEY")
    with pytest.raises(ValueError, match="SERVICE_API_KEY"):
        ServiceRetriever(BUCKET)


def test_a_service_that_cannot_be_reached() -> None:
    with pytest.raises(httpx.ConnectError):
        ServiceRetriever(BUCKET, base_url="http://127.0.0.1:1").retrieve(QUERY)
