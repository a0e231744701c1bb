-- minimum-compatible-version: 1
-- Documents that a kept reply of a channel shows. It is not repeated once one of them may not be read any more.
ALTER TABLE channel_replies ADD COLUMN document_ids text[] NOT NULL DEFAULT '{}';
