-- minimum-compatible-version: 1
-- Version of the terms in the index of a bucket. A bucket of an earlier version is indexed again from its stored texts.
ALTER TABLE index_tables ADD COLUMN terms_version integer;   -- null: version 1
