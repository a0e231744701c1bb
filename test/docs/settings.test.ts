import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderConfigExample } from '../../src/cli/config-example.ts';
import { ConfigFile } from '../../src/platform/config.ts';
import { listReference } from '../../src/platform/settings-reference.ts';
import { currentSettingsPage, renderSettingsPage } from './settings-page.ts';

test('docs/settings.md is what the schema gives; npm run docs:settings writes it', () => {
  expect(currentSettingsPage()).toBe(renderSettingsPage());
});

test('every setting with a name of ours has a description', () => {
  const isNamed = ({ path }: { path: readonly string[] }) => !['<name>', '[]'].includes(path.at(-1) as string);
  const without = listReference().filter((setting) => isNamed(setting) && setting.description === '');
  expect(without.map(({ path }) => path.join('.'))).toEqual([]);
});

test('the example is a comment as a whole, with the default of every setting', () => {
  const lines = renderConfigExample().split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([]);
  const shown = new Set(lines.map((line) => line.replace(/^# [ -]*/, '')));
  const settings = listReference().filter(({ path }) => !['<name>', '[]'].includes(path.at(-1) as string));
  const missing = settings.filter(
    ({ path, default: value }) => !shown.has(`${path.at(-1)}:${value === null ? '' : ` ${value}`}`),
  );
  expect(missing).toEqual([]);
});

test.each(['limits', 'workers', 'bulk', 'embeddings', 'retention', 'channels'])(
  'the settings "%s" of the example, without the signs of a comment, are the defaults',
  (name) => {
    const example = renderConfigExample();
    const [block = ''] = new RegExp(`^# ${name}:\n(?:#   .*\n)+`, 'm').exec(example) ?? [];
    const settings = parse(block.replace(/^# /gm, ''));
    // A setting without a value has no default.
    const given = JSON.parse(JSON.stringify(settings), (_, value) => value ?? undefined);
    expect(ConfigFile.parse({ data_dir: '/x', ...given })).toEqual(ConfigFile.parse({ data_dir: '/x' }));
    expect(Object.keys(given[name]).length).toBeGreaterThan(1);
  },
);
