import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Config } from '@oclif/core';
import { expect, test } from 'vitest';
import { runCommand, runService } from './service.ts';

// The commands come from the sources, because the manifest may be older.
const root = fileURLToPath(new URL('../..', import.meta.url));
const config = await Config.load({ root, ignoreManifest: true });
const commands = config.commands.filter((command) => command.pluginName === config.name);
const ids = commands.map((command) => command.id);

test('the commands of the first release exist', () => {
  expect(ids).toEqual(
    expect.arrayContaining([
      ...['serve', 'embed', 'search', 'doctor', 'config:check', 'db:migrate', 'db:status', 'tokens:create'],
      ...['documents:upload', 'documents:list', 'documents:show', 'documents:delete'],
      ...['buckets:create', 'buckets:list', 'buckets:delete', 'jobs:list', 'jobs:show'],
      ...['keys:create', 'keys:edit', 'keys:list', 'keys:revoke', 'keys:rotate'],
      ...['orgs:create', 'orgs:list', 'orgs:set-plan'],
      ...['users:create', 'users:list', 'users:set-role'],
    ]),
  );
});

/** Sentence that begins with a verb or a noun and ends with a full stop. */
const SENTENCE = /^(?!(What|How|Whether|Of|Where|Why|Who)\b)[A-Z].*\.$/s;

test('every topic has a description', () => {
  const topics = new Set(ids.filter((id) => id.includes(':')).map((id) => id.split(':')[0]));
  const described = config.topics.filter(({ name }) => topics.has(name));
  expect(described.map(({ name }) => name)).toEqual([...topics].sort());
  for (const { description } of described) expect(description).toMatch(SENTENCE);
});

/** Flags that confirm what they stand beside; a variable would confirm every command from then on. */
const CONFIRMING = new Set(['yes', 'force', 'accept-unsigned', 'allow-empty', 'confirm', 'max-affected']);

test.each(commands.map((command) => [command.id, command] as const))(
  '%s has a description, two or three examples, and described flags and arguments',
  (_, command) => {
    expect(command.description).toMatch(SENTENCE);
    expect([2, 3]).toContain(command.examples?.length);
    for (const example of command.examples ?? []) {
      expect(example).toContain(`<%= config.bin %> ${command.id.replaceAll(':', ' ')}`);
    }
    for (const [name, flag] of Object.entries(command.flags)) {
      const { env, description } = flag as { env?: string; description?: string };
      const variable = CONFIRMING.has(name) ? undefined : `SERVICE_${name.toUpperCase().replaceAll('-', '_')}`;
      expect({ name, env }).toEqual({ name, env: variable });
      expect({ name, description }).toEqual({ name, description: expect.stringMatching(/\S/) });
    }
    for (const arg of Object.values(command.args)) expect(arg.description).toMatch(/\S/);
    expect(Object.keys(command.flags)).toEqual(expect.arrayContaining(['json', 'quiet', 'data-dir']));
  },
);

test('every flag that an example shows exists', () => {
  for (const command of commands) {
    for (const example of command.examples ?? []) {
      const shown = String(example).match(/(?<=\s--)[a-z-]+/g) ?? [];
      expect(Object.keys(command.flags), command.id).toEqual(expect.arrayContaining(shown));
    }
  }
});

test('--help shows usage and both examples without opening an installation', async () => {
  const help = await runService(['documents', 'upload', '--help'], { SERVICE_DATA_DIR: '/nowhere/at/all' });
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('service documents upload PATH');
  expect(help.stdout).toContain('--recursive');
  expect(help.stdout).toContain('SERVICE_RECURSIVE');
  expect(help.stdout.match(/^ {2}\$ service documents upload [a-z].*--/gm)).toHaveLength(2);
});

test('--version prints the line of oclif', async () => {
  // oclif has a name of its own for Linux under Windows.
  const line = config.userAgent.replace(' wsl-', ' linux-');
  expect(await runService(['--version'], {})).toMatchObject({ code: 0, stdout: `${line}\n`, stderr: '' });
});

test('service without a command lists the topics, and a topic lists its commands', async () => {
  const [root, topic] = await Promise.all([runService([], {}), runService(['documents'], {})]);
  expect(root).toMatchObject({ code: 0, stdout: expect.stringContaining('documents') });
  expect(topic).toMatchObject({ code: 0, stdout: expect.stringContaining('documents upload') });
});

test.each([
  ['an unknown command', ['frobnicate'], 'there is no command "frobnicate"'],
  ['a mistyped command', ['jobs', 'lst'], 'did you mean "jobs list"?'],
  ['a mistyped flag', ['jobs', 'list', '--statsu', 'failed'], 'did you mean --status?'],
  ['a value that is no choice', ['orgs', 'create', 'x', '--plan', 'gold'], 'enterprise'],
  ['a missing argument', ['search'], 'QUERY'],
  ['a missing flag', ['keys', 'create'], 'name'],
  ['too many arguments', ['jobs', 'show', 'a', 'b'], 'b'],
  ['a number that is none', ['search', 'x', '--top-k', 'many'], '--top-k'],
  ['a number out of range', ['search', 'x', '--top-k', '101'], '--top-k'],
  ['JSON that is none', ['search', 'x', '--filter', '{'], '--filter'],
  ['an unknown state', ['jobs', 'list', '--status', 'done'], '--status'],
  ['a flag before the command', ['--org', 'acme', 'jobs', 'list'], 'the command comes first'],
  ['neither texts nor a file', ['embed'], '--input-file'],
  ['a metadata flag without a value', ['documents', 'upload', 'x', '--metadata', 'year'], '--metadata'],
])('wrong usage exits with 2 before an installation is opened: %s', async (_, args, words) => {
  const env = { SERVICE_DATA_DIR: '/nowhere/at/all' };
  const [plain, json] = await Promise.all([runCommand(args, env), runCommand([...args, '--json'], env)]);
  expect(plain).toMatchObject({ code: 2, stdout: '' });
  expect(plain.stderr).toContain(words);
  expect(json.code).toBe(2);
  expect(json.json()).toEqual({ error: { code: expect.any(String), message: expect.stringContaining(words) } });
});

test('a command that only reads sets up no installation in a folder with a typing error', async () => {
  const nowhere = path.join(tmpdir(), `service-nowhere-${process.pid}`);
  const finished = await runCommand(['jobs', 'list', '--json', '--data-dir', nowhere], {});
  expect(finished.code).toBe(3);
  expect(finished.json()).toMatchObject({ error: { code: 'installation_not_found' } });
  expect(existsSync(nowhere)).toBe(false);
});
