-- minimum-compatible-version: 1
-- Names and metadata that were stored before the service composed letters (NFC). Searches, statements and uploads ask for
-- composed ones. Only these rows are written.
UPDATE documents
SET file_name = normalize(file_name), source_path = normalize(source_path), metadata = normalize(metadata::text)::jsonb
WHERE file_name IS NOT NORMALIZED OR source_path IS NOT NORMALIZED OR metadata::text IS NOT NORMALIZED;

UPDATE sources SET tags = normalize(tags::text)::jsonb WHERE tags::text IS NOT NORMALIZED;

-- A collection keeps its name if another one of the bucket has it in another form: it can be found by its id.
UPDATE collections SET name = normalize(name)
WHERE name IS NOT NORMALIZED AND NOT EXISTS (
  SELECT FROM collections AS twin
  WHERE twin.bucket_id = collections.bucket_id AND twin.id <> collections.id
    AND normalize(twin.name) = normalize(collections.name));
