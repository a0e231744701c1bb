-- minimum-compatible-version: 1
-- Documents of a bucket with these bytes at the time of the call. A query in the statement around it would see them as they
-- were when that statement began, which may be before a transaction that it has waited for.
CREATE FUNCTION documents_with_content(bucket text, content bytea) RETURNS SETOF documents
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
BEGIN
  RETURN QUERY SELECT documents.* FROM documents WHERE documents.bucket_id = bucket AND documents.sha256 = content;
END $$;
