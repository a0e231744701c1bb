import { type ScimListQuery, URN } from './schema.ts';
import type { Page } from './scim-store.ts';

const COUNT_MAX = 200;

/** Return the directory id of a group. Names may contain characters that URLs can't. */
export function groupIdOf(name: string): string {
  return Buffer.from(name).toString('base64url');
}

/** Decode the name in a group id; '', which is never a name, for any other id. */
export function groupNameOf(id: string): string {
  const name = Buffer.from(id, 'base64url').toString();
  return groupIdOf(name) === id && !name.includes('\0') ? name : '';
}

/** Read the requested page (RFC 7644, section 3.4.2.4). Treat negative values as 0. */
export function pageOf({ startIndex, count }: ScimListQuery): Page {
  return { offset: Math.max(startIndex, 1) - 1, limit: Math.min(Math.max(count, 0), COUNT_MAX) };
}

export function toList<Resource>(resources: Resource[], totalResults: number, query: ScimListQuery) {
  return {
    schemas: [URN.list],
    totalResults,
    startIndex: Math.max(query.startIndex, 1),
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
