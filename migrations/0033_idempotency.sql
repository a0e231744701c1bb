-- minimum-compatible-version: 1
-- Id of the attempt that holds a key, which stays the same while its lock is extended; null for attempts of earlier versions.
-- A reply that has a secret is stored in sealed_body, encrypted, and response_body is then null.
ALTER TABLE idempotency_keys ADD COLUMN attempt text, ADD COLUMN sealed_body bytea;
