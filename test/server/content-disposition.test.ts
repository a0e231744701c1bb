import { validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { attachment } from '../../server/content-disposition.ts';
import { SEED } from '../support/random.ts';

test.each([
  ['report.pdf', 'attachment; filename="report.pdf"'],
  ['with space; and=sign, (1).pdf', 'attachment; filename="with space; and=sign, (1).pdf"'],
  ['naïve.txt', `attachment; filename="na_ve.txt"; filename*=UTF-8''na%C3%AFve.txt`],
  ['한글.hwp', `attachment; filename="__.hwp"; filename*=UTF-8''%ED%95%9C%EA%B8%80.hwp`],
  ['"quoted".txt', `attachment; filename="_quoted_.txt"; filename*=UTF-8''%22quoted%22.txt`],
  ['a\r\nSet-Cookie: x=1\0.txt', 'attachment; filename="a__Set-Cookie: x=1_.txt"'],
  ['..\\..//etc/passwd', 'attachment; filename=".._..__etc_passwd"'],
  ['half \ud83d.txt', `attachment; filename="half _.txt"; filename*=UTF-8''half%20%EF%BF%BD.txt`],
  ['100%20.txt', `attachment; filename="100%20.txt"; filename*=UTF-8''100%2520.txt`],
  ["it's (a) *star*.txt", 'attachment; filename="it\'s (a) *star*.txt"'],
  ["ä'()*!.txt", `attachment; filename="_'()*!.txt"; filename*=UTF-8''%C3%A4%27%28%29%2A!.txt`],
])('the file name %j becomes %s', (name, header) => {
  expect(attachment(name)).toBe(header);
});

test('any file name becomes one header, from which the full name can be read', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
      const header = attachment(name);
      validateHeaderValue('Content-Disposition', header);
      const [, plain, encoded] =
        /^attachment; filename="([^"\\]*)"(?:; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]*))?$/.exec(
          header,
        ) as RegExpExecArray;
      const full = encoded === undefined ? plain : decodeURIComponent(encoded);
      const safe = [...name.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}/\\]/gu, '_')].slice(0, 255).join('');
      expect(full).toBe(safe);
    }),
    { seed: SEED, numRuns: 2_000 },
  );
});
