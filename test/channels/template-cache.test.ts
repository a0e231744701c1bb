import { expect, test } from 'vitest';
import type { Template } from '../../src/channels/senders/sender.ts';
import { TemplateCache } from '../../src/channels/template-cache.ts';

const TEMPLATE: Template = { text: '#{a}', buttons: [], variables: ['a'], unusable: null };

test('a template is kept by configuration and code, at most 500 of them, and a fault is not kept', async () => {
  const cache = new TemplateCache();
  const loaded: string[] = [];
  const find = (config: string, code: string) =>
    cache.find(config, code, async () => {
      loaded.push(`${config}/${code}`);
      if (code === 'none') throw new Error('there is no such template');
      return TEMPLATE;
    });
  await find('c', '0');
  await find('c', '0');
  await find('d', '0');
  expect(loaded).toEqual(['c/0', 'd/0']);
  for (const _ of [1, 2]) await expect(find('c', 'none')).rejects.toThrow('no such template');
  expect(loaded.filter((name) => name === 'c/none')).toHaveLength(2);
  for (let n = 1; n < 500; n++) await find('c', String(n));
  await find('d', '0');
  expect(loaded.filter((name) => name === 'd/0')).toHaveLength(1);
  await find('c', '0');
  expect(loaded.filter((name) => name === 'c/0')).toHaveLength(2);
});
