/**
 * Thread that attacks a server, so that its own work (bodies that it writes) does not delay the searches that the
 * benchmark measures. Its first message says that its bodies are made; then it waits for a message to begin. Its last
 * message holds how often each status was answered.
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
