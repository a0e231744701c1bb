import { expect, it } from 'vitest';
import { analyse } from '../../src/language/analyser.ts';
import { findCodeForms } from '../../src/language/code-forms.ts';

it.each([
  ['AB-1234', ['ab-1234', 'ab', '1234']],
  ['E_CONN', ['econn', 'conn']],
  ['v2.3.1', ['v2.3.1', 'v2']],
  ['2.3.1', ['2.3.1']],
  ['CVE-2021-44228', ['cve-2021-44228', 'cve', '2021', '44228']],
  ['x86_64', ['x86_64', 'x86', '64']],
  ['0x80070005', ['0x80070005']],
  ['NASA', ['nasa']],
  ['U.S.A.', ['usa']],
])('the code %s is a term as a whole, and its parts are terms beside it', (code, terms) => {
  expect(analyse(code)).toEqual(terms);
  expect(analyse(`오류 ${code}에서`)).toEqual(expect.arrayContaining(terms));
});

it.each([
  ['AB-1234', ['ab1234', 'ab_1234']],
  ['ab1234', ['ab-1234', 'ab_1234']],
  ['release v2.3.1', ['2.3.1']],
  ['release 2.3.1 of it', ['v2.3.1']],
])('%s is also looked for as %s', (query, others) => {
  expect(findCodeForms(query).flatMap((forms) => forms.others.flat())).toEqual(others);
});

it.each(['plain words', '2024', '3', 'x', 'CVE-2021-44228', 'a'.repeat(8_000), '1.2.3.4.5.6', 'ab-12-34'])(
  'a query without such a code has no other forms: %s',
  (query) => {
    expect(findCodeForms(query)).toEqual([]);
  },
);
