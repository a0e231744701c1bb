/** Main module of the thread that makes changes of files durable. It processes waiting changes together. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { messageOf, type ThreadCall, type ThreadReply } from '../dedicated-thread.ts';
import { type DurableChange, DurableChanges } from './durable-changes.ts';

/** Maximum number of changes per round. The first one waits for the last. */
const TOGETHER_MAX = 256;

const port = parentPort as NonNullable<typeof parentPort>;
const changes = new DurableChanges(workerData as string);

port.on('message', (first: readonly ThreadCall<DurableChange>[]) => {
  const calls = [...first];
  while (calls.length < TOGETHER_MAX) {
    const next = receiveMessageOnPort(port) as { message: readonly ThreadCall<DurableChange>[] } | undefined;
    if (next === undefined) break;
    calls.push(...next.message);
  }
  port.postMessage(answer(calls));
});

function answer(calls: readonly ThreadCall<DurableChange>[]): ThreadReply[] {
  try {
    const made = changes.make(calls.map(({ argument }) => argument));
    return calls.map(({ id }, nth) => ({ id, result: made[nth] }));
  } catch (error) {
    return calls.map(({ id }) => ({ id, error: messageOf(error) }));
  }
}
