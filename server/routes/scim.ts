import { z } from 'zod';
import * as groups from '../../src/access/scim/groups.ts';
import {
  SCIM_TYPE,
  ScimGroup,
  ScimGroupInput,
  ScimListQuery,
  ScimPatch,
  ScimUser,
  ScimUserInput,
  scimList,
} from '../../src/access/scim/schema.ts';
import { RESOURCE_TYPES, SCHEMAS, SERVICE_PROVIDER_CONFIG } from '../../src/access/scim/service-provider.ts';
import * as users from '../../src/access/scim/users.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route, type RouteReply } from '../route.ts';

/** Limits of the body of a group: 10,000 members. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;
const BODY_VALUES_MAX = 50_000;

const userParams = z.object({ user: z.string().min(1).max(200).describe('id') });
const groupParams = z.object({ scim_group: z.string().min(1).max(600).describe('id in SCIM') });
const excluding = ScimListQuery.pick({ excludedAttributes: true, attributes: true });

const ofUsers = { access: 'users:manage', errors: 'scim' } as const;
const ofGroups = { access: 'groups:manage', errors: 'scim' } as const;
const ofMembers = { bodyLimitBytes: BODY_BYTES_MAX, bodyValuesMax: BODY_VALUES_MAX } as const;
const gone = { 204: { description: 'Deleted' } } as const;
const user = { description: 'The user', schema: ScimUser, mediaType: SCIM_TYPE };
const group = { description: 'The group', schema: ScimGroup, mediaType: SCIM_TYPE };

/**
 * Create the routes of SCIM 2.0 (RFC 7643, RFC 7644), by which a directory adds and suspends the people of an
 * organization, and keeps its groups. Its key needs `users:manage`, `groups:manage` and the scopes of a member.
 */
export function scimRoutes(sql: Sql): Route[] {
  return [...describingRoutes(), ...userRoutes(sql), ...groupRoutes(sql)];
}

function reply(body: unknown, status = 200): RouteReply {
  const text = Buffer.from(JSON.stringify(body));
  return { status, body: text, type: `${SCIM_TYPE}; charset=utf-8` };
}

function describingRoutes(): Route[] {
  const described = [
    ['ServiceProviderConfig', 'getScimConfig', 'What this service supports of SCIM 2.0', SERVICE_PROVIDER_CONFIG],
    ['ResourceTypes', 'listScimResourceTypes', 'Kinds of resources of SCIM', RESOURCE_TYPES],
    ['Schemas', 'listScimSchemas', 'Schemas of the resources of SCIM', SCHEMAS],
  ] as const;
  return described.map(([name, operationId, summary, body]) =>
    defineRoute({
      method: 'GET',
      path: `/scim/v2/${name}`,
      operationId,
      summary,
      access: 'caller',
      errors: 'scim',
      responses: { 200: { description: 'The description', mediaType: SCIM_TYPE, schema: z.looseObject({}) } },
      handle: async () => reply(body),
    }),
  );
}

function userRoutes(sql: Sql): Route[] {
  return [
    defineRoute({
      ...ofUsers,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      method: 'POST',
      path: '/scim/v2/Users',
      operationId: 'createScimUser',
      summary: 'Add a person from a directory, as a member',
      body: ScimUserInput,
      responses: { 201: user },
      refusals: [409],
      handle: async ({ caller, body }) => reply(await users.createScimUser(editQueries(sql), caller, body), 201),
    }),
    defineRoute({
      ...ofUsers,
      method: 'GET',
      path: '/scim/v2/Users',
      operationId: 'listScimUsers',
      summary: 'People of the organization for a directory',
      query: ScimListQuery,
      responses: { 200: { description: 'A page', schema: scimList(ScimUser), mediaType: SCIM_TYPE } },
      handle: async ({ caller, query, signal }) =>
        reply(await users.listScimUsers(reportQueries(sql, signal), caller, query)),
    }),
    defineRoute({
      ...ofUsers,
      method: 'GET',
      path: '/scim/v2/Users/:user',
      operationId: 'getScimUser',
      summary: 'One person for a directory',
      params: userParams,
      query: excluding,
      responses: { 200: user },
      handle: async ({ caller, params, signal }) =>
        reply(await users.getScimUser(reportQueries(sql, signal), caller, params.user)),
    }),
    defineRoute({
      ...ofUsers,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      method: 'PUT',
      path: '/scim/v2/Users/:user',
      operationId: 'replaceScimUser',
      summary: 'Replace the data of a person that a directory supplies',
      params: userParams,
      body: ScimUserInput,
      responses: { 200: user },
      refusals: [409],
      handle: async ({ caller, params, body }) =>
        reply(await users.replaceScimUser(editQueries(sql), caller, params.user, body)),
    }),
    defineRoute({
      ...ofUsers,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      method: 'PATCH',
      path: '/scim/v2/Users/:user',
      operationId: 'patchScimUser',
      summary: 'Change the data of a person that a directory supplies, or suspend the person with `active`',
      params: userParams,
      body: ScimPatch,
      responses: { 200: user },
      refusals: [409],
      handle: async ({ caller, params, body }) =>
        reply(await users.patchScimUser(editQueries(sql), caller, params.user, body)),
    }),
    defineRoute({
      ...ofUsers,
      method: 'DELETE',
      path: '/scim/v2/Users/:user',
      operationId: 'deleteScimUser',
      summary: 'Delete a person for a directory: suspend the person, and no longer list them here',
      params: userParams,
      responses: gone,
      refusals: [409],
      async handle({ caller, params }) {
        await users.deleteScimUser(editQueries(sql), caller, params.user);
        return { status: 204 };
      },
    }),
  ];
}

function groupRoutes(sql: Sql): Route[] {
  return [
    defineRoute({
      ...ofGroups,
      ...ofMembers,
      method: 'POST',
      path: '/scim/v2/Groups',
      operationId: 'createScimGroup',
      summary: 'Add a group from a directory',
      body: ScimGroupInput,
      responses: { 201: group },
      refusals: [409],
      handle: async ({ caller, body }) => reply(await groups.createScimGroup(editQueries(sql), caller, body), 201),
    }),
    defineRoute({
      ...ofGroups,
      method: 'GET',
      path: '/scim/v2/Groups',
      operationId: 'listScimGroups',
      summary: 'Groups of the organization for a directory',
      query: ScimListQuery,
      responses: { 200: { description: 'A page', schema: scimList(ScimGroup), mediaType: SCIM_TYPE } },
      handle: async ({ caller, query, signal }) =>
        reply(await groups.listScimGroups(reportQueries(sql, signal), caller, query)),
    }),
    defineRoute({
      ...ofGroups,
      method: 'GET',
      path: '/scim/v2/Groups/:scim_group',
      operationId: 'getScimGroup',
      summary: 'One group for a directory',
      params: groupParams,
      query: excluding,
      responses: { 200: group },
      async handle({ caller, params, query, signal }) {
        const withoutMembers = groups.excludesMembers(query);
        return reply(await groups.getScimGroup(reportQueries(sql, signal), caller, params.scim_group, withoutMembers));
      },
    }),
    defineRoute({
      ...ofGroups,
      ...ofMembers,
      method: 'PUT',
      path: '/scim/v2/Groups/:scim_group',
      operationId: 'replaceScimGroup',
      summary: 'Replace the display name and the members of a group',
      params: groupParams,
      body: ScimGroupInput,
      responses: { 200: group },
      refusals: [409],
      handle: async ({ caller, params, body }) =>
        reply(await groups.replaceScimGroup(editQueries(sql), caller, params.scim_group, body)),
    }),
    defineRoute({
      ...ofGroups,
      ...ofMembers,
      method: 'PATCH',
      path: '/scim/v2/Groups/:scim_group',
      operationId: 'patchScimGroup',
      summary: 'Change the display name or members of a group',
      params: groupParams,
      body: ScimPatch,
      responses: { 200: group },
      refusals: [409],
      handle: async ({ caller, params, body }) =>
        reply(await groups.patchScimGroup(editQueries(sql), caller, params.scim_group, body)),
    }),
    defineRoute({
      ...ofGroups,
      method: 'DELETE',
      path: '/scim/v2/Groups/:scim_group',
      operationId: 'deleteScimGroup',
      summary: 'Delete a group; documents keep its name, but it no longer gives anybody access',
      params: groupParams,
      responses: gone,
      async handle({ caller, params }) {
        await groups.deleteScimGroup(editQueries(sql), caller, params.scim_group);
        return { status: 204 };
      },
    }),
  ];
}
