import { createInterface } from 'node:readline/promises';
import { type AppError, conflict, invalidRequest } from '../platform/errors.ts';

/** Return true if a user can be asked at a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Ask a user at a terminal, and return the answer without surrounding blanks. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    return (await terminal.question(`${question} `, { signal })).trim();
  } finally {
    terminal.close();
  }
}

/**
 * Require confirmation of a destructive command: by `--yes`, or by a user at a terminal.
 *
 * @throws AppError `confirmation_missing` (400) if no user can be asked, `not_confirmed` (409)
 */
export async function confirm(question: string, yes: boolean, signal: AbortSignal): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw invalidRequest(`${question} Confirm with --yes.`, 'yes', 'confirmation_missing');
  if (!/^y(es)?$/i.test(await ask(`${question} [y/N]`, signal))) throw notConfirmed();
}

/** Create the error 409 `not_confirmed`. */
export function notConfirmed(): AppError {
  return conflict('the command was not confirmed; nothing was changed', 'not_confirmed');
}
