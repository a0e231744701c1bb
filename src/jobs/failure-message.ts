import { boundedLine } from '../platform/printable.ts';

/** Maximum length of a stored message. Every list of jobs includes it. */
const MESSAGE_CHARS_MAX = 2_000;

/** Message of a failure whose own message PostgreSQL refused. */
export const REFUSED_MESSAGE = 'the job failed, and its message could not be stored; the log of the worker has it';

/**
 * Make the message of a failure storable. Parts of it may come from a document or from a vendor, and PostgreSQL refuses
 * U+0000. Every statement that stores the message of a failed job passes it through this function.
 */
export function storedMessage(message: string): string {
  return boundedLine(message, MESSAGE_CHARS_MAX);
}
