-- minimum-compatible-version: 1
-- Imported vectors may come without their text. Nothing can embed such chunks again.
ALTER TABLE generations ADD COLUMN has_text boolean NOT NULL DEFAULT true;
