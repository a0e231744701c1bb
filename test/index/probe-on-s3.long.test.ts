import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { indexOnS3 } from '../../src/index/lance/index-on-s3.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { s3Available, s3Settings, startS3, type TestS3 } from '../support/s3.ts';
import { type S3Proxy, startS3Proxy } from '../support/s3-proxy.ts';

const SILENCE_MS = 2_000;

describe.skipIf(!s3Available())('probe of an index on S3', () => {
  let s3: TestS3;
  let proxy: S3Proxy;
  let location: ReturnType<typeof indexOnS3>;
  let tables: LanceTables;
  let others: LanceTables | undefined;
  beforeAll(async () => {
    s3 = await startS3();
    const bucket = await s3.createBucket();
    proxy = await startS3Proxy(s3.endpoint);
    location = indexOnS3(s3Settings(proxy.endpoint, bucket));
    tables = new LanceTables(...location, undefined, SILENCE_MS);
  });
  afterAll(async () => {
    // Without the proxy the attempt to connect ends.
    await proxy?.close();
    await tables?.close();
    await others?.close();
    await s3?.drop();
  });

  it('a probe is one request that reads no list of the tables, whether there are tables or none', async () => {
    await tables.probe();
    await tables.openForWriting('bkt_a');
    proxy.seen.length = 0;
    await tables.probe();
    expect(proxy.seen).toEqual([expect.stringContaining('prefix=index%2Fprobe.lance')]);
  });

  it('work on tables of a store that gives no answer fails, and works once the store answers', async () => {
    proxy.decide = () => ({ body: 'silent', afterBytes: 0 });
    await expect(tables.openForWriting('bkt_a')).rejects.toMatchObject({ code: 'index_unavailable', retryable: true });
    await expect(tables.openForReading('bkt_a', 1)).rejects.toMatchObject({ code: 'index_unavailable' });
    // Another process that has not connected yet.
    others = new LanceTables(...location, undefined, SILENCE_MS);
    await expect(others.probe()).rejects.toMatchObject({ code: 'index_unavailable' });
    proxy.decide = () => null;
    expect((await tables.openForWriting('bkt_a')).name).toBe('bkt_a');
    expect((await tables.openForReading('bkt_a', 1))?.name).toBe('bkt_a');
  });

  it('an index whose store refuses the request does not answer', async () => {
    proxy.decide = () => ({ status: 403, code: 'AccessDenied' });
    await expect(tables.probe()).rejects.toMatchObject({ code: 'index_unavailable' });
  });
});
