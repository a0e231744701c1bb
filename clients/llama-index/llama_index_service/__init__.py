"""LlamaIndex retriever over the buckets of a self-hosted service."""

from llama_index_service.retriever import ServiceError, ServiceRetriever

__all__ = ["ServiceError", "ServiceRetriever"]
