import { createInterface } from 'node:readline/promises';
import { type AppError, conflict, invalidRequest } from '../platform/errors.ts';

/** Return true if there is a terminal at which to ask the user. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * Ask a user at a terminal, and return the trimmed answer, or null if the input ends (Ctrl-D). `node:readline/promises`
 * never settles a question whose input ends.
 */
export async function ask(question: string, signal: AbortSignal): Promise<string | null> {
  if (process.stdin.readableEnded) return null;
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const ended = new Promise<null>((resolve) => terminal.once('close', () => resolve(null)));
    const answer = await Promise.race([terminal.question(`${question} `, { signal }), ended]);
    // The cursor is still behind the question.
    if (answer === null) process.stderr.write('\n');
    return answer?.trim() ?? null;
  } finally {
    terminal.close();
  }
}

/**
 * Require confirmation of a destructive command: by `--yes`, or by a user at a terminal.
 *
 * @throws AppError `confirmation_missing` (400) without a terminal, `not_confirmed` (409)
 */
export async function confirm(question: string, yes: boolean, signal: AbortSignal): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw invalidRequest(`${question} Confirm with --yes.`, 'yes', 'confirmation_missing');
  if (!isYes(await ask(`${question} [y/N]`, signal))) throw notConfirmed();
}

/** Return true if the answer to a question is yes. */
export function isYes(answer: string | null): boolean {
  return answer !== null && /^y(es)?$/i.test(answer);
}

/** Create the error 409 `not_confirmed`. */
export function notConfirmed(): AppError {
  return conflict('the command was not confirmed; nothing was changed', 'not_confirmed');
}
