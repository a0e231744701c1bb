-- minimum-compatible-version: 1
-- Level, department and classification of the document of a job, kept when the document is removed: they decide who may
-- see the job from then on. Null while the document is there, and for a job whose document an older release removed.
ALTER TABLE jobs ADD COLUMN document_access jsonb;
