import type { RedisConnection } from './redis.ts';

/** Part of a connection that reads and writes values of several keys. */
export type BufferStore = Pick<RedisConnection, 'client' | 'isCluster'>;

/** Read the values of several keys, null for a missing one: by one command, or in a cluster by one command a key. */
export async function getBuffers(
  { client, isCluster }: BufferStore,
  keys: readonly string[],
): Promise<(Buffer | null)[]> {
  return isCluster ? Promise.all(keys.map((key) => client.getBuffer(key))) : client.mgetBuffer([...keys]);
}

/** Write values that expire. @throws the error of the first value that was refused */
export async function setBuffers(
  { client, isCluster }: BufferStore,
  values: readonly (readonly [key: string, value: Buffer])[],
  ttlMs: number,
): Promise<void> {
  if (isCluster) {
    await Promise.all(values.map(([key, value]) => client.set(key, value, 'PX', ttlMs)));
    return;
  }
  const pipeline = client.pipeline();
  for (const [key, value] of values) pipeline.set(key, value, 'PX', ttlMs);
  const answers = await pipeline.exec();
  const refused = answers?.find(([error]) => error !== null)?.[0];
  if (refused) throw refused;
}
