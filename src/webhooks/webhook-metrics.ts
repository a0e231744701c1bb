import { Counter, type Registry } from 'prom-client';

export interface WebhookMetrics {
  /** Count a request. `failed`: it will be retried; `given_up`: it won't be. */
  tried(outcome: 'delivered' | 'failed' | 'given_up'): void;
}

/** Define the metrics of webhooks in a registry, once per registry. */
export function openWebhookMetrics(registry: Registry): WebhookMetrics {
  const requests = new Counter({
    name: 'service_webhook_requests_total',
    help: 'Requests that send an event to a webhook, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return { tried: (outcome) => requests.inc({ outcome }) };
}
