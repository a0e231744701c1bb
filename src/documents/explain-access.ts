import { z } from 'zod';
import { type Caller, requireScope } from '../access/caller.ts';
import { selectApiKeyFacts, selectUserFactsById } from '../access/credential-store.ts';
import { isBucketAllowed } from '../access/key-limits.ts';
import { callerOfKey, callerOfUser } from '../access/make-caller.ts';
import { selectUser } from '../access/user-store.ts';
import { notFound } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { AccessView, accessOf } from './access-list.ts';
import { readAccessFields } from './deletion-store.ts';
import { getDocument } from './documents.ts';
import { type Hindrance, hindrancesOf, type ReadableFields } from './visibility.ts';

/** Response of `GET …/documents/{document}/access`. */
export const AccessExplanation = z
  .object({
    document_id: z.string(),
    readable: z.boolean(),
    reasons: z
      .array(z.string())
      .describe('rules that prevent the reader from reading the document; empty if the reader may read it'),
    reader: z.object({
      id: z.string().describe('`user:<id>`, `key:<id>` or another actor'),
      email: z.string().nullable(),
      role: z.string().nullable(),
      auth_level: z.int(),
      department: z.string().nullable(),
      groups: z.array(z.string()),
    }),
    document: z.object({
      privacy_level: z.int(),
      scope: z.string().nullable(),
      classification: z.string(),
      public_accessible: z.boolean(),
      access: AccessView.nullable(),
    }),
  })
  .meta({ id: 'AccessExplanation' });
export type AccessExplanation = z.output<typeof AccessExplanation>;

/**
 * Explain whether the caller, a user or a key may read a document. The caller must be able to read it.
 *
 * @param as id or email of a user, or `key:<id>`; undefined for the caller
 * @throws AppError `scope_missing` (403) for another reader without `users:manage`, `bucket_not_found`,
 *   `document_not_found`, `user_not_found`, `key_not_found` (404)
 */
export async function explainAccess(
  sql: Sql,
  caller: Caller,
  { bucket, document, as }: { readonly bucket: string; readonly document: string; readonly as?: string | undefined },
): Promise<AccessExplanation> {
  if (as !== undefined) requireScope(caller, 'users:manage');
  const { id, bucket_id: bucketId } = await getDocument(sql, caller, bucket, document);
  const fields = (await readAccessFields(sql, caller.orgId, [id]))[id];
  if (fields === undefined) throw notFound('document', document);
  const reader = as === undefined ? caller : await findReader(sql, caller.orgId, as);
  const user = reader.userId === null ? null : await selectUser(sql, caller.orgId, reader.userId);
  const reasons = hindrancesOf(reader, fields).map((hindrance) => REASONS[hindrance](reader, fields));
  if (!isBucketAllowed(reader.limits, bucketId)) reasons.push('the limits of the key do not allow the bucket');
  const { access_list: list, ...shown } = fields;
  return {
    document_id: id,
    readable: reasons.length === 0,
    reasons,
    reader: {
      id: reader.actor,
      email: user?.email ?? null,
      role: reader.role,
      auth_level: reader.authLevel,
      department: reader.department,
      groups: [...(reader.groups ?? [])],
    },
    document: { ...shown, access: accessOf(list) },
  };
}

async function findReader(sql: Sql, orgId: string, ref: string): Promise<Caller> {
  if (ref.startsWith('key:')) {
    const key = await selectApiKeyFacts(sql, ref.slice('key:'.length));
    if (key?.orgId !== orgId) throw notFound('key', ref);
    return callerOfKey(key);
  }
  const user = await selectUser(sql, orgId, ref.replace(/^user:/, ''));
  const facts = user && (await selectUserFactsById(sql, orgId, user.id));
  if (!facts) throw notFound('user', ref);
  return callerOfUser(facts);
}

const REASONS: Record<Hindrance, (reader: Caller, document: ReadableFields) => string> = {
  level: ({ authLevel }, { privacy_level: level }) =>
    level > authLevel
      ? `the privacy level of the document is ${level}, and the auth level of the reader is ${authLevel}`
      : 'the key has no scope that reads documents',
  department: ({ department }, { scope }) =>
    `the document is for the department "${scope}", and the reader ${department === null ? 'has none' : `is of "${department}"`}`,
  classification: (_, { classification }) => `the document is ${classification}, and the reader is outside`,
  not_public: () => 'the document is not public, and the reader sees public documents only',
  not_listed: () => 'the access of the document names neither the reader nor a group of the reader',
};
