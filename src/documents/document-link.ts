import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { readerOfActor } from '../access/actor-caller.ts';
import type { Caller } from '../access/caller.ts';
import { AppError, forbidden } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { readsEveryScope } from './visibility.ts';

/** Lifetime of a link to a document's page. */
const LINK_SECONDS = 3600;
const LINK_CHARS_MAX = 1024;

/** Rights of a link: those of the caller at the time of the search. Its current rights limit them further. */
const LinkClaims = z.tuple([
  z.string().describe('document id'),
  z.string().describe('organization id'),
  z.int().min(1).max(10).describe('auth level'),
  z.boolean().describe('documents of every department are open'),
  z.int().describe('end of validity, in seconds since 1970'),
  z.string().describe('actor of the caller'),
  z.enum(['unrestricted', 'public']).optional().describe('documents that a caller outside may see'),
]);

type LinkKeys = Pick<KeyRing, 'linkSigning'>;

/**
 * Return the URL of the page that shows a chunk of a document to people for one hour, without sign-in. It carries the
 * caller's rights for this one document, signed with HMAC-SHA-256. The caller's current rights and the document's own
 * policy still apply when the page opens.
 *
 * @param origin base URL of this service, without a trailing slash
 */
export function documentUrl(
  keys: LinkKeys,
  link: {
    readonly caller: Caller;
    readonly origin: string;
    readonly documentId: string;
    readonly chunkIndex: number;
    readonly nowMs?: number;
  },
): string {
  const { caller, origin, documentId, chunkIndex, nowMs = Date.now() } = link;
  // Round to whole minutes, so that all searches within a minute return the same URL per document.
  const expires = Math.floor(nowMs / 60_000) * 60 + LINK_SECONDS;
  const claims = [
    ...[documentId, caller.orgId, caller.authLevel, readsEveryScope(caller), expires, caller.actor],
    ...(caller.outside === undefined ? [] : [caller.outside]),
  ] as z.input<typeof LinkClaims>;
  const signed = Buffer.from(JSON.stringify(claims)).toString('base64url');
  const token = `${signed}.${signatureOf(keys, signed).toString('base64url')}`;
  return `${origin}/documents/${encodeURIComponent(documentId)}${linkToChunk(token, chunkIndex)}`;
}

/** Return the relative URL of the page at another chunk. */
export function linkToChunk(token: string, chunkIndex: number): string {
  return `?link=${token}&chunk=${chunkIndex}#chunk-${chunkIndex}`;
}

/**
 * Return the caller of a link, who may only read documents: at most what the maker of the link could read then, and
 * what it may read now. The link becomes invalid with its key, user, grant or channel.
 *
 * @throws AppError `link_invalid` (403), `link_expired` (410)
 */
export async function readDocumentLink(
  { sql, keyRing }: { readonly sql: Sql; readonly keyRing: LinkKeys },
  documentId: string,
  token: string,
  nowMs = Date.now(),
): Promise<Caller> {
  const [signed = '', signature = ''] = token.length > LINK_CHARS_MAX ? [] : token.split('.');
  const presented = Buffer.from(signature, 'base64url');
  const expected = signatureOf(keyRing, signed);
  if (presented.length !== expected.length || !timingSafeEqual(presented, expected)) throw invalidLink();
  // An earlier release created links with other claims.
  const claims = LinkClaims.safeParse(JSON.parse(Buffer.from(signed, 'base64url').toString('utf8')));
  if (!claims.success) throw invalidLink();
  const [linked, orgId, authLevel, everyScope, expires, actor, outside] = claims.data;
  if (linked !== documentId) throw invalidLink();
  if (nowMs >= expires * 1000) {
    const message = 'this link has expired; links to documents work for one hour, so search again for a new one';
    throw new AppError({ code: 'link_expired', status: 410, message });
  }
  const maker = await readerOfActor(sql, orgId, actor);
  if (maker === null) throw invalidLink();
  const { userId, department, groups = [], scopes, limits } = maker;
  return {
    kind: 'user',
    actor: `link:${documentId}`,
    orgId,
    plan: 'free',
    userId,
    groups,
    role: everyScope && readsEveryScope(maker) ? 'org_admin' : null,
    department,
    // Apart from the scope of administrators, which the role stands for.
    scopes: new Set([...scopes].filter((scope) => scope !== 'platform_admin')),
    authLevel: Math.min(authLevel, maker.authLevel),
    ...(limits ? { limits } : {}),
    ...(outside ? { outside } : {}),
  };
}

function signatureOf(keys: LinkKeys, signed: string): Buffer {
  return createHmac('sha256', keys.linkSigning).update(signed).digest();
}

function invalidLink(): AppError {
  return forbidden('this link is not valid; open the document from a search result', 'link_invalid');
}
