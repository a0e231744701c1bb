-- minimum-compatible-version: 1
-- Tokens of each text of a bulk job, which are counted when it is submitted, so that a worker need not count them again:
-- 32-bit little-endian numbers in the order of the texts, as the model counted_by counts them. Null for jobs of earlier
-- versions and for those whose texts are deleted.
ALTER TABLE bulk_jobs ADD COLUMN token_counts bytea, ADD COLUMN counted_by text;
