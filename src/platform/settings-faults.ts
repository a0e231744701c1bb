import { createRequire } from 'node:module';
import type { Document } from 'yaml';
import type { z } from 'zod';
import { SETTING_VARIABLES } from './environment.ts';
import { findNearest } from './nearest-word.ts';
import { keysAt } from './settings-schema.ts';
import { mostTelling } from './zod-faults.ts';

const require = createRequire(import.meta.url);
let loaded: typeof import('yaml') | null = null;

/** Load the parser only if there is a service.yaml, since loading it takes a while. */
function yaml(): typeof import('yaml') {
  loaded ??= require('yaml') as typeof import('yaml');
  return loaded;
}

/** Parsed service.yaml with the position of each setting. */
export interface SettingsText {
  readonly document: Document;
  /** Return file, line, column and path of a setting, or of its parent if it is missing. */
  placeOf(keys: readonly string[]): string;
}

/**
 * Parse service.yaml. Add the first syntax error and its position to `faults`; others may follow from it. Don't repeat
 * the parser's own message: it quotes the text, which may contain secrets.
 */
export function readSettingsText(file: string, text: string, faults: string[]): SettingsText {
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    const cause = error.code.toLowerCase().replaceAll('_', ' ');
    faults.push(`${file}:${line}:${col}: is not valid YAML (${cause}); see the indentation, quotes and brackets there`);
  }
  return {
    document,
    placeOf(keys) {
      const { line, col } = lines.linePos(offsetOf(document, keys));
      return `${file}:${line}:${col}: ${keys.join('.') || 'service.yaml'}`;
    },
  };
}

/** Sources of settings: service.yaml if it exists, unless a variable or flag replaces a setting. */
export interface FaultSources {
  readonly schema: z.ZodType;
  readonly text: SettingsText | null;
  /** Return true if the effective value at this path comes from service.yaml. */
  readonly isFromFile: (keys: readonly string[]) => boolean;
}

/**
 * Describe the faults of settings, each once and on one line: file, line and column, key path, value found and values
 * allowed, or the nearest known key for an unknown one. Never show values of variables or secrets.
 */
export function describeFaults(issues: readonly z.core.$ZodIssue[], sources: FaultSources): string[] {
  return [...new Set(issues.flatMap((issue) => describeIssue(issue, sources)))];
}

function describeIssue(issue: z.core.$ZodIssue, sources: FaultSources): string[] {
  const { message, path } = mostTelling(issue);
  const keys = path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(sources.schema, keys);
    return issue.keys.map((key) => {
      const nearest = findNearest(key, known);
      const hint = nearest === null ? allowedKeys(known) : `did you mean ${nearest}?`;
      return `${placeOf([...keys, key], sources)}: there is no such setting; ${hint}`;
    });
  }
  // Other faults concern several settings, and this value may be correct.
  const allowed = allowedValues(issue).map(String);
  const found = issue.code === 'custom' ? null : foundAt(keys, allowed, sources);
  return [`${placeOf(keys, sources)}: ${message}${found === null ? '' : `; found ${found}`}`];
}

/** List the allowed values; for a union, those of its discriminator. */
function allowedValues(issue: z.core.$ZodIssue): readonly unknown[] {
  if (issue.code === 'invalid_value') return issue.values;
  return issue.code === 'invalid_union' && 'options' in issue ? (issue.options ?? []) : [];
}

const KEYS_SHOWN_MAX = 12;

function allowedKeys(known: readonly string[]): string {
  if (known.length === 0) return 'remove it';
  return known.length <= KEYS_SHOWN_MAX
    ? `the settings here are ${known.join(', ')}`
    : '"service config example" lists all settings';
}

/** Return file, line, column and path of a setting, or its environment variable and path. */
function placeOf(keys: readonly string[], { text, isFromFile }: FaultSources): string {
  if (text !== null && isFromFile(keys)) return text.placeOf(keys);
  const name = keys.join('.') || 'service.yaml';
  const variable = Object.entries(SETTING_VARIABLES).find(([, setting]) => setting.join('.') === name)?.[0];
  return variable === undefined ? name : `${name} (${variable})`;
}

/** Return the offset of a setting's key, or of its nearest existing parent if it is missing. */
function offsetOf(document: Document, keys: readonly string[]): number {
  const { isMap, isNode, isScalar } = yaml();
  for (let depth = keys.length; depth > 0; depth--) {
    const parent = document.getIn(keys.slice(0, depth - 1), true);
    const last = keys[depth - 1];
    if (isMap(parent)) {
      const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === last);
      if (pair !== undefined && isNode(pair.key)) return pair.key.range?.[0] ?? 0;
      continue;
    }
    const node = document.getIn(keys.slice(0, depth), true);
    if (isNode(node)) return node.range?.[0] ?? 0;
  }
  return 0;
}

/**
 * Describe the value of a setting as written in service.yaml, so that no variable is shown. A string may be a misplaced
 * secret, so show it only if it is a misspelling of an allowed value.
 */
function foundAt(
  keys: readonly string[],
  allowed: readonly string[],
  { text, isFromFile }: FaultSources,
): string | null {
  if (text === null || keys.length === 0 || !isFromFile(keys)) return null;
  const { isMap, isScalar } = yaml();
  const node = text.document.getIn(keys, true);
  if (node === undefined) return null;
  if (!isScalar(node)) return isMap(node) ? 'a mapping' : 'a list';
  const { value } = node;
  if (typeof value !== 'string') return String(value);
  const nearest = findNearest(value, allowed);
  if (nearest === null) return `a text of ${value.length} characters`;
  return `${JSON.stringify(value)}; did you mean ${nearest}?`;
}
