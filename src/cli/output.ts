import { styleText } from 'node:util';
import type { Config } from '@oclif/core';
import { EXIT, type Failure } from './exit-codes.ts';

type Style = Parameters<typeof styleText>[0];

/** Columns of the terminal; null where the output goes elsewhere and should not be wrapped or cut. */
export function terminalColumns(stream: NodeJS.WriteStream = process.stdout): number | null {
  return stream.isTTY ? stream.columns || 80 : null;
}

/** Styled text for `stream`; plain where that is no terminal or colours are switched off (NO_COLOR). */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream });
}

/** Whether `paint` does anything. */
export function hasColours(stream: NodeJS.WriteStream = process.stdout): boolean {
  return paint('bold', 'x', stream) !== 'x';
}

/** Whether the answer is to be JSON, also where the flags were not or cannot be parsed. */
export function wantsJson(config: Config, argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const flags = end === -1 ? argv : argv.slice(0, end);
  // The values that oclif takes for true in a flag's variable.
  return flags.includes('--json') || /^(1|true|y|yes)$/i.test(config.scopedEnvVar('JSON') ?? '');
}

/** The one JSON document of a command: on one line, or indented for a person who looks at it. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, process.stdout.isTTY ? 2 : 0)}\n`);
}

/** Say what went wrong: words on stderr, with `--json` the document on stdout too. Sets the exit code. */
export function printFailure(failure: Failure, options: { json: boolean; bin: string; help?: string }): void {
  process.exitCode = failure.exitCode;
  if (options.json) printJson({ error: { code: failure.code, message: failure.message } });
  process.stderr.write(`${options.bin}: ${failure.message}\n`);
  if (failure.code === 'usage' && options.help !== undefined) process.stderr.write(`See: ${options.help}\n`);
  if (failure.exitCode === EXIT.dependency) process.stderr.write(`See: ${options.bin} doctor\n`);
}

/** Progress and notes for the person who waits; never on stdout. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}
