import { signDelivery } from '../../src/channels/verify-delivery.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { Answer, TestApi } from './api.ts';
import { until } from './until.ts';

/** Settings with a deadline that every reply meets even on a busy machine. */
export const PATIENT = { channels: { reply_deadline_seconds: 60 } };

export const WEBHOOK = '/v1/channels/messenger/webhook';
export const CONFIGS = '/v1/channels/configs';
export const SEND = '/v1/channels/messenger/send';

/** Configuration of a messenger channel, with credentials that are recognisable in any output. */
export function messengerConfig(part: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    ...{ rest_api_key: 'rest-key-canary-0123456789', channel_id: '@shop', collection: 'default', bot_id: 'bot-1' },
    ...{ admin_key: 'admin-key-canary-0123456789', secret: 'signing-secret-canary-0123456789' },
    ...part,
  };
}

export interface TestDelivery {
  readonly bot_id?: unknown;
  readonly user_id?: unknown;
  readonly utterance?: unknown;
}

export interface DeliveryOptions {
  readonly secret?: string;
  /** Seconds since 1970. */
  readonly timestamp?: string;
  readonly headers?: Record<string, string>;
}

export function nowSeconds(): string {
  return String(Math.floor(Date.now() / 1000));
}

/** Build a signed delivery, ready to be sent. Omit undefined fields. */
export function signedDelivery(
  fields: TestDelivery | string,
  { secret = 'signing-secret-canary-0123456789', timestamp = nowSeconds(), headers = {} }: DeliveryOptions = {},
): { readonly body: string; readonly headers: Record<string, string> } {
  const body =
    typeof fields === 'string'
      ? fields
      : JSON.stringify({ bot_id: 'bot-1', user_id: 'user-1', utterance: 'x', ...fields });
  const signature = signDelivery(secret, timestamp, Buffer.from(body));
  return {
    body,
    headers: {
      ...{ 'Content-Type': 'application/json', 'X-Messenger-Timestamp': timestamp, 'X-Messenger-Signature': signature },
      ...headers,
    },
  };
}

/** Sign and send a delivery. */
export function deliver(
  test: Pick<TestApi, 'call'>,
  fields: TestDelivery | string,
  options: DeliveryOptions = {},
): Promise<Answer> {
  return test.call('POST', WEBHOOK, signedDelivery(fields, options));
}

/** Return the texts of a reply. */
export function textsOf(answer: Answer): string[] {
  return answer.body.template.outputs.map((output: { simpleText: { text: string } }) => output.simpleText.text);
}

export function textOf(answer: Answer): string {
  return textsOf(answer).join('\n\n');
}

let users = 0;
/** Return a unique user id, so that a delivery doesn't count as a repetition. */
export function freshUser(): string {
  users++;
  return `user-${users}`;
}

/** Store a configuration through the API and return its id. */
export async function createConfig(test: TestApi, key: string, part: Record<string, unknown> = {}): Promise<string> {
  const json = { name: 'Shop', provider: 'messenger', config: messengerConfig(part) };
  const { status, body } = await test.call('POST', CONFIGS, { key, json });
  if (status !== 200) throw new Error(`the configuration was refused: ${status} ${JSON.stringify(body)}`);
  return body.id;
}

export interface TestDocument {
  readonly fileName?: string;
  readonly text: string;
  readonly fields?: Record<string, unknown>;
}

/** Upload documents to a bucket of the organization `default` and wait for their ingest. A bucket other than `default` is created. */
export async function fillBucket(
  test: Pick<TestApi, 'appliance' | 'operator'>,
  bucket: string,
  documents: readonly TestDocument[],
): Promise<void> {
  const { appliance, operator } = test;
  const policy = BucketPolicy.parse({});
  if (bucket !== 'default') await createBucket(appliance.sql, operator, { name: bucket, policy });
  const ids: string[] = [];
  for (const [index, { fileName = `file-${index + 1}.txt`, text, fields = {} }] of documents.entries()) {
    const content = { bytes: Buffer.from(text), fileName, contentType: null };
    const request = UploadRequest.parse({ on_duplicate: 'allow', ...fields });
    ids.push((await uploadDocument(appliance.ingest.uploads, operator, bucket, content, request)).id);
  }
  await until(
    async () => {
      const rows =
        await appliance.sql`SELECT status FROM documents WHERE id = ANY(${appliance.sql.array(ids)}::text[])`;
      return rows.every((row) => row['status'] === 'ready');
    },
    { withinMs: 50_000, what: 'ingest' },
  );
}
