import { expect, test } from 'vitest';
import { extract } from '../support/read-document.ts';
import { HOSTILE_MARKDOWN } from './hostile-markdown.ts';

test.each(Object.entries(HOSTILE_MARKDOWN))('Markdown of a million characters of %s is read', async (_, make) => {
  const document = await extract(Buffer.from(make(1_000_000)), 'hostile.md');
  expect(document.text.length).toBeLessThanOrEqual(1_100_000);
});
