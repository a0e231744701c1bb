import { invalidRequest } from '../../platform/errors.ts';
import type { ScimPatch } from './schema.ts';

/** Values of a resource by attribute, as a request would write them. */
export type Assigned = Record<string, unknown>;

type Operation = ScimPatch['Operations'][number];

/** Simple attributes that can change, by lower-case name. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  username: 'userName',
  externalid: 'externalId',
  active: 'active',
  displayname: 'displayName',
};

/**
 * Apply an operation to the simple attributes of a resource. Without a path, the operation's value is an object of
 * attributes. Ignore attributes that the service doesn't have.
 *
 * @throws AppError `invalidValue` (400)
 */
export function assign(values: Assigned, { op, path, value }: Operation): void {
  if (path === undefined) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalidRequest('Operations: an operation without a path needs an object', 'Operations', 'invalidValue');
    }
    for (const [name, part] of Object.entries(value)) assign(values, { op, path: name, value: part });
    return;
  }
  const name = ATTRIBUTES[pathOf(path)];
  if (name !== undefined) values[name] = op === 'remove' ? null : value;
}

/** Return a path in lower case, without the URN of its schema. */
export function pathOf(path: string): string {
  return path.replace(/^urn:[\w:.]+:(?=\w+$|\w+\[)/i, '').toLowerCase();
}
