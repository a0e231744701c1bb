import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Route } from '../../server/route.ts';
import { helpRoutes } from '../../server/routes/help.ts';
import { buildSite } from '../../src/console/site.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

let folder: string;
let routes: Route[];
let test: TestApi;
let logo: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'help-'));
  buildSite(path.join(folder, 'site'));
  routes = helpRoutes(`${folder}/site/`);
  logo = path.join(folder, 'logo.svg');
  writeFileSync(logo, '<svg xmlns="http://www.w3.org/2000/svg"/>');
  test = await openTestApi({ worker: false, settings: { console: { name: 'Harbour library', logo } } });
});
afterAll(async () => {
  await test.close();
  rmSync(folder, { recursive: true });
});

const show = async (page: string) => {
  const route = routes.find(({ operationId }) => operationId === 'showHelpPage') as Route;
  return route.handle({ params: { page }, encodings: '' } as never);
};

it('the documentation is served with a policy that allows no script of another origin', async () => {
  for (const page of ['index.html', 'docs/search.html', 'docs/cli/index.html', 'style.css']) {
    const reply = await show(page);
    expect(String(reply.body).length).toBeGreaterThan(100);
    expect(String(reply.headers?.['Content-Security-Policy'])).not.toMatch(/unsafe|https?:|\*/);
  }
  const first = await routes.find(({ operationId }) => operationId === 'showHelp')?.handle({} as never);
  const links = Array.from(String(first?.body).matchAll(/(?:href|src)="([^"]+)"/g), ([, address]) => address as string);
  expect(links).toContain('/help/docs/search.html');
  expect(links.filter((address) => !/^(?:\/help\/|#|https?:)/.test(address))).toEqual([]);
});

it.each(['../logo.svg', 'docs/../../logo.svg', 'docs//search.html', '.env', 'docs', 'missing.html', 'docs/a\0.html'])(
  'nothing outside of the documentation is served: %s',
  async (page) => {
    await expect(show(page)).rejects.toMatchObject({ status: 404 });
  },
);

it('the name and the logo of the installation are public, and name no path of the host', async () => {
  const { status, body } = await test.call('GET', '/v1/installation');
  expect(status).toBe(200);
  expect(body).toMatchObject({ name: 'Harbour library', logo: '/v1/installation/logo' });
  expect(JSON.stringify(body)).not.toContain(folder);
  const picture = await test.call('GET', body.logo);
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
  expect(picture.headers.get('content-security-policy')).toContain("default-src 'none'");
});
