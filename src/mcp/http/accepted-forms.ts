import { AppError } from '../../platform/errors.ts';

/** Response formats that a client accepts. */
export interface AcceptedForms {
  readonly json: boolean;
  readonly stream: boolean;
}

/** `Accept` value with both formats, which the protocol's library requires. */
export const BOTH_FORMS = 'application/json, text/event-stream';

const JSON_RANGES = new Set(['application/json', 'application/*', '*/*']);
const STREAM_RANGES = new Set(['text/event-stream', 'text/*', '*/*']);

/**
 * Read the `Accept` header (RFC 9110, section 12.5.1). Without it, a client accepts both formats.
 * @throws AppError `not_acceptable` (406) for a client that accepts neither
 */
export function readAccept(header: string | undefined): AcceptedForms {
  if (header === undefined || header.trim() === '') return { json: true, stream: true };
  const ranges = header
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .filter(([, ...parameters]) => !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)))
    .map(([range = '']) => range);
  const forms = {
    json: ranges.some((range) => JSON_RANGES.has(range)),
    stream: ranges.some((range) => STREAM_RANGES.has(range)),
  };
  if (forms.json || forms.stream) return forms;
  const message = 'the header Accept must allow application/json or text/event-stream';
  throw new AppError({ code: 'not_acceptable', status: 406, message });
}
