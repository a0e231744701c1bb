import { z } from 'zod';
import { createGroup, deleteGroup, editGroup, findGroup, listGroups } from '../../src/access/groups/groups.ts';
import { Group, GroupChanges, GroupWithMembers, NewGroup } from '../../src/access/groups/schema.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { NamePageQuery, pageSchema, readPageByName } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ group: z.string().min(1).max(300).describe('name, in any case') });
/** Create the routes of the groups of an organization. */
export function groupRoutes(sql: Sql): Route[] {
  return [
    defineRoute({
      access: 'groups:manage',
      method: 'POST',
      path: '/v1/groups',
      operationId: 'createGroup',
      summary:
        'Create a group of people, keys and other groups, whose members may read the documents that name the group',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      body: NewGroup,
      responses: { 201: { description: 'The group', schema: GroupWithMembers } },
      refusals: [409],
      handle: async ({ caller, body }) => ({ status: 201, body: await createGroup(editQueries(sql), caller, body) }),
    }),
    defineRoute({
      access: 'groups:manage',
      method: 'GET',
      path: '/v1/groups',
      operationId: 'listGroups',
      summary: 'Groups of the organization, by name',
      query: NamePageQuery,
      responses: { 200: { description: 'A page', schema: pageSchema(Group) } },
      handle: async ({ caller, query, signal }) => ({
        body: await readPageByName(query, (page) => listGroups(reportQueries(sql, signal), caller, page)),
      }),
    }),
    defineRoute({
      access: 'groups:manage',
      method: 'GET',
      path: '/v1/groups/:group',
      operationId: 'getGroup',
      summary: 'A group and its members',
      params,
      responses: { 200: { description: 'The group', schema: GroupWithMembers } },
      handle: async ({ caller, params, signal }) => ({
        body: await findGroup(reportQueries(sql, signal), caller, params.group),
      }),
    }),
    defineRoute({
      access: 'groups:manage',
      method: 'PATCH',
      path: '/v1/groups/:group',
      operationId: 'editGroup',
      summary: 'Add and remove members of a group, or change its display name or claim; effective within a second',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params,
      body: GroupChanges,
      responses: { 200: { description: 'The group after the edit', schema: GroupWithMembers } },
      refusals: [409],
      handle: async ({ caller, params, body }) => ({
        body: await editGroup(editQueries(sql), caller, params.group, body),
      }),
    }),
    defineRoute({
      access: 'groups:manage',
      method: 'DELETE',
      path: '/v1/groups/:group',
      operationId: 'deleteGroup',
      summary: 'Delete a group; documents keep its name, but it no longer gives anybody access',
      params,
      responses: { 200: { description: 'The group as it was', schema: Group } },
      handle: async ({ caller, params }) => ({ body: await deleteGroup(editQueries(sql), caller, params.group) }),
    }),
  ];
}
