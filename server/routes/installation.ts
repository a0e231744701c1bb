import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Config } from '../../src/platform/config.ts';
import { notFound } from '../../src/platform/errors.ts';
import { VERSION } from '../../src/platform/version.ts';
import { defineRoute, type Route } from '../route.ts';

const LOGO = '/v1/installation/logo';
const LOGO_TYPES: Readonly<Record<string, string>> = { '.svg': 'image/svg+xml', '.png': 'image/png' };

const Installation = z
  .object({
    name: z.string().nullable().describe('the setting `console.name`'),
    logo: z.string().nullable().describe('path of the logo of the setting `console.logo`'),
    version: z.string(),
    answers: z.boolean().describe('true: a chat model is configured, which answers questions'),
    upload_bytes_max: z.int().describe('maximum size of an uploaded file'),
  })
  .meta({ id: 'Installation' });

/** Create the routes with what browsers show before sign-in. */
export function installationRoutes({
  console: settings,
  limits,
  answers,
}: Pick<Config, 'console' | 'limits' | 'answers'>): Route[] {
  const { name, logo } = settings;
  const common = { method: 'GET', access: 'public', capacity: 'none' } as const;
  const body: z.output<typeof Installation> = {
    name,
    logo: logo === null ? null : LOGO,
    version: VERSION,
    answers: answers !== null,
    upload_bytes_max: limits.uploadBytes,
  };
  return [
    defineRoute({
      ...common,
      path: '/v1/installation',
      operationId: 'getInstallation',
      summary: 'Name, logo and version of this installation',
      responses: { 200: { description: 'The installation', schema: Installation } },
      handle: async () => ({ body }),
    }),
    defineRoute({
      ...common,
      path: LOGO,
      operationId: 'getInstallationLogo',
      summary: 'The logo of this installation',
      responses: { 200: { description: 'The picture', mediaType: '*/*' } },
      refusals: [404],
      async handle() {
        const picture = logo === null ? null : await readFile(logo).catch(() => null);
        if (logo === null || picture === null) throw notFound('logo', 'of the installation');
        const type = LOGO_TYPES[path.extname(logo).toLowerCase()] as string;
        return { body: picture, type, headers: { 'Cache-Control': 'public, max-age=300' } };
      },
    }),
  ];
}
