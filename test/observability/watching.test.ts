import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ObservedService, openObservedService } from '../support/observed.ts';

const run = promisify(execFile);
const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url));
const ALERTS = path.join(DEPLOY, 'prometheus', 'alerts.yml');
const DOCS = fileURLToPath(new URL('../../docs/observability.md', import.meta.url));

const alerts = parse(readFileSync(ALERTS, 'utf8')) as {
  groups: { rules: { alert: string; expr: string; annotations: { runbook: string } }[] }[];
};
const rules = alerts.groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(readFileSync(path.join(DEPLOY, 'grafana', 'dashboard.json'), 'utf8')) as {
  panels: { id: number; title: string; targets?: { expr: string }[] }[];
};
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
];

/** Path of promtool (Debian package prometheus); null where it is not installed. */
const promtool = (process.env['PATH'] ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'promtool'))
  .find((file) => existsSync(file));
if (promtool === undefined) {
  process.stderr.write('promtool is not installed, so the rules of Prometheus are not checked by it\n');
}

let service: ObservedService;
let scraped: string;

beforeAll(async () => {
  service = await openObservedService();
  scraped = await service.scrape();
});
afterAll(() => service?.close());

test('every metric that the dashboard and the alerts name is scraped from a running service', () => {
  const defined = new Set<string>();
  for (const [, name = '', type] of scraped.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    defined.add(name);
    if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) defined.add(`${name}_${part}`);
  }
  const named = new Set(expressions.flatMap((expression) => expression.match(/service_\w+/g) ?? []));
  expect(named.size).toBeGreaterThan(30);
  expect([...named].filter((name) => !defined.has(name))).toEqual([]);
});

test('every label that the dashboard and the alerts select or group by is one of the metrics', () => {
  const labels = new Set(['le', 'instance']);
  for (const [, list = ''] of scraped.matchAll(/^\w+\{(.*)\} \S+$/gm)) {
    for (const [, label = ''] of list.matchAll(/(?:^|,)(\w+)="/g)) labels.add(label);
  }
  const used = new Set(
    expressions.flatMap((expression) => [
      ...[...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/)),
      ...[...expression.matchAll(/(\w+)(?:=~|!~|=|!=)"/g)].map(([, label = '']) => label),
    ]),
  );
  expect([...used].filter((label) => !labels.has(label))).toEqual([]);
});

test('every alert names a section of the documentation that says what to do', () => {
  const headings = [...readFileSync(DOCS, 'utf8').matchAll(/^###? (.+)$/gm)].map(([, title = '']) =>
    title.toLowerCase(),
  );
  for (const { alert, annotations } of rules) {
    expect(annotations.runbook).toBe(`docs/observability.md#${alert.toLowerCase()}`);
    expect(headings).toContain(alert.toLowerCase());
  }
});

test('panels of the dashboard have ids of their own', () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
});

test.skipIf(promtool === undefined)(
  'promtool accepts the alerts, their tests and the queries of the dashboard',
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'service-rules-'));
    try {
      await run(promtool as string, ['check', 'rules', ALERTS]);
      await run(promtool as string, ['check', 'config', path.join(DEPLOY, 'prometheus', 'prometheus.yml')]);
      await run(promtool as string, ['test', 'rules', path.join(DEPLOY, 'prometheus', 'alerts.test.yml')]);
      const queries = dashboard.panels
        .flatMap(({ targets = [] }) => targets)
        .map(({ expr }, index) => ({
          record: `dashboard:query:${index}`,
          expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
        }));
      const file = path.join(folder, 'dashboard.yml');
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: queries }] }));
      await run(promtool as string, ['check', 'rules', file]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test.skipIf(promtool === undefined)(
  'promtool accepts the text that a running service answers to a scrape',
  async () => {
    const child = run(promtool as string, ['check', 'metrics']);
    child.child.stdin?.end(scraped);
    const { stdout, stderr } = await child.catch((error: { stdout: string; stderr: string }) => error);
    // Names that its style guide would choose otherwise are reported too; faults of the format are not among them.
    const faults = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('error while linting'));
    expect(faults).toEqual([]);
  },
);
