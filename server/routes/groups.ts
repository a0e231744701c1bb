import { z } from 'zod';
import { createGroup, deleteGroup, editGroup, findGroup, listGroups } from '../../src/access/groups/groups.ts';
import { Group, GroupChanges, GroupWithMembers, NewGroup } from '../../src/access/groups/schema.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { NamePageQuery, pageSchema, readPageByName } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ group: z.string().min(1).max(300).describe('name, in any case') });
const common = { access: 'groups:manage', errors: 'detail' } as const;

/** Create the routes of the groups of an organization. */
export function groupRoutes(sql: Sql): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'POST',
      path: '/v1/groups',
      operationId: 'createGroup',
      summary:
        'Create a group of people, keys and other groups, whose members may read the documents that name the group',
      reads: 'json',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      body: NewGroup,
      responses: { 201: { description: 'The group', schema: GroupWithMembers } },
      refusals: [409],
      handle: async ({ caller, body }) => ({ status: 201, body: await createGroup(editQueries(sql), caller, body) }),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/groups',
      operationId: 'listGroups',
      summary: 'Groups of the organization, by name',
      reads: 'none',
      query: NamePageQuery,
      responses: { 200: { description: 'A page', schema: pageSchema(Group) } },
      handle: async ({ caller, query, signal }) => ({
        body: await readPageByName(query, (page) => listGroups(reportQueries(sql, signal), caller, page)),
      }),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/groups/:group',
      operationId: 'getGroup',
      summary: 'A group and its members',
      reads: 'none',
      params,
      responses: { 200: { description: 'The group', schema: GroupWithMembers } },
      handle: async ({ caller, params, signal }) => ({
        body: await findGroup(reportQueries(sql, signal), caller, params.group),
      }),
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      path: '/v1/groups/:group',
      operationId: 'editGroup',
      summary: 'Add and remove members of a group, or change its display name or claim; effective within a second',
      reads: 'json',
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
      ...common,
      method: 'DELETE',
      path: '/v1/groups/:group',
      operationId: 'deleteGroup',
      summary: 'Delete a group; documents keep its name, but it no longer gives anybody access',
      reads: 'none',
      params,
      responses: { 200: { description: 'The group as it was', schema: Group } },
      handle: async ({ caller, params }) => ({ body: await deleteGroup(editQueries(sql), caller, params.group) }),
    }),
  ];
}
