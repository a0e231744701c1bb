import type { EntryReaders } from '../source-reader.ts';

const GROUP = 'group:';

/**
 * Parse the users and groups of a row: email addresses and `group:NAME`, separated by commas, as a JSON list, or as a
 * PostgreSQL array. `*` means everyone. An empty value means nobody.
 */
export function readReaders(value: string | null): EntryReaders | 'everyone' {
  const names = namesIn(value?.trim() ?? '');
  if (names.includes('*')) return 'everyone';
  return {
    emails: names.filter((name) => !name.startsWith(GROUP)),
    groups: names.filter((name) => name.startsWith(GROUP)).map((name) => name.slice(GROUP.length).trim()),
  };
}

function namesIn(text: string): string[] {
  if (text.startsWith('[')) {
    try {
      return (JSON.parse(text) as unknown[]).filter((name) => typeof name === 'string');
    } catch {
      return [];
    }
  }
  const list = text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : text;
  return list
    .split(',')
    .map((name) => name.trim().replace(/^"(.*)"$/, '$1'))
    .filter((name) => name !== '');
}
