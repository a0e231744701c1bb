import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { AppError } from '../../src/platform/errors.ts';
import { openTestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { createTestRandom, type SeededRandom } from '../support/random.ts';
import { backUp, makeFolder, openOtherMachine, secretKeyOf, verifyNewest } from './support.ts';

const DOCUMENTS = 40;
const WAYS = ['flip', 'truncate', 'extend', 'delete', 'zeros'] as const;

/** Break a file at one random place, so that its bytes differ. Returns a description and a function that mends it. */
function breakFile(random: SeededRandom, file: string): { what: string; mend: () => void } {
  const before = readFileSync(file);
  const way = random.pick(WAYS);
  const at = random.int(before.length);
  const after = Buffer.from(before);
  if (way === 'flip') after[at] = (after[at] as number) ^ (1 << random.int(8));
  if (way === 'zeros') after.fill(0, at, Math.min(at + 16, after.length));
  // A file that had zeros there would stay as it was.
  if (way === 'zeros' && after.equals(before)) after[at] = 1;
  if (way === 'flip' || way === 'zeros') writeFileSync(file, after);
  if (way === 'truncate') truncateSync(file, at);
  if (way === 'extend') writeFileSync(file, Buffer.concat([before, Buffer.from([random.int(256)])]));
  if (way === 'delete') rmSync(file);
  return { what: `${way} at ${at} of ${file}`, mend: () => writeFileSync(file, before) };
}

function filesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true })
    .map((name) => path.join(directory, String(name)))
    .filter((file) => statSync(file).isFile())
    .sort();
}

/**
 * Break a backup at random places, one after the other, and check that each is refused with the file that is broken, and
 * that a restore refuses some of them before it writes anything.
 */
export async function checkBrokenBackups(places: number, restores: number): Promise<void> {
  const source = await openTestApi();
  const folder = makeFolder();
  const other = await openOtherMachine(secretKeyOf(source.dataDir));
  try {
    const random = createTestRandom('broken backups');
    await ingestAll(
      source.appliance,
      source.operator,
      'default',
      Array.from({ length: DOCUMENTS }, (_, nth) => ({
        ...{ id: String(nth), fileName: `paper-${nth}.txt`, text: `Paper ${nth} is about subject ${nth * nth}.` },
      })),
    );
    await backUp(source.appliance, folder.location);
    const files = filesOf(folder.directory);
    expect(await verifyNewest(folder.location, source.dataDir)).toMatchObject({ missing_files: 0 });
    for (let place = 0; place < places; place++) {
      const file = files[random.int(files.length)] as string;
      const { what, mend } = breakFile(random, file);
      const refusal = await verifyNewest(folder.location, source.dataDir).then(
        () => null,
        (error: unknown) => error,
      );
      expect(refusal, what).toBeInstanceOf(AppError);
      const { code, message } = refusal as AppError;
      const isMarker = path.basename(file) === 'complete';
      const isSignature = path.basename(file) === 'signature';
      const codes = isMarker
        ? /^backup_(damaged|unfinished)$/
        : isSignature
          ? /^backup_(unsigned|forged)$/
          : /^backup_damaged$/;
      expect(code, what).toMatch(codes);
      expect(message, what).toContain(path.basename(file));
      if (place < restores) {
        await expect(other.restore(folder.location), what).rejects.toMatchObject({ code });
        const [row] = await other.database.sql`SELECT to_regclass('documents') AS found`;
        expect(row?.['found'], what).toBeNull();
      }
      mend();
    }
    expect(await verifyNewest(folder.location, source.dataDir)).toMatchObject({ missing_files: 0 });
  } finally {
    await source.close();
    await other.remove();
    folder.remove();
  }
}
