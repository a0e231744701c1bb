"""Retriever that calls ``POST /v2/buckets/{bucket}/search``."""

from typing import Any, Literal
from urllib.parse import quote

import httpx
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.utils import from_env, secret_from_env
from pydantic import Field, SecretStr


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

    Each document has the chunk's text, its id, and this metadata: that of the document, ``document_id``, ``file_name``,
    ``page`` (from 1, or None), ``url`` (or None) and ``score`` (0 to 1).

    Raises:
        ServiceError: The service refused the request.
        httpx.TransportError: The service could not be reached.
    """

    bucket: str
    """Name or id of the bucket."""
    base_url: str = Field(default_factory=from_env("SERVICE_URL", default="http://127.0.0.1:8080"))
    """Address of the service, without ``/v1``."""
    api_key: SecretStr = Field(default_factory=secret_from_env("SERVICE_API_KEY"))
    """API key with the scope ``search``."""
    k: int = Field(default=4, ge=1, le=100)
    """Number of documents to return."""
    filter: dict[str, Any] | None = None
    """Filter of the search API, such as ``{"type": "eq", "key": "year", "value": "2026"}``."""
    mode: Literal["hybrid", "vector", "keyword"] = "hybrid"
    rerank: bool = False
    score_threshold: float | None = Field(default=None, ge=0, le=1)
    max_per_document: int | None = Field(default=None, ge=1)
    """Number of chunks of one document to return at most."""
    timeout: float = 30.0
    """Seconds to wait for an answer."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **changes: Any
    ) -> list[Document]:
        with httpx.Client(timeout=self.timeout) as client:
            return _read(client.post(**self._request(query, changes)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **changes: Any
    ) -> list[Document]:
        async with httpx.AsyncClient(timeout=self.timeout) as client:
            return _read(await client.post(**self._request(query, changes)))

    def _request(self, query: str, changes: dict[str, Any]) -> dict[str, Any]:
        """Make the arguments of a POST request; `changes` replace fields for one call."""
        own = self.model_copy(update=changes)
        body = {
            "query": query,
            "top_k": own.k,
            "mode": own.mode,
            "rerank": own.rerank,
            "filter": own.filter,
            "score_threshold": own.score_threshold,
            "max_per_document": own.max_per_document,
        }
        return {
            "url": f"{own.base_url.rstrip('/')}/v2/buckets/{quote(own.bucket, safe='')}/search",
            "headers": {"Authorization": f"Bearer {own.api_key.get_secret_value()}"},
            "json": {name: value for name, value in body.items() if value is not None},
        }


def _read(response: httpx.Response) -> list[Document]:
    if response.is_error:
        raise ServiceError(
            response.status_code, _message_of(response), response.headers.get("X-Request-Id")
        )
    return [_document_of(result) for result in response.json()["results"]]


def _message_of(response: httpx.Response) -> str:
    """Read the message of a refusal, or the beginning of the answer of some other server."""
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return response.text[:500] or response.reason_phrase


def _document_of(result: dict[str, Any]) -> Document:
    citation = result["citation"]
    return Document(
        id=result["id"],
        page_content=result["text"],
        metadata={
            **result["metadata"],
            "document_id": result["document_id"],
            "file_name": citation["file_name"],
            "page": citation["locator"]["page"],
            "url": citation["url"],
            "score": result["score"],
        },
    )
