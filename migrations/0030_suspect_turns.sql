-- minimum-compatible-version: 1
-- Time since when a worker claims no jobs but those that have lost a lease before, which run alone; null: it claims the others.
ALTER TABLE workers ADD COLUMN suspect_turn_at timestamptz;
