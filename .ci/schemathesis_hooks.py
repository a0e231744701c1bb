"""Hooks of the generated requests: values that a JSON Schema cannot describe, and ids that exist.

A schema says which requests are well formed. It cannot say which models are installed, which statements are grammatical
or that one field is at most half of another, so valid requests get such values here.
"""

import base64
import os
import uuid

import schemathesis

IDS = {
    "bucket": os.environ["TARGET_BUCKET"],
    "document": os.environ["TARGET_DOCUMENT"],
    "job": os.environ["TARGET_JOB"],
    "user": os.environ["TARGET_USER"],
    "group": os.environ["TARGET_GROUP"],
    "scim_group": base64.urlsafe_b64encode(os.environ["TARGET_GROUP"].encode()).decode().rstrip("="),
}
# A PNG of one pixel.
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
MODEL = "local/lexical-1"
STATEMENTS = [
    "SELECT documents WHERE privacy_level > 3 LIMIT 5",
    "UPDATE documents SET note = 'x' WHERE file_name = 'none'",
]
# Lists by name, and a cursor of each: one that the service has made, or a name.
CURSORS = {"listBuckets": "YQ", "listGroups": "YQ", "listCollections": "YQ", "listWorkflows": "YQ", "listMemorySources": "a", "listMemorySourceFaults": "a"}
USAGE = {"getUsageSummary", "listUsage", "listUsageByKey", "listUsageByBucket"}
# Operations that remove what the other requests need.
DESTRUCTIVE = {
    *("deleteBucket", "deleteDocument", "deleteJob", "deleteFile"),
    *("deleteVectorStore", "deleteVectorStoreFile", "deleteAssistant"),
    *("deleteGroup", "deleteScimGroup", "deleteScimUser"),
}
REDIRECT = "https://client.example.com/callback"


@schemathesis.hook
def map_case(context, case):
    operation = case.operation.definition.raw.get("operationId")
    seed = len(str(case.body)) + len(str(case.query))
    if case.path_parameters and operation not in DESTRUCTIVE and seed % 2 == 0:
        for name, value in IDS.items():
            if name in case.path_parameters:
                case.path_parameters[name] = value
    is_valid = case.meta is None or case.meta.generation.mode.is_positive
    if is_valid and case.headers and case.headers.get("Idempotency-Key"):
        # A key that was used for another request is refused.
        case.headers["Idempotency-Key"] = case.headers["Idempotency-Key"][:200] + uuid.uuid4().hex
    if is_valid:
        if operation == "deleteBucket":
            # The confirmation is the name of a bucket that exists.
            case.path_parameters["bucket"] = "missing"
        if isinstance(case.body, dict):
            case.body = without_forbidden_keys(case.body)
            adjust_body(operation, case.body, seed)
        if operation in CURSORS and case.query and "cursor" in case.query:
            case.query = {**case.query, "cursor": CURSORS[operation]}
        if operation in ("listScimUsers", "listScimGroups") and case.query:
            # Filters are expressions.
            case.query = {key: value for key, value in case.query.items() if key != "filter"}
        if operation == "listDocuments" and case.query:
            # A cursor belongs to the `sort` of its page.
            case.query = {key: value for key, value in case.query.items() if key != "cursor"}
        if operation in ("listVectorStoreFiles", "listVectorStoreFileBatchFiles") and case.query:
            # A page begins at a file of the store.
            case.query = {key: value for key, value in case.query.items() if key not in ("after", "before")}
        if operation == "findDocuments":
            # A request has either a part of a name, or ids.
            limit = {key: value for key, value in (case.query or {}).items() if key == "limit"}
            case.query = {"name": "a", **limit}
        if operation == "getDocumentChunks" and case.query:
            # A request has one place at most, which the document must have, and no place beside words.
            places = ("offset", "page", "heading")
            case.query = {key: value for key, value in case.query.items() if key not in places}
        if operation in USAGE and case.query:
            # A period is a pair of dates in order.
            known = {"from": "2026-01-01", "to": "2026-02-01", "by": "day,model"}
            case.query = {key: known.get(key, value) for key, value in case.query.items()}
    return case


def without_forbidden_keys(value):
    """Remove the keys that no body may have, at any depth."""
    if isinstance(value, list):
        return [without_forbidden_keys(each) for each in value]
    if not isinstance(value, dict):
        return value
    forbidden = {"__proto__", "constructor", "prototype"}
    return {key: without_forbidden_keys(each) for key, each in value.items() if key not in forbidden}


# Bodies that are valid beyond their schema. Nobody knows these clients, so they are refused with 401.
WHOLE_BODIES = {
    "registerOAuthClient": {"redirect_uris": [REDIRECT], "client_name": "generated"},
    "issueOAuthTokens": {"grant_type": "refresh_token", "refresh_token": "x", "client_id": "x"},
    "revokeOAuthToken": {"token": "x", "client_id": "x"},
}


def adjust_reranking(body):
    body["model"] = "local/ranker"
    # An object needs the fields that are ranked, and two names of one field may not differ.
    body["documents"] = [each if isinstance(each, str) else {"text": "harbour"} for each in body["documents"]][:50]
    for name in ("rank_fields", "top_k", "max_doc_length"):
        body.pop(name, None)
    # The model refuses a document that is longer than its limit.
    body.pop("truncation", None)


def adjust_question(operation, body):
    """Ask about a bucket that exists."""
    if operation == "createChatCompletion":
        body["model"] = "bucket/default"
        body["messages"] = [{"role": "user", "content": "When does the harbour open?"}]
        body.pop("tools", None)
        return
    body["buckets"] = ["default"]
    body.pop("assistant", None)
    if operation == "answerQuestion":
        body["query"] = "When does the harbour open?"
    else:
        # Names are unique, and a language is a code that exists.
        body["name"] = uuid.uuid4().hex


def adjust_file(body):
    """Shorten what is bounded in other ways: the overlap by the size of a chunk, and all attributes together."""
    chunking = body.get("chunking_strategy")
    if isinstance(chunking, dict) and "static" in chunking:
        chunking["static"]["chunk_overlap_tokens"] = 0
    if body.get("attributes"):
        body["attributes"] = {key: value for key, value in list(body["attributes"].items())[:2]}
    for at, file in enumerate(body.get("files") or []):
        # A file has the same fields wherever it is named.
        file["file_id"] = f"file_{at}"
        adjust_file(file)


def adjust_limits(body):
    """Name a model and a bucket that exist, and a scope that a key with limits can have."""
    limits = body.get("limits") or {}
    if "models" in limits:
        limits["models"] = [MODEL]
    if "buckets" in limits:
        limits["buckets"] = ["default"]
    if limits:
        body["scopes"] = ["embed"]


def adjust_body(operation, body, seed):
    if operation in {"createKey", "editKey"}:
        adjust_limits(body)
    if "VectorStore" in operation:
        adjust_file(body)
        # Files of batches cannot be added, and those of the tests are no others.
        if "file_id" in body:
            body["file_id"] = "file_0"
        if body.get("file_ids"):
            body["file_ids"] = ["file_0"]
    if operation == "editVectorStore":
        # Only a store that was made as one can expire.
        body.pop("expires_after", None)
    if operation in {"answerQuestion", "createChatCompletion", "createAssistant"}:
        adjust_question(operation, body)
        return
    if operation in WHOLE_BODIES:
        body.clear()
        body.update(WHOLE_BODIES[operation])
    if operation in {"rerank", "rerankV2"}:
        adjust_reranking(body)
        return
    if "model" in body:
        body["model"] = MODEL
    if operation == "importVectors":
        # A vector is as long as those of its model, of length 1, and each row has another id.
        body["model"] = "vendor-a/text-embedding-3-small"
        for at, row in enumerate(body["rows"]):
            row.update(id=f"row-{at}", vector=[1.0] + [0.0] * 1535)
        body["rows"] = body["rows"][:3]
        body.pop("collection_id", None)
    if operation == "setRouting":
        body.update(primary=MODEL, mode="single")
        body.pop("fallback", None)
    if operation == "embedImages":
        body["images"] = [IMAGE for _ in body.get("images", [])][:3]
    if operation == "uploadDocument":
        body.pop("collection_id", None)
        body.pop("chunk_overlap", None)
        if "chunk_size" in body:
            body["chunk_size"] = 400
        if body.get("on_duplicate") == "replace":
            # It needs the path of the document that is replaced.
            body["source_path"] = "manuals/harbour.txt"
        # An empty file is refused.
        for field in ("text", "content"):
            if field in body:
                body[field] = body[field] or "x"
        if "content_base64" in body:
            body["content_base64"] = base64.b64encode(b"some text").decode()
    if operation == "retrieveKnowledge" and isinstance(body.get("metadata_condition"), dict):
        # The operator decides which values a condition takes.
        for condition in body["metadata_condition"]["conditions"]:
            condition.update(name="place", value="harbour")
    if operation == "editDocumentsMetadata":
        body.pop("confirm", None)
        if "statement" in body:
            body["statement"] = STATEMENTS[seed % len(STATEMENTS)]
            # A statement selects the documents itself.
            body.pop("document_ids", None)
    if operation == "setBucketSynonyms":
        # The words of a group differ, also for the analyser.
        body["groups"] = [[f"word{g}x{w}" for w, _ in enumerate(group)] for g, group in enumerate(body["groups"])]
    if operation == "createChannelConfig":
        # The fields of `config` depend on the provider; names have no control characters.
        body.update(provider="webhook", name="channel")
    if isinstance(body.get("policy"), dict) and body["policy"].get("departments"):
        # Names have no control characters.
        body["policy"]["departments"] = ["sales"]
    if operation == "searchMemory":
        # A tag is `key:value`, with the rules of metadata.
        body["tags"] = [f"tag-{at}:x" for at, _ in enumerate(body.get("tags") or [])]
    if operation == "searchMemory":
        # `between` needs an end after its start.
        body.update(query="x", temporal_start=0, temporal_end=1)
        body.pop("bucket", None)
        body.pop("buckets", None)
    if operation in ("dryRunWorkflow", "runWorkflow"):
        # Inputs are those that the definition names.
        body["inputs"] = {}
        body.pop("approvals", None)
    if "definition" in body:
        # Definitions have rules of their own.
        body["definition"] = {"blocks": [{"id": "say", "type": "template", "with": {"text": "x"}}]}
    if operation == "createWorkflow":
        body["name"] = uuid.uuid4().hex
    if operation in ("createKey", "editKey", "createOrganization", "addPasskey") and "name" in body:
        # Names have no control characters, and those of organizations are unique.
        body["name"] = uuid.uuid4().hex
    if operation == "createWorkflowTrigger":
        # A trigger has exactly one cause, and a schedule is a cron expression.
        body.clear()
        body["schedule"] = "0 0 1 1 *"
    if operation == "createWebhook" or (operation == "changeWebhook" and "name" in body):
        # Names are unique and have no control characters, and addresses are URLs.
        body["name"] = uuid.uuid4().hex
    if operation in ("createWebhook", "changeWebhook") and "url" in body:
        body["url"] = "https://example.com/hooks"
    if operation == "createKey":
        body.pop("user_id", None)
    if "access" in body:
        # Users and groups that the organization does not have are refused.
        body["access"] = None
    if isinstance(body.get("policy"), dict):
        body["policy"].pop("default_access", None)
    if operation in ("createGroup", "createScimGroup", "replaceScimGroup"):
        # Names are unique, and members exist.
        body.update({"members": [], "name" if operation == "createGroup" else "displayName": uuid.uuid4().hex})
    if operation in ("createGroup", "editGroup"):
        # Claims are unique, and names have no control characters.
        for field in ("claim", "display_name"):
            if body.get(field) is not None:
                body[field] = uuid.uuid4().hex
    if operation == "editGroup":
        body.pop("add", None)
        body.pop("remove", None)
    if operation in ("patchScimUser", "patchScimGroup"):
        body["Operations"] = [{"op": "replace", "path": "externalId", "value": "x"}]
    if operation in ("createScimUser", "replaceScimUser"):
        body["userName"] = f"{uuid.uuid4().hex}@example.com"
    if operation == "createUser":
        body["email"] = f"{uuid.uuid4().hex}@example.com"
        body.pop("oidc", None)
    if operation in ("createUser", "editUser") and body.get("department") is not None:
        body["department"] = "sales"
    if operation == "sendNotification":
        # Only a messenger sends notifications, and titles have no control characters.
        body.update(channel_config_id="chn_missing", template_code="T")
        body.pop("resend_title", None)
