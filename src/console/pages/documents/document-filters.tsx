import { useEffect, useState } from 'preact/hooks';
import { t, translateName } from '../../lib/i18n.ts';
import { replaceQuery } from '../../lib/router.ts';
import type { BucketContents, DocumentStatus } from '../../types.ts';
import { QuerySelect } from '../../ui/query-select.tsx';

const STATUSES: readonly DocumentStatus[] = ['queued', 'processing', 'ready', 'failed'];
/** Delay after the last key press before searching the list. */
const TYPING_MS = 250;

interface DocumentFiltersProps {
  readonly name: string;
  readonly type: string;
  readonly status: string;
  readonly types: BucketContents['types'];
}

/** Fields that filter the list of documents. Their values are in the page's URL. */
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
      <QuerySelect
        label={t('Type')}
        parameter="type"
        value={type}
        all={t('Every type')}
        options={types.map((each) => ({ value: each.type, label: `${each.type} (${each.documents})` }))}
      />
      <QuerySelect
        label={t('State')}
        parameter="status"
        value={status}
        all={t('Every state')}
        options={STATUSES.map((each) => ({ value: each, label: translateName(each) }))}
      />
    </>
  );
}
