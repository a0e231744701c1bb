-- minimum-compatible-version: 1
-- The person who created a key, also by way of another key. The key is refused while this user is suspended.
ALTER TABLE api_keys ADD COLUMN creator_id text;
UPDATE api_keys k SET creator_id = substr(a.actor, 6) FROM audit_log a
WHERE a.org_id = k.org_id AND a.target = k.id AND a.action = 'key.create' AND a.actor LIKE 'user:%';
UPDATE api_keys k SET creator_id = substr(a.actor, 6) FROM audit_log a
WHERE a.org_id = k.org_id AND a.detail->>'new_key' = k.id AND a.action = 'key.rotate' AND a.actor LIKE 'user:%';
