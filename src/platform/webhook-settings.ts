import { z } from 'zod';
import { isNetwork } from './networks.ts';

const NETWORKS_MAX = 100;

export const webhookSettings = {
  webhooks: z
    .strictObject({
      networks: z
        .array(z.string().refine(isNetwork, 'must be an address or a network such as 10.0.0.0/8'))
        .max(NETWORKS_MAX)
        .default([])
        .describe('addresses and networks of your own to which webhooks may be sent (default: only public addresses)'),
    })
    .prefault({})
    .describe('webhooks that the service sends'),
};

export interface WebhookSettings {
  /** Addresses and networks in CIDR form that may be reached in addition to public addresses. */
  readonly networks: readonly string[];
}

/** Convert the file's settings to the program's form. */
export function webhookConfigOf({ webhooks }: z.output<z.ZodObject<typeof webhookSettings>>): {
  webhooks: WebhookSettings;
} {
  return { webhooks: { networks: webhooks.networks } };
}
