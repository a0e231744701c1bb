import { z } from 'zod';

/** URNs of the schemas (RFC 7643, section 8.7; RFC 7644, sections 3.4.2, 3.5.2 and 3.12). */
export const URN = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  error: 'urn:ietf:params:scim:api:messages:2.0:Error',
} as const;

/** Media type of requests and responses (RFC 7644, section 8.1). */
export const SCIM_TYPE = 'application/scim+json';

/** Maximum number of members per request to add, remove or set. */
const MEMBERS_MAX = 10_000;
const OPERATIONS_MAX = 1_000;

const text = z.string().min(1).max(256);
/** Boolean, which some providers send as text. */
const flag = z.preprocess((value) => (typeof value === 'string' ? value.toLowerCase() === 'true' : value), z.boolean());

/** User as written by a directory. Unknown attributes are ignored, as RFC 7644 allows. */
export const ScimUserInput = z.object({
  schemas: z.array(z.string()).optional(),
  userName: text.describe('email address'),
  externalId: text.nullish(),
  active: flag.default(true),
  emails: z
    .array(z.looseObject({ value: text.optional(), primary: flag.optional() }))
    .max(20)
    .optional(),
});
export type ScimUserInput = z.output<typeof ScimUserInput>;

const member = z.looseObject({ value: text });

export const ScimGroupInput = z.object({
  schemas: z.array(z.string()).optional(),
  displayName: z.string().normalize('NFC').trim().min(1).max(200),
  externalId: text.nullish(),
  members: z.array(member).max(MEMBERS_MAX).default([]),
});
export type ScimGroupInput = z.output<typeof ScimGroupInput>;

/** `PATCH` (RFC 7644, section 3.5.2). Providers differ in the case of `op`. */
export const ScimPatch = z.object({
  schemas: z.array(z.string()).optional(),
  Operations: z
    .array(
      z.object({
        op: z
          .string()
          .toLowerCase()
          .pipe(z.enum(['add', 'replace', 'remove'])),
        path: z.string().max(1_000).optional(),
        value: z.unknown().optional(),
      }),
    )
    .min(1)
    .max(OPERATIONS_MAX),
});
export type ScimPatch = z.output<typeof ScimPatch>;

export const ScimListQuery = z.object({
  filter: z.string().max(1_000).optional().describe('such as `userName eq "ana@example.com"`'),
  startIndex: z.coerce.number().int().catch(1).default(1).describe('from 1'),
  count: z.coerce.number().int().catch(100).default(100).describe('at most 200'),
  excludedAttributes: z.string().max(1_000).optional().describe('`members` to leave members out'),
  attributes: z.string().max(1_000).optional().describe('ignored'),
});
export type ScimListQuery = z.output<typeof ScimListQuery>;

const meta = z.object({
  resourceType: z.string(),
  created: z.iso.datetime(),
  lastModified: z.iso.datetime(),
  location: z.string(),
});
const reference = z.object({ value: z.string(), display: z.string() });

export const ScimUser = z
  .object({
    schemas: z.array(z.string()),
    id: z.string(),
    externalId: z.string().optional(),
    userName: z.string(),
    active: z.boolean(),
    emails: z.array(z.object({ value: z.string(), type: z.literal('work'), primary: z.literal(true) })),
    groups: z.array(reference),
    meta,
  })
  .meta({ id: 'ScimUser' });
export type ScimUser = z.output<typeof ScimUser>;

export const ScimGroup = z
  .object({
    schemas: z.array(z.string()),
    id: z.string(),
    externalId: z.string().optional(),
    displayName: z.string(),
    members: z.array(reference.extend({ type: z.enum(['User', 'Group']) })).optional(),
    meta,
  })
  .meta({ id: 'ScimGroup' });
export type ScimGroup = z.output<typeof ScimGroup>;

export function scimList<T extends z.ZodType>(item: T) {
  return z.object({
    schemas: z.array(z.string()),
    totalResults: z.int(),
    startIndex: z.int(),
    itemsPerPage: z.int(),
    Resources: z.array(item),
  });
}
