import { createInterface } from 'node:readline/promises';
import { conflict, invalidRequest } from '../platform/errors.ts';

/**
 * Have a destructive command confirmed: by `--yes`, or by a person at a terminal.
 *
 * @throws AppError `confirmation_missing` (400) where there is nobody to ask, `not_confirmed` (409)
 */
export async function confirm(question: string, yes: boolean, signal: AbortSignal): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw invalidRequest(`${question} Say so with --yes.`, 'yes', 'confirmation_missing');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw conflict('not confirmed; nothing was changed', 'not_confirmed');
  } finally {
    terminal.close();
  }
}
