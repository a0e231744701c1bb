/** Statement of a migration that a process of the release before could fail on. */
export interface UnsafeStatement {
  readonly rule: string;
  readonly statement: string;
}

/**
 * Statements that break processes of an earlier release, which run beside those of the new one during a rolling upgrade:
 * they name tables and columns that must stay, and write rows that the new schema must accept.
 */
const RULES: readonly (readonly [rule: string, pattern: RegExp])[] = [
  ['drops a table', /\bDROP\s+TABLE\b/i],
  ['drops a column', /\bDROP\s+COLUMN\b/i],
  ['drops a function, view, type or sequence', /\bDROP\s+(FUNCTION|VIEW|MATERIALIZED\s+VIEW|TYPE|SEQUENCE|SCHEMA)\b/i],
  ['renames', /\bRENAME\b/i],
  ['changes the type of a column', /\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b/i],
  ['forbids null', /\bSET\s+NOT\s+NULL\b/i],
  ['drops a default', /\bDROP\s+DEFAULT\b/i],
  ['removes all rows', /\bTRUNCATE\b/i],
];

/**
 * Find the statements that a rolling upgrade does not survive. A migration may declare that nothing uses what it removes
 * by a line at its head, `-- unused-since: N`, where N is the newest migration of the first release that does not use
 * it; `-- minimum-compatible-version` must then be at least N, so that older processes refuse to start.
 *
 * @param created tables that earlier migrations have created
 */
export function findUnsafeStatements(text: string, created: ReadonlySet<string>): UnsafeStatement[] {
  const unusedSince = Number(/^--\s*unused-since:\s*(\d+)\s*$/m.exec(text)?.[1] ?? Number.NaN);
  const minimum = Number(/^--\s*minimum-compatible-version:\s*(\d+)\s*$/m.exec(text)?.[1] ?? 0);
  if (minimum >= unusedSince) return [];
  return statementsOf(text).flatMap((statement) =>
    brokenRules(statement, text, created).map((rule) => ({ rule, statement })),
  );
}

function brokenRules(statement: string, text: string, created: ReadonlySet<string>): string[] {
  const rules = RULES.filter(([, pattern]) => pattern.test(statement)).map(([rule]) => rule);
  const table = /\bALTER\s+TABLE\s+(?:ONLY\s+)?(\w+)/i.exec(statement)?.[1];
  for (const added of statement.split(/,(?![^(]*\))/)) {
    if (!/\bADD\s+(COLUMN\s+)?(?!CONSTRAINT\b|CHECK\b|UNIQUE\b|FOREIGN\b|PRIMARY\b)\w+/i.test(added)) continue;
    if (/\bNOT\s+NULL\b/i.test(added) && !/\bDEFAULT\b|\bGENERATED\b/i.test(added)) {
      rules.push('adds a column that is not null and has no default');
    }
  }
  if (table !== undefined && created.has(table) && addsConstraint(statement, text)) {
    rules.push('adds a constraint to an existing table');
  }
  const [, indexed, columns = ''] = /\bCREATE\s+UNIQUE\s+INDEX\s+\w+\s+ON\s+(\w+)\s*\(([^)]*)\)/i.exec(statement) ?? [];
  if (indexed !== undefined && created.has(indexed) && !hasNew(columns, indexed, text)) {
    rules.push('adds a unique index to an existing table');
  }
  return rules;
}

/** A column that the same migration adds is null in all rows that older processes write, and nulls are not equal. */
function hasNew(columns: string, table: string, text: string): boolean {
  return columns.split(',').some((column) => {
    const added = new RegExp(`\\bALTER TABLE ${table} ADD COLUMN ${column.trim()} (?![^;]*\\bDEFAULT\\b)`, 'i');
    return /^\s*\w+\s*$/.test(column) && added.test(text);
  });
}

/** A constraint that replaces the one of its name, dropped in the same migration, widens what the table accepts. */
function addsConstraint(statement: string, text: string): boolean {
  const name = /\bADD\s+CONSTRAINT\s+(\w+)/i.exec(statement)?.[1];
  if (name !== undefined) return !new RegExp(`\\bDROP\\s+CONSTRAINT\\s+${name}\\b`, 'i').test(text);
  return /\bADD\s+(CHECK|UNIQUE|FOREIGN|PRIMARY)\b/i.test(statement);
}

/** Split a migration into statements, without comments and bodies of functions. */
function statementsOf(text: string): string[] {
  return text
    .replace(/--.*$/gm, '')
    .replace(/\$\$[\s\S]*?\$\$/g, "''")
    .replace(/'(?:[^']|'')*'/g, "''")
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}
