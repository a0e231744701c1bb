import { expect, test } from 'vitest';
import { compileGlobs } from '../../src/memory/readers/globs.ts';
import { controlFault, withoutControl } from '../../src/memory/readers/source-reader.ts';

test.each(['line\nbreak.md', 'a/b\r\nc.txt', 'tab\there', 'next\u0085line'])(
  'the key %j has a fault, which patterns no longer hide',
  (key) => {
    expect(controlFault(key)).toMatchObject({ key: withoutControl(key), fault: expect.stringContaining('rename it') });
    expect(compileGlobs({}).matches(withoutControl(key))).toBe(true);
  },
);

test('a key without control characters has no fault', () => {
  expect(controlFault('문서/등대 일지.md')).toBeNull();
});
