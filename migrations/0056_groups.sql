-- minimum-compatible-version: 56
-- Users and groups that may read a document. An earlier release would show such documents to everyone, so it must not
-- run beside this one.
CREATE TABLE groups (
  org_id       text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name         text NOT NULL,              -- never changes, since documents hold it
  display_name text,                       -- null: the name
  claim        text,                       -- value of the issuer's claim for members of the group; null: the name
  external_id  text,                       -- of the directory that provisions the group
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, name)
);
CREATE UNIQUE INDEX groups_by_lower_name ON groups (org_id, lower(name));
CREATE UNIQUE INDEX groups_by_claim ON groups (org_id, coalesce(claim, name));

CREATE TABLE group_members (
  org_id     text NOT NULL,
  group_name text NOT NULL,
  member     text NOT NULL,                -- user:<id>, key:<id> or group:<name>
  from_claim boolean NOT NULL DEFAULT false, -- a token of the issuer named the group, and the next one may end it
  PRIMARY KEY (org_id, group_name, member),
  FOREIGN KEY (org_id, group_name) REFERENCES groups (org_id, name) ON DELETE CASCADE
);
CREATE INDEX group_members_by_member ON group_members (org_id, member);

ALTER TABLE users
  ADD COLUMN claims_issued_at timestamptz, -- time of issue of the newest token whose groups the user has
  ADD COLUMN external_id text,             -- of the directory that provisions the user
  ADD COLUMN deprovisioned_at timestamptz; -- a directory has deleted the user, who is suspended and keeps the documents

-- Names of the groups of a member, those that contain its groups included, in order.
CREATE FUNCTION groups_of(org text, whose text) RETURNS text[] LANGUAGE sql STABLE AS $$
  WITH RECURSIVE mine AS (
    SELECT group_name FROM group_members WHERE org_id = org AND member = whose
    UNION
    SELECT outer_group.group_name FROM mine
      JOIN group_members AS outer_group ON outer_group.org_id = org AND outer_group.member = 'group:' || mine.group_name)
  SELECT coalesce(array_agg(group_name ORDER BY group_name), '{}') FROM mine
$$;

-- Those who may read a document, besides the rules of its level and department: user:<id> and group:<name>, in order.
-- Null: everyone. It is short, since it is in indexes.
ALTER TABLE documents ADD COLUMN access_list text[] CHECK (cardinality(access_list) BETWEEN 1 AND 50);
CREATE INDEX documents_by_access_list ON documents (org_id, bucket_id, access_list) WHERE access_list IS NOT NULL;
-- Counts of the documents that a caller may read still read an index alone.
DROP INDEX documents_by_status;
CREATE INDEX documents_by_status ON documents (bucket_id, status, id DESC, privacy_level) INCLUDE (scope, access_list);
DROP INDEX documents_counted;
CREATE INDEX documents_counted ON documents (org_id, status, privacy_level)
  INCLUDE (scope, size_bytes, keyword_only, access_list);
DROP INDEX documents_found_of_source;
CREATE INDEX documents_found_of_source ON documents (source_id, privacy_level)
  INCLUDE (status, scope, active_generation, access_list) WHERE source_id IS NOT NULL AND active_generation IS NOT NULL;
DROP INDEX documents_by_day;
CREATE INDEX documents_by_day ON documents (org_id, created_at) INCLUDE (status, privacy_level, scope, access_list);

-- Access of the documents of a source whose entries do not tell their readers. Null: that of the bucket.
ALTER TABLE sources ADD COLUMN access_list text[];

-- The part of an access list with a prefix, as text: names or ids, separated by commas. Null: none.
CREATE FUNCTION access_names(list text[], prefix text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT nullif(array_to_string(ARRAY(
    SELECT substr(each, length(prefix) + 1) FROM unnest(list) AS each WHERE starts_with(each, prefix)
    ORDER BY each COLLATE "C"), ', '), '')
$$;

-- True if a bucket has a document with an access list that names none of these. It looks at one document of each list.
-- After 200 different lists it returns true, so that a search takes a bounded time.
CREATE FUNCTION bucket_hides_list(org text, bucket text, readers text[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  list text[];
BEGIN
  SELECT access_list INTO list FROM documents
  WHERE org_id = org AND bucket_id = bucket AND access_list IS NOT NULL ORDER BY access_list LIMIT 1;
  FOR seen IN 1..200 LOOP
    IF list IS NULL THEN RETURN false; END IF;
    IF NOT list && readers THEN RETURN true; END IF;
    SELECT access_list INTO list FROM documents
    WHERE org_id = org AND bucket_id = bucket AND access_list IS NOT NULL AND access_list > list
    ORDER BY access_list LIMIT 1;
  END LOOP;
  RETURN true;
END $$;

CREATE OR REPLACE FUNCTION document_facts(document documents) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN document.active_generation IS NOT NULL AND document.searchable AND document.status <> 'deleting' THEN
    jsonb_build_object(
      'id', document.id, 'active_generation', document.active_generation, 'keyword_only', document.keyword_only,
      'collection_id', document.collection_id, 'privacy_level', document.privacy_level, 'scope', document.scope,
      'classification', document.classification, 'public_accessible', document.public_accessible,
      'access_list', document.access_list,
      'file_name', document.file_name, 'file_type', document.file_type, 'review_status', document.review_status,
      'owner_department', document.owner_department, 'source_path', document.source_path,
      'metadata', document.metadata)
  END;
$$;
