import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Access key that a fake of AWS accepts. */
export interface FakeAwsKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly region: string;
  readonly service: string;
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();

/** Parts of a request that its signature covers. */
export interface SignedRequest {
  readonly method: string;
  /** Path as sent, without a query. */
  readonly path: string;
  readonly query?: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/**
 * Compute the signature of a request by AWS Signature Version 4, as published
 * (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html). Services other than S3 encode
 * the path twice.
 */
export function signatureOf(request: SignedRequest, signedHeaders: readonly string[], key: FakeAwsKey): string {
  const { method, path, query = '', headers, body } = request;
  const date = headers['x-amz-date'] ?? '';
  const canonical = [
    method,
    path.split('/').map(encodeStrictly).join('/'),
    query,
    ...signedHeaders.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders.join(';'),
    sha256(body),
  ].join('\n');
  const scope = `${date.slice(0, 8)}/${key.region}/${key.service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const signing = [key.region, key.service, 'aws4_request'].reduce<Buffer>(
    (derived, part) => hmac(derived, part),
    hmac(`AWS4${key.secretAccessKey}`, date.slice(0, 8)),
  );
  return createHmac('sha256', signing).update(toSign).digest('hex');
}

function encodeStrictly(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Return the id of the access key if a request has its valid signature, else null. */
export function signerOf(request: IncomingMessage, body: Buffer, key: FakeAwsKey): string | null {
  const headers = request.headers as Record<string, string | undefined>;
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, id, day, scope, names = '', signature] = form.exec(headers['authorization'] ?? '') ?? [];
  const date = headers['x-amz-date'] ?? '';
  const signed = names.split(';');
  if (id !== key.accessKeyId || scope !== `${key.region}/${key.service}/aws4_request`) return null;
  if (!date.startsWith(day ?? '-') || !signed.includes('host') || !signed.includes('x-amz-date')) return null;
  if (headers['x-amz-security-token'] !== key.sessionToken) return null;
  if (key.sessionToken !== undefined && !signed.includes('x-amz-security-token')) return null;
  const { method = '', url = '' } = request;
  return signatureOf({ method, path: url, headers, body }, signed, key) === signature ? id : null;
}
