-- minimum-compatible-version: 1
-- One index by which conditions on documents find their matches: equality, lists and prefixes, of every user key and
-- of every field but the times.

-- What a document can be found by: `"key=value` for user metadata, `.field=value` for its fields, each after the end
-- of its bucket's id, so that a bucket is not searched among the matches of all others. Values are cut: terms narrow,
-- the condition itself decides. The index keeps what this function returned, so a change of it needs a REINDEX.
CREATE FUNCTION document_terms(
  bucket_id text, id text, file_name text, file_type text, collection_id text, searchable boolean, status text,
  privacy_level integer, internal_accessible boolean, public_accessible boolean, classification text,
  review_status text, owner_department text, scope text, uploaded_by_user_id text, metadata jsonb
) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 AS $$
DECLARE
  bucket text := right(bucket_id, 4);
BEGIN
  RETURN array_to_tsvector(array_remove(ARRAY[
    bucket || '.id=' || left(id, 80),
    bucket || '.file_name=' || left(file_name, 80),
    bucket || '.file_type=' || left(file_type, 80),
    bucket || '.collection_id=' || left(collection_id, 80),
    bucket || '.searchable=' || searchable::text,
    bucket || '.status=' || left(status, 80),
    bucket || '.privacy_level=' || privacy_level::text,
    bucket || '.internal_accessible=' || internal_accessible::text,
    bucket || '.public_accessible=' || public_accessible::text,
    bucket || '.classification=' || left(classification, 80),
    bucket || '.review_status=' || left(review_status, 80),
    bucket || '.owner_department=' || left(owner_department, 80),
    bucket || '.scope=' || left(scope, 80),
    bucket || '.uploaded_by_user_id=' || left(uploaded_by_user_id, 80)
  ], NULL) || ARRAY(SELECT bucket || '"' || key || '=' || left(value, 80) FROM jsonb_each_text(metadata) WHERE value IS NOT NULL));
END $$;

CREATE INDEX documents_by_term ON documents USING gin (document_terms(
  bucket_id, id, file_name, file_type, collection_id, searchable, status, privacy_level, internal_accessible,
  public_accessible, classification, review_status, owner_department, scope, uploaded_by_user_id, metadata));
