"""LangChain retriever over the buckets of a self-hosted service."""

from langchain_service.retriever import ServiceError, ServiceRetriever

__all__ = ["ServiceError", "ServiceRetriever"]
