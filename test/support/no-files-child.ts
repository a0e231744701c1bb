import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { settleInChild } from '../../src/index/lance/settle-process.ts';
import { startChild } from '../../src/ingest/extract/start-child.ts';
import { findConfinement } from '../../src/platform/confinement.ts';
import { OcrProcess } from '../../src/recognition/ocr-process.ts';

/** Errors of starting processes without a free file descriptor, and rejections that nobody handled. */
export interface NoFilesReport {
  readonly settle: Readonly<Record<string, unknown>> | null;
  readonly ocr: Readonly<Record<string, unknown>> | null;
  readonly extract: Readonly<Record<string, unknown>> | null;
  readonly confinement: Readonly<Record<string, unknown>> | null;
  /** True if the confinement found afterwards is the same as in a process that never lacked file descriptors. */
  readonly isConfinedLater: boolean;
  readonly unhandled: readonly string[];
}

// A test starts this script with a low limit of open files: it opens all that are left, and then starts each process.
const unhandled: string[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)));
const MIB = 1024 * 1024;
const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: Error) => ({ ...error, name: error.name, message: error.message }),
  );

const extracting = () => startChild({ deadlineMs: 30_000, memoryBytesMax: 512 * MIB }, 'html');
const first = await extracting(); // It finds the packages that readers may read, which are then known.
first.kill('SIGKILL');
await once(first, 'close');
const opened: number[] = [];
try {
  for (;;) opened.push(openSync('/dev/null', 'r'));
} catch {
  // No more file descriptors are left.
}
const settle = await outcomeOf(
  settleInChild({ uri: '/nowhere', storageOptions: {}, name: 'one', step: 'merge', cleanupOlderThanMs: 0 }),
);
const ocr = await outcomeOf(
  OcrProcess.start(
    {
      ...{ startMs: 30_000, imageMs: 1_000, secondPassMs: 1_000 },
      ...{ memoryBytesMax: 512 * MIB, textCharsMax: 1_000, imageBytesMax: MIB },
    },
    new AbortController().signal,
  ),
);
const extract = await outcomeOf(extracting());
// Other folders, so that their confinement is not known yet.
const folders = [import.meta.dirname];
const confinement = await outcomeOf(findConfinement(folders));
await new Promise(setImmediate);
for (const fd of opened) closeSync(fd);
const [later, others] = [await findConfinement(folders), await findConfinement([path.dirname(folders[0] as string)])];
const isConfinedLater =
  (later.enter === null) === (others.enter === null) && (later.user === null) === (others.user === null);
const report: NoFilesReport = { settle, ocr, extract, confinement, isConfinedLater, unhandled };
process.stdout.write(JSON.stringify(report), () => process.exit());
