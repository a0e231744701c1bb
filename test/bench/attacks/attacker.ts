/**
 * Thread that attacks a server, so that its own work (writing bodies) doesn't delay the searches that the benchmark
 * measures. Its first message says that its bodies are ready; then it waits for a message to start. Its last message
 * contains the count of each response status.
 */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { ATTACK_MS, ATTACKS, type Target } from './attacks.ts';

/** Data of the thread. */
export type Attacked = Omit<Target, 'count'> & { readonly name: string };

const { name, ...target } = workerData as Attacked;
const answers: Record<string, number> = {};
const count = (status: number) => {
  answers[status] = (answers[status] ?? 0) + 1;
};
const attack = ATTACKS[name]?.();
parentPort?.postMessage('ready');
if (parentPort) await once(parentPort, 'message');
await attack?.({ ...target, count }, AbortSignal.timeout(ATTACK_MS));
parentPort?.postMessage(answers);
parentPort?.close();
