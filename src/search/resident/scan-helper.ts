/** Main of a thread that scans blocks of vectors for the thread that holds them. It ends with that thread. */
import { workerData } from 'node:worker_threads';
import { openScanKernel, type ScanBuild, type ScanMemory } from './kernel/scan-kernel.ts';
import { ScanTurn } from './scan-turn.ts';

const { memory, build, turn, nth } = workerData as {
  readonly memory: ScanMemory;
  readonly build: ScanBuild;
  readonly turn: ScanTurn['shared'];
  readonly nth: number;
};
const { kernel } = openScanKernel([build], memory);
new ScanTurn(turn.helpers, turn.fields).help(kernel, nth);
