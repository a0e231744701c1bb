-- The built-in model that embeds by default. An installation that existed before keeps the lexical model, because its
-- callers hold vectors of it. A new one decides at its first start.
ALTER TABLE installation ADD COLUMN built_in_model text CHECK (built_in_model IN ('semantic', 'lexical'));
UPDATE installation SET built_in_model = 'lexical';
