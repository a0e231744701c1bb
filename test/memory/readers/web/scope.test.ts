import { describe, expect, it } from 'vitest';
import { pageAddress, patternOf } from '../../../../src/memory/readers/web/page-address.ts';
import { parseRules } from '../../../../src/memory/readers/web/page-rules.ts';
import { openScope } from '../../../../src/memory/readers/web/web-scope.ts';

const scopeOf = (sites: readonly string[], start?: readonly string[], globs = {}) => openScope({ sites, start, globs });
const at = (text: string) => new URL(text);

it.each([
  ['HTTP://Docs.Example.com:80/a#part', 'http://docs.example.com/a'],
  ['https://docs.example.com.:443', 'https://docs.example.com/'],
  ['https://docs.example.com/?', 'https://docs.example.com/'],
  ['https://docs.example.com/a/./b/../c', 'https://docs.example.com/a/c'],
  ['https://docs.example.com/%7euser/caf%c3%a9%2f', 'https://docs.example.com/~user/caf%C3%A9%2F'],
  ['https://docs.example.com/보고서', 'https://docs.example.com/%EB%B3%B4%EA%B3%A0%EC%84%9C'],
  ['https://문서.example.com/', 'https://xn--z92bu1i.example.com/'],
  ['https://e.com/?b=2&utm_source=mail&a=1&fbclid=x&UTM_Term=y', 'https://e.com/?b=2&a=1'],
  ['https://e.com/?utm_source=mail', 'https://e.com/'],
  [' /b c\n', 'https://base.example/b%20c'],
  ['//other.example/x', 'https://other.example/x'],
])('the address %s is %s', (text, address) => {
  expect(pageAddress(text, at('https://base.example/a'))?.href).toBe(address);
});

it.each([
  'mailto:a@example.com',
  'javascript:void(0)',
  'data:,x',
  'http://u:p@example.com/',
  'http://',
  `/${'x'.repeat(3_000)}`,
])('the link %s is not followed', (text) => expect(pageAddress(text, at('https://base.example/a'))).toBe(null));

describe('the scope of a source', () => {
  it.each([
    ['https://e.com/docs/', 'https://e.com/docs/a', true],
    ['https://e.com/docs/', 'https://e.com/docs', true],
    ['https://e.com/docs', 'https://e.com/docs/a', true],
    ['https://e.com/docs', 'https://e.com/docs2', false],
    ['https://e.com/docs/', 'https://e.com/docs-old/a', false],
    ['https://e.com/docs/', 'https://e.com/', false],
    ['https://e.com/docs/', 'http://e.com/docs/a', false],
    ['https://e.com/docs/', 'https://e.com:8443/docs/a', false],
    ['https://e.com/docs/', 'https://docs.e.com/docs/a', false],
    ['https://e.com/docs/', 'https://e.com.evil.example/docs/a', false],
    ['https://e.com/docs/', 'https://e.com/docs/..%2fsecret', false],
    ['https://e.com/docs/', 'https://e.com/docs/..%5Csecret', false],
    ['https://e.com/docs/', 'https://e.com/docs/.hidden/a', false],
    ['https://e.com/', 'https://e.com/a/a/a/a/a/', false],
    ['https://e.com/', 'https://e.com/a/a/a/a/', true],
  ])('of %s: %s is in it: %s', (site, address, isIn) => {
    expect(scopeOf([site]).includes(at(address))).toBe(isIn);
  });

  it('has the folders of the starts alone, within the sites', () => {
    const scope = scopeOf(['https://e.com/docs/'], ['https://e.com/docs/guide/index.html?x=1']);
    expect(scope.includes(at('https://e.com/docs/guide/b.html'))).toBe(true);
    expect(scope.includes(at('https://e.com/docs/other/b.html'))).toBe(false);
    expect(() => scopeOf(['https://e.com/docs/'], ['https://e.com/'])).toThrow(
      'outside of the sites of the connection',
    );
  });

  it('needs a start if every public site is allowed', () => {
    expect(() => scopeOf(['*'])).toThrow('config.start is needed');
    expect(scopeOf(['*'], ['https://e.com/blog/']).includes(at('https://e.com/blog/a'))).toBe(true);
    expect(scopeOf(['*'], ['https://e.com/blog/']).includes(at('https://e.com/shop/a'))).toBe(false);
  });

  it.each([
    [{ include: ['e.com/docs/**'] }, 'https://e.com/docs/a/b', true],
    [{ include: ['e.com/docs/**'] }, 'https://e.com/blog/a', false],
    [{ include: ['*/보고서/*'] }, 'https://e.com/%EB%B3%B4%EA%B3%A0%EC%84%9C/1', true],
    [{ include: ['**/*.html'] }, 'https://e.com/a.html?page=2', true],
    [{ exclude: ['**/*page=*'] }, 'https://e.com/a.html?page=2', false],
    [{ exclude: ['**/*.html'] }, 'https://e.com/a.html?page=2', false],
    [{ exclude: ['e.com/archive/**'] }, 'https://e.com/archive/', false],
  ])('with %j: %s is in it: %s', (globs, address, isIn) => {
    expect(scopeOf(['https://e.com/'], undefined, globs).includes(at(address))).toBe(isIn);
  });
});

it.each([
  ['https://e.com/cal?day=2024-05-01', 'https://e.com/cal?day=#-#-#'],
  ['https://e.com/2024/05/', 'https://e.com/#/#/'],
  ['https://e.com/?sid=ab12cd34ef&p=x', 'https://e.com/?sid=#&p=x'],
  ['https://e.com/%EB%B3%B4?a=%EA%B0%80', 'https://e.com/보?a=가'],
])('the pattern of %s is %s', (address, pattern) => {
  expect(patternOf(at(address))).toBe(pattern);
});

it.each([
  ['noindex', { mayIndex: false, mayFollow: true }],
  ['INDEX, NoFollow', { mayIndex: true, mayFollow: false }],
  ['none', { mayIndex: false, mayFollow: false }],
  ['all', { mayIndex: true, mayFollow: true }],
  ['otherbot: none', { mayIndex: true, mayFollow: true }],
  ['otherbot: nofollow, acme: noindex', { mayIndex: false, mayFollow: true }],
  ['unavailable_after: 25 Jun 2030 15:00:00 PST, noindex', { mayIndex: false, mayFollow: true }],
  ['max-snippet:50, nofollow', { mayIndex: true, mayFollow: false }],
])('the rules of a page %s', (text, rules) => {
  expect(parseRules(text, 'acme')).toEqual(rules);
});
