-- minimum-compatible-version: 1
-- Notifications that wait in the outbox to be sent again, and delivery reports of vendors. `requested` is the state
-- `sending` of earlier releases.
ALTER TABLE channel_notifications
  DROP CONSTRAINT channel_notifications_status_check,
  ADD CONSTRAINT channel_notifications_status_check
    CHECK (status IN ('requested', 'queued', 'sending', 'accepted', 'delivered', 'failed')),
  ADD COLUMN options jsonb NOT NULL DEFAULT '{}', -- text message to send instead
  ADD COLUMN tries integer NOT NULL DEFAULT 0,    -- claims since the state began; fences a process that was too slow
  ADD COLUMN next_at timestamptz,                 -- time at which the outbox acts next; null: never
  ADD COLUMN delivered_at timestamptz;

CREATE INDEX channel_notifications_due ON channel_notifications (next_at) WHERE next_at IS NOT NULL;
