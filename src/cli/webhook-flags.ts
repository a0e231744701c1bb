import { Flags } from '@oclif/core';
import { listFlag, requiredArg } from './flags.ts';

/** Flags and arguments of the commands of webhooks. */

export const webhookArg = requiredArg('name or id of the webhook');

export const eventFlag = listFlag(
  'type of events to send, such as job.failed; may be given several times (default: all)',
);

export const addressDescription = 'address to which events are posted, such as https://example.com/hooks';

export const addressFlag = Flags.string({ description: addressDescription });
