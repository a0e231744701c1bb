import { Args, Flags } from '@oclif/core';
import { listFlag } from './flags.ts';

/** Flags and arguments of the commands of webhooks. */

export const webhookArg = Args.string({ description: 'name or id of the webhook', required: true, ignoreStdin: true });

export const eventFlag = listFlag(
  'type of events to send, such as job.failed; may be given several times (default: all)',
  'SERVICE_EVENT',
);

export const addressDescription = 'address to which events are posted, such as https://example.com/hooks';

export const addressFlag = Flags.string({ description: addressDescription, env: 'SERVICE_ADDRESS' });
