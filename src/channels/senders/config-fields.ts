import { z } from 'zod';
import { isPlainName, PLAIN_NAME_RULE } from '../../platform/printable.ts';
import type { SenderConfig } from './sender.ts';

/** Schema of a credential that is sent in a header or signs requests: printable ASCII without spaces. */
export const credential = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
  .regex(/^[\x21-\x7e]{1,4096}$/, 'must be printable ASCII without spaces');

/** Build the schema of a field that isn't a credential. */
export function plainField(charsMax: number) {
  return z
    .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
    .min(1, 'must not be empty')
    .max(charsMax, `must have at most ${charsMax} characters`)
    .refine(isPlainName, PLAIN_NAME_RULE);
}

/** Require the sender's number if text messages are to be sent. */
export function withSender<Output extends SenderConfig, Schema extends z.ZodType<Output, object>>(
  schema: Schema,
): Schema {
  return schema.refine(({ resend, sms_from }) => !resend || sms_from !== undefined, {
    message: 'is required if resend is true: the sender number that is registered at the vendor',
    path: ['sms_from'],
  });
}

/** Offset of Korean time, which has no daylight saving time. */
const SEOUL_OFFSET_MS = 9 * 3_600_000;

/** Format a time as `2026-11-29 23:40:39` in Korean time, for vendors' queries. */
export function seoulTime(date: Date): string {
  const shifted = new Date(date.getTime() + SEOUL_OFFSET_MS).toISOString();
  return shifted.slice(0, 'yyyy-mm-ddThh:mm:ss'.length).replace('T', ' ');
}
