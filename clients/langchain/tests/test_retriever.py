"""Tests against an installation: SERVICE_URL, SERVICE_API_KEY and SERVICE_BUCKET name a bucket with three documents."""

import os
from typing import Any

import httpx
import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_service import ServiceError, ServiceRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

BUCKET = os.environ["SERVICE_BUCKET"]
QUERY = "when is the pump of the north harbour greased?"


class TestStandard(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return ServiceRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"bucket": BUCKET}

    @property
    def retriever_query_example(self) -> str:
        return QUERY


def test_documents_have_their_origin() -> None:
    first = ServiceRetriever(bucket=BUCKET).invoke(QUERY)[0]
    assert "north harbour" in first.page_content
    assert first.metadata["file_name"] == "north.txt"
    assert first.metadata["place"] == "north"
    assert 0 < first.metadata["score"] <= 1
    assert first.metadata["document_id"]


def test_a_filter_chooses_documents() -> None:
    retriever = ServiceRetriever(
        bucket=BUCKET, filter={"type": "eq", "key": "place", "value": "south"}
    )
    assert [each.metadata["file_name"] for each in retriever.invoke(QUERY)] == ["south.txt"]


async def test_refusals_have_the_message_of_the_service() -> None:
    for options in ({"bucket": "no such bucket"}, {"bucket": BUCKET, "api_key": "sk-wrong"}):
        retriever = ServiceRetriever(**options)
        with pytest.raises(ServiceError) as sync_refusal:
            retriever.invoke(QUERY)
        with pytest.raises(ServiceError) as refusal:
            await retriever.ainvoke(QUERY)
        assert refusal.value.status in (401, 403, 404)
        assert str(refusal.value) == str(sync_refusal.value)
        assert refusal.value.request_id
        assert "sk-wrong" not in str(refusal.value) + repr(retriever)


def test_a_service_that_cannot_be_reached() -> None:
    with pytest.raises(httpx.ConnectError):
        ServiceRetriever(bucket=BUCKET, base_url="http://127.0.0.1:1").invoke(QUERY)
