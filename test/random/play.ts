import { setTimeout as delay } from 'node:timers/promises';
import { openInstallation } from './installation.ts';
import { Mismatch, Model, type Trace } from './model.ts';
import { NODES, type PlacedOperation, type Step } from './operations.ts';
import { prepare } from './perform.ts';
import { type Compared, settle } from './settle.ts';

export interface Played extends Compared {
  readonly steps: number;
  readonly operations: number;
  readonly settles: number;
  /** Null: everything was as it should be. */
  readonly mismatch: { readonly step: number; readonly message: string } | null;
}

const LABELS_SHOWN = 30;

/** Do these steps on an installation of their own, and compare it with the model wherever they settle. */
export async function play(steps: readonly Step[]): Promise<Played> {
  const installation = await openInstallation();
  const model = new Model();
  const labels: string[] = [];
  const played = { steps: 0, operations: 0, settles: 0, documents: 0, searches: 0, rows: 0 };
  try {
    for (const { operations, settles } of steps) {
      played.steps++;
      const runs = operations.flatMap((placed) => {
        const run = prepare(installation, model, placed);
        return run === null ? [] : [{ run, placed }];
      });
      const traces = await allOf(runs.map(({ run, placed }) => later(placed, run)));
      played.operations += traces.length;
      labels.push(
        `step ${played.steps}${settles ? ', then settled' : ''}:`,
        ...traces.map(({ label }) => `  ${label}`),
      );
      model.addStep(traces);
      if (!settles && played.steps < steps.length) continue;
      const compared = await settle(installation, model, played.settles++ % (NODES * 6));
      played.documents += compared.documents;
      played.searches += compared.searches;
      played.rows = compared.rows;
    }
    return { ...played, mismatch: null };
  } catch (error) {
    const message = error instanceof Mismatch ? error.message : String((error as Error)?.stack ?? error);
    const story = labels.slice(-LABELS_SHOWN).join('\n');
    return { ...played, mismatch: { step: played.steps, message: `${message}\nthe last operations:\n${story}` } };
  } finally {
    await installation.close();
  }
}

async function later({ operation, afterMs }: PlacedOperation, run: () => Promise<Trace | null>): Promise<Trace[]> {
  await delay(afterMs);
  try {
    return [(await run()) ?? []].flat();
  } catch (error) {
    if (error instanceof Mismatch) throw error;
    throw new Error(`${JSON.stringify(operation)} failed`, { cause: error });
  }
}

/** As `Promise.all`, but nothing goes on in the background once it has failed. */
async function allOf(runs: readonly Promise<Trace[]>[]): Promise<Trace[]> {
  await Promise.allSettled(runs);
  return (await Promise.all(runs)).flat();
}
