import type { ErrorCategory } from '../types.ts';
import { currentLanguage, type Message, t } from './i18n.ts';

/** Sentence for each category of a failure, for people who read another language than English. */
const SENTENCES: Readonly<Record<ErrorCategory, Message>> = {
  unsupported_type: 'This kind of file cannot be read.',
  encrypted: 'The file is protected by a password.',
  corrupt: 'The file is damaged.',
  too_large: 'The file, or a text in it, is too large.',
  timeout: 'It took longer than it may.',
  out_of_memory: 'It needed more memory than it may use.',
  upstream_unavailable: 'The vendor of the model did not answer.',
  upstream_rejected: 'The vendor of the model refused the texts.',
  quota: 'The quota of the plan is used up.',
  not_comparable: 'The vectors cannot be compared with those of the bucket.',
  storage: 'A stored file or the storage could not be used.',
  poison: 'Its worker crashed several times, so it is not tried again.',
  stale: 'It did no work for a long time; process it again.',
  internal: 'The service made an error.',
};

interface Failure {
  readonly error_message: string | null;
  readonly error_category: string | null;
}

/**
 * Return the reason of a failure. The service writes it in English, with details. In another language the category has
 * a sentence; a failure of an unknown category keeps the English one.
 */
export function reasonOf({ error_message: message, error_category: category }: Failure): string | null {
  if (currentLanguage() === 'en' || category === null || !Object.hasOwn(SENTENCES, category)) return message;
  return t(SENTENCES[category as ErrorCategory]);
}

/** Return the English reason if `reasonOf` shows a translated sentence in its place. */
export function originalReasonOf(failure: Failure): string | null {
  return reasonOf(failure) === failure.error_message ? null : failure.error_message;
}
