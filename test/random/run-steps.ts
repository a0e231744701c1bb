import { setTimeout as delay } from 'node:timers/promises';
import type { TestMilvus } from '../support/milvus.ts';
import { openInstallation } from './installation.ts';
import { Mismatch, Model, type Trace } from './model.ts';
import { NODES, type PlacedOperation, type Step } from './operations.ts';
import { prepare } from './perform.ts';
import { type Compared, settle } from './settle.ts';

export interface RunResult extends Compared {
  readonly steps: number;
  readonly operations: number;
  readonly settles: number;
  /** First mismatch with the model, or null. */
  readonly mismatch: { readonly step: number; readonly message: string } | null;
}

const LABELS_SHOWN = 30;

/** Run steps on a new installation, and compare it with the model after every step that settles. */
export async function runSteps(steps: readonly Step[], milvus: TestMilvus | null = null): Promise<RunResult> {
  const installation = await openInstallation(milvus);
  const model = new Model();
  const labels: string[] = [];
  const result = { steps: 0, operations: 0, settles: 0, documents: 0, searches: 0, rows: 0 };
  try {
    for (const { operations, settles } of steps) {
      result.steps++;
      const runs = operations.flatMap((placed) => {
        const run = prepare(installation, model, placed);
        return run === null ? [] : [{ run, placed }];
      });
      const traces = await allOf(runs.map(({ run, placed }) => runAfterDelay(placed, run)));
      result.operations += traces.length;
      labels.push(
        `step ${result.steps}${settles ? ', then settled' : ''}:`,
        ...traces.map(({ label }) => `  ${label}`),
      );
      model.addStep(traces);
      if (!settles && result.steps < steps.length) continue;
      const compared = await settle(installation, model, result.settles++ % (NODES * 6));
      result.documents += compared.documents;
      result.searches += compared.searches;
      result.rows = compared.rows;
    }
    return { ...result, mismatch: null };
  } catch (error) {
    const message = error instanceof Mismatch ? error.message : String((error as Error)?.stack ?? error);
    const history = labels.slice(-LABELS_SHOWN).join('\n');
    return { ...result, mismatch: { step: result.steps, message: `${message}\nthe last operations:\n${history}` } };
  } finally {
    await installation.close();
  }
}

async function runAfterDelay(
  { operation, afterMs }: PlacedOperation,
  run: () => Promise<Trace | null>,
): Promise<Trace[]> {
  await delay(afterMs);
  try {
    return [(await run()) ?? []].flat();
  } catch (error) {
    if (error instanceof Mismatch) throw error;
    throw new Error(`${JSON.stringify(operation)} failed`, { cause: error });
  }
}

/** Wait like `Promise.all`, but also for the other operations after one has failed. */
async function allOf(runs: readonly Promise<Trace[]>[]): Promise<Trace[]> {
  await Promise.allSettled(runs);
  return (await Promise.all(runs)).flat();
}
