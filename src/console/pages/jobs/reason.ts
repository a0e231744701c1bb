import { currentLanguage, translateName } from '../../lib/i18n.ts';
import type { JobView } from '../../types.ts';

/** Reason of a failure. The service writes it in English; in another language its category comes first. */
export function reasonOf({ error_message: message, error_category: category }: JobView): string | null {
  if (message === null || category === null || currentLanguage() === 'en') return message;
  return `${translateName(category)} (${message})`;
}
