import { createRequire } from 'node:module';
import type { Document } from 'yaml';
import type { z } from 'zod';
import { SETTING_VARIABLES } from './environment.ts';
import { findNearest } from './nearest-word.ts';
import { keysAt } from './settings-schema.ts';
import { mostTelling } from './zod-faults.ts';

const require = createRequire(import.meta.url);
let loaded: typeof import('yaml') | null = null;

/** Load the parser once there is a service.yaml, since loading takes a while. */
function yaml(): typeof import('yaml') {
  loaded ??= require('yaml') as typeof import('yaml');
  return loaded;
}

/** service.yaml as a document that knows the position of each setting. */
export interface SettingsText {
  readonly document: Document;
  /** Return file, line, column and path of a setting. For a missing one, return those of the setting around it. */
  placeOf(keys: readonly string[]): string;
}

/**
 * Parse service.yaml. Add the first syntax fault to `faults`, with its place; others may follow from it. Do not repeat
 * the parser's own message: it contains parts of the text, which may be secrets.
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

/** Source of a setting: service.yaml if the file exists, unless a variable or a flag replaces it. */
export interface FaultSources {
  readonly schema: z.ZodType;
  readonly text: SettingsText | null;
  /** Return true if the value in force at this path is that of service.yaml. */
  readonly isFromFile: (keys: readonly string[]) => boolean;
}

/**
 * Describe the faults of settings, each once and on one line: the file with line and column, the path of the key, the
 * value found and the values allowed, and for an unknown key the nearest known one. Values of variables and secrets are
 * never shown.
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
  // Other faults concern several settings. This one may be right.
  const allowed = allowedValues(issue).map(String);
  const found = issue.code === 'custom' ? null : foundAt(keys, allowed, sources);
  return [`${placeOf(keys, sources)}: ${message}${found === null ? '' : `; found ${found}`}`];
}

/** List the allowed values; for a union those of the key that chooses its branch. */
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

/** Return file, line, column and path of a setting; for a setting of the environment its variable and the path. */
function placeOf(keys: readonly string[], { text, isFromFile }: FaultSources): string {
  if (text !== null && isFromFile(keys)) return text.placeOf(keys);
  const name = keys.join('.') || 'service.yaml';
  const variable = Object.entries(SETTING_VARIABLES).find(([, setting]) => setting.join('.') === name)?.[0];
  return variable === undefined ? name : `${name} (${variable})`;
}

/** Return the offset of a setting: of its key, or for a missing one of the nearest setting around it. */
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
 * Describe the value of a setting as service.yaml has it, so that no variable is shown. A text may be a secret in the
 * wrong place. It is shown only if it is a typing error of an allowed value.
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
