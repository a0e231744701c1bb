import { Counter, Histogram, type Registry } from 'prom-client';
import type { DeliveryOutcome } from './schema.ts';

export interface ChannelMetrics {
  /** Count an answered delivery. */
  delivered(
    channel: { readonly id: string; readonly bot: string },
    outcome: DeliveryOutcome | 'replayed',
    seconds: number,
  ): void;
  /** Count a refused delivery. `channel` is the id of its configuration, or null. */
  refused(channel: string | null, reason: string): void;
  /** Count an error that was answered with an apology. */
  failed(channel: string, reason: string): void;
  /** Count the end of a later reply. */
  repliedLater(channel: string, outcome: 'sent' | 'failed'): void;
  /** Count a notification. */
  notified(channel: string, outcome: 'accepted' | 'delivered' | 'failed'): void;
}

/** Maximum number of configurations with their own samples. All others share the label `other`. */
const CHANNELS_MAX = 100;

/**
 * Define the metrics of channels in a registry, once per registry. The label `channel` is a configuration's id, for the
 * first ones that this process sees.
 */
export function openChannelMetrics(registry: Registry): ChannelMetrics {
  const registers = [registry];
  const deliveries = new Counter({
    name: 'service_channel_deliveries_total',
    help: 'Verified deliveries to the messenger webhook, by outcome.',
    labelNames: ['channel', 'bot', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'service_channel_reply_seconds',
    help: 'Time from the arrival of a verified delivery to its reply.',
    labelNames: ['channel', 'bot'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 4, 5],
    registers,
  });
  const refusals = new Counter({
    name: 'service_channel_refusals_total',
    help: 'Deliveries that were refused, by reason; the channel is empty if the delivery named no existing channel.',
    labelNames: ['channel', 'reason'],
    registers,
  });
  const faults = new Counter({
    name: 'service_channel_faults_total',
    help: 'Deliveries that were answered with an apology because of a fault, by reason.',
    labelNames: ['channel', 'reason'],
    registers,
  });
  const laterReplies = new Counter({
    name: 'service_channel_later_replies_total',
    help: 'Replies by a call to the platform of the channel, by outcome.',
    labelNames: ['channel', 'outcome'],
    registers,
  });
  const notifications = new Counter({
    name: 'service_channel_notifications_total',
    help: 'Notifications, by outcome.',
    labelNames: ['channel', 'outcome'],
    registers,
  });
  const labelled = new Set<string>();
  const has = (id: string): boolean => {
    if (labelled.size < CHANNELS_MAX) labelled.add(id);
    return labelled.has(id);
  };
  const labelOf = (id: string) => (has(id) ? id : 'other');
  return {
    delivered(channel, outcome, took) {
      const { id, bot } = has(channel.id) ? channel : { id: 'other', bot: 'other' };
      deliveries.inc({ channel: id, bot, outcome });
      seconds.observe({ channel: id, bot }, took);
    },
    refused: (channel, reason) => refusals.inc({ channel: channel === null ? '' : labelOf(channel), reason }),
    failed: (channel, reason) => faults.inc({ channel: labelOf(channel), reason }),
    repliedLater: (channel, outcome) => laterReplies.inc({ channel: labelOf(channel), outcome }),
    notified: (channel, outcome) => notifications.inc({ channel: labelOf(channel), outcome }),
  };
}
