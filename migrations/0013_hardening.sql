-- minimum-compatible-version: 1
-- A search asks whether a bucket holds a document that its caller may not read. These find one without reading the rest.
CREATE INDEX documents_by_level ON documents (bucket_id, privacy_level DESC);
CREATE INDEX documents_by_scope ON documents (bucket_id, scope) WHERE scope IS NOT NULL;
-- What an organization stores is summed from this at every upload, if its plan has a bound on it.
CREATE INDEX documents_by_size ON documents (org_id) INCLUDE (size_bytes);

-- Revocation of tokens. A token holds the generation of its user when it was made; revoking all of them raises it. Tokens of
-- an OIDC issuer have no generation, so they are compared by the time at which they were issued.
ALTER TABLE users ADD COLUMN token_generation integer NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN tokens_revoked_at timestamptz;

-- Single tokens that were revoked, until they would have expired.
CREATE TABLE revoked_tokens (
  id         text PRIMARY KEY,
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
