import { createInterface } from 'node:readline/promises';
import { type AppError, conflict, invalidRequest } from '../platform/errors.ts';

/** Whether there is a person at a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** What a person at a terminal answers, without the blanks around it. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    return (await terminal.question(`${question} `, { signal })).trim();
  } finally {
    terminal.close();
  }
}

/**
 * Have a destructive command confirmed: by `--yes`, or by a person at a terminal.
 *
 * @throws AppError `confirmation_missing` (400) where there is nobody to ask, `not_confirmed` (409)
 */
export async function confirm(question: string, yes: boolean, signal: AbortSignal): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw invalidRequest(`${question} Say so with --yes.`, 'yes', 'confirmation_missing');
  if (!/^y(es)?$/i.test(await ask(`${question} [y/N]`, signal))) throw notConfirmed();
}

/** 409 `not_confirmed`. */
export function notConfirmed(): AppError {
  return conflict('not confirmed; nothing was changed', 'not_confirmed');
}
