-- minimum-compatible-version: 1
-- The outbox takes the due notifications of each organization in turn.
CREATE INDEX channel_notifications_due_by_org ON channel_notifications (org_id, next_at) WHERE next_at IS NOT NULL;
DROP INDEX channel_notifications_due;
