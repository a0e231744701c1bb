import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** Names of the objects that migrations create, in creation order. */
export interface SchemaObjects {
  readonly tables: readonly string[];
  readonly sequences: readonly string[];
  readonly functions: readonly string[];
}

/**
 * Read the names of tables, sequences and functions from the migrations. A table comes after the tables that it
 * references. The catalog doesn't show which tables are ours, since other programs may use the same database.
 */
export async function readSchemaObjects(directory: string): Promise<SchemaObjects> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  const texts = await Promise.all(files.map((name) => readFile(path.join(directory, name), 'utf8')));
  const text = texts.join('\n').replace(/--.*$/gm, '');
  return {
    tables: namesAfter(text, /\bCREATE\s+(?:UNLOGGED\s+)?TABLE\s+([a-z_][a-z0-9_]*)/gi),
    sequences: namesAfter(text, /\bCREATE\s+SEQUENCE\s+([a-z_][a-z0-9_]*)/gi),
    functions: namesAfter(text, /\bCREATE\s+(?:OR\s+REPLACE\s+)?FUNCTION\s+([a-z_][a-z0-9_]*)/gi),
  };
}

function namesAfter(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => (match[1] as string).toLowerCase()))];
}
