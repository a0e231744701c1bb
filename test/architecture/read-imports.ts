import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

/** One file that names another one of the project. */
export interface Import {
  /** Both relative to the root, with `/`. */
  readonly from: string;
  readonly to: string;
  readonly line: number;
  /** `start`: a module that runs on a thread or in a process of its own. */
  readonly kind: 'import' | 'start';
}

const SOURCES = ['bin/**/*.js', 'commands/**/*.ts', 'server/**/*.ts', 'src/**/*.ts', 'src/**/*.tsx'];

/** Source files of a checkout. AssemblyScript (`*.as.ts`) is compiled by itself and imports only its own. */
export function listSources(root: string): string[] {
  const files = globSync(SOURCES, { cwd: root }).map((file) => file.split(path.sep).join('/'));
  return files.filter((file) => !file.endsWith('.as.ts')).sort();
}

/**
 * Every relative import of a file: static, type-only, re-exported, dynamic, in a type (`typeof import('…')`), and modules
 * that are started on a thread or in a process (`new URL('…', import.meta.url)`).
 */
export function readImports(root: string, file: string): Import[] {
  const source = readFileSync(path.join(root, file), 'utf8');
  const { program } = parseSync(file, source);
  const found: { readonly specifier: unknown; readonly start: number; readonly kind: Import['kind'] }[] = [];
  const add = (node: object | null | undefined, kind: Import['kind'] = 'import') => {
    if (node && 'value' in node && 'start' in node)
      found.push({ specifier: node.value, start: Number(node.start), kind });
  };
  new Visitor({
    ImportDeclaration: (node) => add(node.source),
    ExportNamedDeclaration: (node) => add(node.source),
    ExportAllDeclaration: (node) => add(node.source),
    ImportExpression: (node) => add(node.source),
    TSImportType: (node) => add(node.source),
    NewExpression: (node) => {
      if (node.callee.type === 'Identifier' && node.callee.name === 'URL') add(node.arguments[0], 'start');
    },
  }).visit(program);
  return found.flatMap(({ specifier, start, kind }) => {
    if (typeof specifier !== 'string' || !/^\.{1,2}\/.*\.(?:tsx?|js)$/.test(specifier)) return [];
    const to = path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier));
    return [{ from: file, to, line: source.slice(0, start).split('\n').length, kind }];
  });
}
