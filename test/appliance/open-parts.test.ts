import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OpenParts } from '../../src/appliance/open-parts.ts';

/** Add parts that note when they begin and end to close. */
function partsOf(closing: string[], names: readonly string[], failing: readonly string[] = []): OpenParts {
  const parts = new OpenParts();
  for (const name of names) {
    parts.add({
      async close() {
        closing.push(`${name} closes`);
        await delay(1);
        closing.push(`${name} is closed`);
        if (failing.includes(name)) throw new Error(`${name} fails`);
      },
    });
  }
  return parts;
}

test('parts close one after the other, the last one first', async () => {
  const closing: string[] = [];
  await partsOf(closing, ['database', 'threads', 'index']).close();
  const reversed = ['index', 'threads', 'database'];
  expect(closing).toEqual(reversed.flatMap((name) => [`${name} closes`, `${name} is closed`]));
});

test('a part that fails to close does not keep the others open, and its error is the first that is thrown', async () => {
  const closing: string[] = [];
  const parts = partsOf(closing, ['database', 'threads', 'index'], ['threads', 'index']);
  await expect(parts.close()).rejects.toThrow('index fails');
  expect(closing).toContain('database is closed');
});

test('parts close once, also if they are closed again, and a part without an end is only listed', async () => {
  const closing: string[] = [];
  const parts = partsOf(closing, ['database']);
  const part: { readonly name: string; close?(): void } = { name: 'metrics' };
  expect(parts.add(part)).toBe(part);
  await Promise.all([parts.close(), parts.close()]);
  await parts.close();
  expect(closing).toEqual(['database closes', 'database is closed']);
});
