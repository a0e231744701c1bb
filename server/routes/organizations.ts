import { z } from 'zod';
import { PLANS } from '../../src/access/caller.ts';
import type { Access } from '../../src/access/open-access.ts';
import { editOrganization, findOrganization, listOrganizations } from '../../src/access/organizations.ts';
import { NewOrganization, Organization } from '../../src/access/schema.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { PageQuery, pageSchema, readPage } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ org: z.string().min(1).describe('id or name') });
const EditOrganizationBody = z.object({ plan: z.enum(PLANS).optional(), suspended: z.boolean().optional() });
const OrganizationView = Organization.meta({ id: 'Organization' });

/** Create the routes by which operators of the installation manage its organizations. */
export function organizationRoutes(sql: Sql, access: Pick<Access, 'createOrganization'>): Route[] {
  return [
    defineRoute({
      access: 'platform_admin',
      method: 'POST',
      path: '/v1/orgs',
      operationId: 'createOrganization',
      summary: 'Create an organization with a bucket named "default"',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      body: NewOrganization,
      responses: { 201: { description: 'The organization', schema: OrganizationView } },
      refusals: [409],
      handle: async ({ caller, body }) => ({ status: 201, body: await access.createOrganization(body, caller.actor) }),
    }),
    defineRoute({
      access: 'platform_admin',
      method: 'GET',
      path: '/v1/orgs',
      operationId: 'listOrganizations',
      summary: 'Organizations of the installation, newest first',
      query: PageQuery,
      responses: { 200: { description: 'A page', schema: pageSchema(OrganizationView) } },
      handle: async ({ query, signal }) => ({
        body: await readPage(query, (page) => listOrganizations(reportQueries(sql, signal), page)),
      }),
    }),
    defineRoute({
      access: 'platform_admin',
      method: 'GET',
      path: '/v1/orgs/:org',
      operationId: 'getOrganization',
      summary: 'One organization',
      params,
      responses: { 200: { description: 'The organization', schema: OrganizationView } },
      handle: async ({ params, signal }) => ({ body: await findOrganization(reportQueries(sql, signal), params.org) }),
    }),
    defineRoute({
      access: 'platform_admin',
      method: 'PATCH',
      path: '/v1/orgs/:org',
      operationId: 'editOrganization',
      summary: 'Change the plan of an organization, or suspend it; effective within a second',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params,
      body: EditOrganizationBody,
      responses: { 200: { description: 'The organization after the edit', schema: OrganizationView } },
      refusals: [409],
      async handle({ caller, params, body }) {
        const queries = editQueries(sql);
        const { id } = await findOrganization(queries, params.org);
        return { body: await editOrganization(queries, caller, id, body) };
      },
    }),
  ];
}
