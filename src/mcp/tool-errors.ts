import { AppError } from '../platform/errors.ts';

/** Advice by HTTP status, for a model that decides what to do next. */
const ADVICE: Readonly<Record<number, string>> = {
  400: 'Correct the argument and call the tool again.',
  401: 'The key or token is no longer valid; ask the person to renew it. Trying again does not help.',
  402: 'The quota of the organization is used up; tell the person. Trying again does not help.',
  403: 'The key or token is not allowed to do this; tell the person. Trying again does not help.',
  404: 'Check the name or id: service_list_buckets shows the buckets, service_search finds documents.',
  409: 'The state of the thing does not allow this now.',
  413: 'Send less at a time.',
  415: 'Send another type of content.',
};

/** Describe a failed call for a model: the fault, the argument and the next step, but never a stack. */
export function describeToolFailure(error: unknown): string {
  if (!(error instanceof AppError)) {
    return 'The tool server failed unexpectedly; its log says more. Try again later, or tell the person.';
  }
  const message = asSentence(error.message);
  switch (error.code) {
    case 'api_refused':
      return `${message} ${adviceOf(error)} (status ${error.status})`;
    case 'api_unreachable':
      return `${message} As far as is known, nothing was searched or changed. Try again in a moment; if it fails again, tell the person that the service does not answer.`;
    case 'server_busy':
      return `${message} Wait a few seconds, then call the tool again.`;
    default:
      return message;
  }
}

function adviceOf({ status, retryAfterSeconds }: AppError): string {
  if (status === 429 || status === 503) {
    return `Wait ${retryAfterSeconds ?? 5} seconds, then call the tool again.`;
  }
  if (status >= 500) return 'The fault is on the side of the service; try again once, then tell the person.';
  return ADVICE[status] ?? '';
}

/** Add a full stop to an API message. Don't capitalise it, since it may begin with the path of a field. */
function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
