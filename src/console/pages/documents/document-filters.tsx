import { useEffect, useState } from 'preact/hooks';
import { t, translateName } from '../../lib/i18n.ts';
import { replaceQuery } from '../../lib/router.ts';
import type { BucketContents, DocumentStatus } from '../../types.ts';

const STATUSES: readonly DocumentStatus[] = ['queued', 'processing', 'ready', 'failed'];
/** Time after the last key before the list is searched. */
const TYPING_MS = 250;

interface DocumentFiltersProps {
  readonly name: string;
  readonly type: string;
  readonly status: string;
  readonly types: BucketContents['types'];
}

/** Fields that narrow the list of documents. Their values are in the address of the page. */
export function DocumentFilters({ name, type, status, types }: DocumentFiltersProps) {
  const [typed, setTyped] = useState(name);
  useEffect(() => setTyped(name), [name]);
  useEffect(() => {
    if (typed.trim() === name) return;
    const timer = setTimeout(() => replaceQuery({ name: typed.trim() }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, name]);
  return (
    <>
      <input
        class="input"
        type="search"
        maxLength={200}
        aria-label={t('Search in names')}
        placeholder={t('Search in names')}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <select
        class="input"
        aria-label={t('Type')}
        value={type}
        onChange={(event) => replaceQuery({ type: event.currentTarget.value })}
      >
        <option value="">{t('Every type')}</option>
        {types.map((each) => (
          <option key={each.type} value={each.type}>
            {`${each.type} (${each.documents})`}
          </option>
        ))}
      </select>
      <select
        class="input"
        aria-label={t('State')}
        value={status}
        onChange={(event) => replaceQuery({ status: event.currentTarget.value })}
      >
        <option value="">{t('Every state')}</option>
        {STATUSES.map((each) => (
          <option key={each} value={each}>
            {translateName(each)}
          </option>
        ))}
      </select>
    </>
  );
}
