import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { openChannelMetrics } from '../../src/channels/channel-metrics.ts';

test('the number of samples of channels is bounded: the 101st channel and later ones share a label', async () => {
  const registry = new Registry();
  const metrics = openChannelMetrics(registry);
  for (let i = 1; i <= 150; i++) {
    metrics.delivered({ id: `chn_${i}`, bot: `bot-${i}` }, 'answered', 0.1);
    metrics.notified(`chn_${i}`, 'accepted');
  }
  const text = await registry.metrics();
  expect(text).toContain('service_channel_deliveries_total{channel="chn_100",bot="bot-100",outcome="answered"} 1');
  expect(text).toContain('service_channel_deliveries_total{channel="other",bot="other",outcome="answered"} 50');
  expect(text).toContain('service_channel_notifications_total{channel="other",outcome="accepted"} 50');
  expect(text).not.toContain('chn_101');
});
