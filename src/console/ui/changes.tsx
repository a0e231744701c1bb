import { t, translateName } from '../lib/i18n.ts';

interface ChangesProps {
  readonly before: Readonly<Record<string, unknown>>;
  readonly after: Readonly<Record<string, unknown>>;
}

/** Fields that a change modifies, with values before and after. */
export function Changes({ before, after }: ChangesProps) {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (fields.length === 0) return null;
  return (
    <ul>
      {fields.map((field) => (
        <li key={field} class="quiet">
          {nameOf(field)}: {textOf(field, before[field])} → {textOf(field, after[field])}
        </li>
      ))}
    </ul>
  );
}

const METADATA = /^metadata\./;

function nameOf(field: string): string {
  switch (field) {
    case 'privacy_level':
      return t('Privacy level');
    case 'classification':
      return t('Classification');
    case 'review_status':
      return t('Review');
    case 'public_accessible':
      return t('Public');
    case 'scope':
      return t('Department');
    case 'searchable':
      return t('Searchable');
    default:
      return field.replace(METADATA, '');
  }
}

function textOf(field: string, value: unknown): string {
  if (typeof value === 'boolean') return value ? t('Yes') : t('No');
  if (value === null || value === undefined) return field === 'scope' ? t('All') : '–';
  return field === 'classification' || field === 'review_status' ? translateName(String(value)) : String(value);
}
