"""Retriever that calls ``POST /v2/buckets/{bucket}/search``."""

import os
from typing import Any, Literal
from urllib.parse import quote

import httpx
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

DEFAULT_URL = "http://127.0.0.1:8080"


class ServiceError(Exception):
    """The service refused a request.

    The message is that of the service. ``request_id`` finds the request in its log.
    """

    def __init__(self, status: int, message: str, request_id: str | None) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.request_id = request_id


class ServiceRetriever(BaseRetriever):
    """Find the chunks of a bucket that answer a question.

    Each node has the chunk's text, its id, its score (0 to 1), its document as source, and this metadata: that of the
    document, ``file_name``, ``page`` (from 1, or None) and ``url`` (or None).

    Args:
        bucket: Name or id of the bucket.
        base_url: Address of the service, without ``/v1``; by default that in ``SERVICE_URL``.
        api_key: API key with the scope ``search``; by default that in ``SERVICE_API_KEY``.
        top_k: Number of nodes to return, 1 to 100.
        filter: Filter of the search API, such as ``{"type": "eq", "key": "year", "value": "2026"}``.
        max_per_document: Number of chunks of one document to return at most.
        timeout: Seconds to wait for an answer.

    Raises:
        ValueError: There is no API key.
        ServiceError: The service refused the request.
        httpx.TransportError: The service could not be reached.
    """

    def __init__(
        self,
        bucket: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        top_k: int = 4,
        filter: dict[str, Any] | None = None,
        mode: Literal["hybrid", "vector", "keyword"] = "hybrid",
        rerank: bool = False,
        score_threshold: float | None = None,
        max_per_document: int | None = None,
        timeout: float = 30.0,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        key = api_key or os.environ.get("SERVICE_API_KEY")
        if not key:
            raise ValueError("Give api_key, or set the environment variable SERVICE_API_KEY.")
        address = base_url or os.environ.get("SERVICE_URL") or DEFAULT_URL
        self._url = f"{address.rstrip('/')}/v2/buckets/{quote(bucket, safe='')}/search"
        self._headers = {"Authorization": f"Bearer {key}"}
        self._timeout = timeout
        self._options = {
            "top_k": top_k,
            "mode": mode,
            "rerank": rerank,
            "filter": filter,
            "score_threshold": score_threshold,
            "max_per_document": max_per_document,
        }

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with httpx.Client(timeout=self._timeout) as client:
            return _read(client.post(**self._request(query_bundle)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        async with httpx.AsyncClient(timeout=self._timeout) as client:
            return _read(await client.post(**self._request(query_bundle)))

    def _request(self, query_bundle: QueryBundle) -> dict[str, Any]:
        body = {"query": query_bundle.query_str, **self._options}
        return {
            "url": self._url,
            "headers": self._headers,
            "json": {name: value for name, value in body.items() if value is not None},
        }


def _read(response: httpx.Response) -> list[NodeWithScore]:
    if response.is_error:
        raise ServiceError(
            response.status_code, _message_of(response), response.headers.get("X-Request-Id")
        )
    return [_node_of(result) for result in response.json()["results"]]


def _message_of(response: httpx.Response) -> str:
    """Read the message of a refusal, or the beginning of the answer of some other server."""
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return response.text[:500] or response.reason_phrase


def _node_of(result: dict[str, Any]) -> NodeWithScore:
    citation = result["citation"]
    node = TextNode(
        id_=result["id"],
        text=result["text"],
        metadata={
            **result["metadata"],
            "file_name": citation["file_name"],
            "page": citation["locator"]["page"],
            "url": citation["url"],
        },
        relationships={
            NodeRelationship.SOURCE: RelatedNodeInfo(node_id=result["document_id"])
        },
    )
    return NodeWithScore(node=node, score=result["score"])
