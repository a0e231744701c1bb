import { styleText } from 'node:util';
import type { Config } from '@oclif/core';
import { processEnvironment } from '../platform/environment.ts';
import { EXIT, type Failure } from './exit-codes.ts';

type Style = Parameters<typeof styleText>[0];

/** Return the terminal's columns, or null if the output isn't a terminal, so that nothing is wrapped or cut. */
export function terminalColumns(stream: NodeJS.WriteStream = process.stdout): number | null {
  return stream.isTTY ? stream.columns || 80 : null;
}

/** Return true if a terminal can redraw a view, that is, move its cursor (not TERM=dumb). */
export function hasScreen(stream: NodeJS.WriteStream = process.stdout): boolean {
  return stream.isTTY === true && processEnvironment()['TERM'] !== 'dumb';
}

/** Style a text for `stream`. Leave it plain without a terminal or with colours switched off (NO_COLOR). */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream });
}

/** Return true if `paint` has an effect. */
export function hasColours(stream: NodeJS.WriteStream = process.stdout): boolean {
  return paint('bold', 'x', stream) !== 'x';
}

/** Return true if the output should be JSON. Works even before parsing and with invalid flags. */
export function wantsJson(config: Config, argv: readonly string[]): boolean {
  return hasSwitch(config, argv, 'json');
}

/** Return true if a boolean flag is set. Works even before parsing and with invalid flags. */
export function hasSwitch(config: Config, argv: readonly string[], name: 'json' | 'quiet'): boolean {
  const end = argv.indexOf('--');
  const flags = end === -1 ? argv : argv.slice(0, end);
  // oclif accepts these values as true in a flag's environment variable.
  return flags.includes(`--${name}`) || /^(1|true|y|yes)$/i.test(config.scopedEnvVar(name.toUpperCase()) ?? '');
}

/** Print a line of the result. A write error, as on a full disk, makes the command fail. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Print a part of the result, without adding a line break. */
export function printText(text: string): void {
  process.stdout.write(text);
}

/** Print a command's only JSON document: on one line, or indented on a terminal. */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, process.stdout.isTTY ? 2 : 0));
}

/** Pattern of commands in the service's messages, which use its own name, and the program as the user typed it. */
let printed: { readonly commands: RegExp; readonly program: string } | null = null;

/**
 * Make commands in notes and failures copyable.
 * @param program the program as the user typed it, such as `bin/service`
 * @param words first words of all commands
 */
export function printCommandsAs(program: string, words: readonly string[]): void {
  const commands = new RegExp(`(?<![\\w/.-])service (?=(?:${words.join('|')})\\b)`, 'g');
  printed = program === 'service' ? null : { commands, program };
}

/** Replace the program name in a message's commands by what the user typed. */
export function asTyped(message: string): string {
  return printed === null ? message : message.replace(printed.commands, `${printed.program} `);
}

/** Print a failure on stderr (with `--json`, also as a document on stdout), and set the exit code. */
export function printFailure(failure: Failure, options: { json: boolean; bin: string; help?: string }): void {
  process.exitCode = failure.exitCode;
  const message = asTyped(failure.message);
  if (options.json) printJson({ error: { code: failure.code, message } });
  const help = failure.code === 'usage' && options.help !== undefined ? ` (see ${asTyped(options.help)})` : '';
  process.stderr.write(`${options.bin}: ${message}${help}\n`);
  if (failure.exitCode === EXIT.dependency) process.stderr.write(`See: ${asTyped(`${options.bin} doctor`)}\n`);
}

let isQuiet = false;

/** Switch progress, notes and warnings of this command off or on. Results and errors always appear. */
export function setQuiet(quiet: boolean): void {
  isQuiet = quiet;
}

/** Return true if progress and notes are switched off. */
export function isQuietNow(): boolean {
  return isQuiet;
}

/** Print progress or a note for people on stderr, unless it is switched off. */
export function note(line: string): void {
  if (!isQuiet) process.stderr.write(`${asTyped(line)}\n`);
}
