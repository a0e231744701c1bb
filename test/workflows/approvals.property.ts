import { expect } from 'vitest';
import { AppError } from '../../src/platform/errors.ts';
import type { SeededRandom } from '../support/random.ts';
import { drawApprovals, drawDefinition, sideEffectsOf } from './draw-definition.ts';
import { type Call, openRecorder, runTest } from './recording.ts';

const MODES = ['live', 'live', 'live', 'simulate', 'dry_run'] as const;
const SIDE_EFFECTS = ['upload', 'updateMetadata', 'sendNotification'];

/** Read the mark of a side effect from the arguments of its call. */
function markOf({ operation, args }: Call): string {
  const given = args as Record<string, unknown>;
  if (operation === 'upload') return String(given['filename']).replace('.txt', '');
  if (operation === 'updateMetadata') return Object.keys(given['metadata'] as object)[0] as string;
  return String(given['template_code']);
}

/**
 * Run random definitions on recorded operations, of which some fail, and check every side effect: it happens in a live
 * run only, at most once, only for an approved block, and exactly for the blocks that say so.
 *
 * @returns number of side effects that happened, and number of blocks that were kept from theirs
 */
export async function checkApprovals(random: SeededRandom, runs: number): Promise<{ done: number; withheld: number }> {
  let done = 0;
  let withheld = 0;
  for (let at = 0; at < runs; at++) {
    const definition = drawDefinition(random, `d${at}`);
    const approvals = drawApprovals(random, definition);
    const mode = random.pick(MODES);
    const recorder = openRecorder(random.int(4) === 0 ? { sendNotification: refuse } : {});
    const inputs = { topic: 'pumps', flag: random.int(2) === 0, note: random.pick([null, 'n', '']) };
    const approved = Object.keys(approvals).filter((id) => approvals[id] === true);
    const outcome = await runTest(definition, { mode, inputs, approved, recorder });
    const happened = recorder.calls.filter(({ operation }) => SIDE_EFFECTS.includes(operation)).map(markOf);
    const expected = outcome.blocks
      .filter(({ id, status }) => sideEffectsOf(definition).includes(id) && wasCalled(outcome.recorded, id, status))
      .map(({ id }) => `d${at}-${id}`);
    const about = JSON.stringify({ mode, approvals, definition });
    expect(happened.toSorted(), about).toEqual(expected.toSorted());
    expect(new Set(happened).size, about).toBe(happened.length);
    if (mode !== 'live') expect(happened, about).toEqual([]);
    for (const mark of happened) expect(approved, about).toContain(mark.split('-')[1]);
    done += happened.length;
    withheld += outcome.blocks.filter(({ status }) => status === 'needs_approval' || status === 'simulated').length;
  }
  return { done, withheld };
}

function refuse(): never {
  throw new AppError({ code: 'notification_not_accepted', status: 502, message: 'not accepted' });
}

/** Return true if a block has run: completed, or failed after it had begun. */
function wasCalled(recorded: readonly string[], id: string, status: string): boolean {
  return status === 'completed' || (status === 'failed' && recorded.includes(`${id} running`));
}
