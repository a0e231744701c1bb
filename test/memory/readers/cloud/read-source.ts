import { onTestFinished } from 'vitest';
import type { ListedEntry, ReadEntry, SourceReader } from '../../../../src/memory/readers/source-reader.ts';

export const BYTES_MAX = 50_000_000;
const { signal } = new AbortController();

/** List all entries of a source. Close it at the end of the test. */
export async function listAll(reader: SourceReader): Promise<ListedEntry[]> {
  onTestFinished(() => reader.close());
  const entries: ListedEntry[] = [];
  for await (const listing of reader.list(signal)) entries.push(...listing.entries);
  return entries;
}

/** Read entries, and return their texts by key. */
export async function textsOf(reader: SourceReader, entries: readonly ListedEntry[]): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const each of await reader.read(entries, signal)) {
    texts[each.key] = 'fault' in each ? `fault: ${each.fault}` : await textOf(each);
  }
  return texts;
}

export async function textOf({ content }: ReadEntry): Promise<string> {
  if (content === null) return '';
  if ('bytes' in content) return Buffer.from(content.bytes).toString();
  const parts: Buffer[] = [];
  for await (const part of content.openStream()) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
