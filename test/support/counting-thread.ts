/** Main module of a thread that answers each call with its argument and the number of calls in its message. */
import { parentPort } from 'node:worker_threads';
import type { ThreadCall } from '../../src/platform/dedicated-thread.ts';

parentPort?.on('message', (calls: readonly ThreadCall[]) => {
  parentPort?.postMessage(calls.map(({ id, argument }) => ({ id, result: { argument, together: calls.length } })));
});
