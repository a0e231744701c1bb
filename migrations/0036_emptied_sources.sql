-- minimum-compatible-version: 1
-- The next synchronisation removes the documents of the source if that shows no entries, as an administrator has asked.
ALTER TABLE sources ADD COLUMN allows_empty boolean NOT NULL DEFAULT false;
