import type { ErrorCategory } from '../types.ts';
import { currentLanguage, type Message, t } from './i18n.ts';

/** Sentence for each failure category, for languages other than English. */
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
  source_settings: 'The settings of the source or of its connection do not fit.',
  source_missing: 'The place of the source is not there.',
  source_refused: 'The service may not read the place of the source.',
  source_unavailable: 'The place of the source does not answer as it should.',
  source_too_large: 'The source has too many entries; narrow it, or split it into several.',
  source_emptied: 'The source has no entries now. Its documents were kept; check that it is mounted and complete.',
  source_deleted: 'The source or its bucket was deleted, or a newer synchronisation has begun.',
  source_entries: 'Some entries could not be read. The others are up to date.',
};

/** Sentence for each error code of a local model's installation. */
const INSTALLATION_SENTENCES: Readonly<Record<string, Message>> = {
  hub_refused: 'The hub refuses access to the model.',
  hub_model_not_found: 'The hub has no such model or revision.',
  hub_unavailable: 'The hub cannot be reached.',
  hub_answer_invalid: 'The answer of the hub cannot be used.',
  hub_checksum_mismatch: 'A file arrived with other bytes than the hub names.',
  model_invalid: 'The source holds no model that can be used.',
  model_setting_missing: 'The source lacks a setting of the model.',
  model_source_unsafe: 'The source has files that no model has.',
  model_unusable: 'The model does not run on this host.',
  model_dimension_differs: 'A model of this name has another dimension.',
  installation_interrupted: 'The server stopped in the middle of the installation.',
  storage_full: 'The disk is full.',
  model_variant_missing: 'The source holds no model that can be used.',
};

const ALL_SENTENCES: Readonly<Record<string, Message>> = { ...SENTENCES, ...INSTALLATION_SENTENCES };

/** Failure with a category, or with a sentence supplied by its page. */
export interface Failure {
  readonly error_message: string | null;
  readonly error_category?: string | null;
  readonly sentence?: string;
}

/**
 * Return the reason of a failure. The service writes it in English, with details. In other languages, use the
 * category's sentence, or the English reason for an unknown category.
 */
export function reasonOf({ error_message: message, error_category: category, sentence }: Failure): string | null {
  if (currentLanguage() === 'en') return message;
  const known = ALL_SENTENCES[category ?? ''];
  return sentence ?? (known === undefined ? message : t(known));
}

/** Return the English reason if `reasonOf` returns a translated sentence instead. */
export function originalReasonOf(failure: Failure): string | null {
  return reasonOf(failure) === failure.error_message ? null : failure.error_message;
}
