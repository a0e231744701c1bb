import { printable } from '../platform/printable.ts';
import type { Block } from '../workflows/schema.ts';
import { ask, isYes } from './confirm.ts';
import { note, paint } from './output.ts';

/** Maximum characters to show of one argument. */
const SHOWN_CHARS = 4_000;

/** Create a function that shows what a block would do, and asks for approval at the terminal. */
export function askApproval(signal: AbortSignal) {
  return async (block: Pick<Block, 'id' | 'type'>, would: Readonly<Record<string, unknown>>): Promise<boolean> => {
    note(`\n${paint('bold', `Block ${block.id} (${block.type}) would run with:`, process.stderr)}`);
    for (const [name, value] of Object.entries(would)) note(indent(`${name}: ${shown(value)}`));
    return isYes(await ask(`Approve block ${block.id}? [y/N]`, signal));
  };
}

function shown(value: unknown): string {
  const text = printable(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'nothing'));
  if (text.length <= SHOWN_CHARS) return text;
  return `${text.slice(0, SHOWN_CHARS)}… and ${text.length - SHOWN_CHARS} more characters`;
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}
