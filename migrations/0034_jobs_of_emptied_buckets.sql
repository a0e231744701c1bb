-- minimum-compatible-version: 1
-- Different levels, departments and classifications of the documents that were removed from the bucket of a job of a whole
-- bucket since it was queued: they decide who may see the job from then on. Null: none was removed, or by an older release.
ALTER TABLE jobs ADD COLUMN removed_access jsonb;
