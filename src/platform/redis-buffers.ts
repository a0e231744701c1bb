import type { RedisConnection } from './redis.ts';

/** Part of a Redis connection for reading and writing several keys. */
export type BufferStore = Pick<RedisConnection, 'client' | 'isCluster'>;

/**
 * Read the values of several keys, with null for a missing one. Use one command, or in a cluster one command per key.
 */
export async function getBuffers(
  { client, isCluster }: BufferStore,
  keys: readonly string[],
): Promise<(Buffer | null)[]> {
  return isCluster ? Promise.all(keys.map((key) => client.getBuffer(key))) : client.mgetBuffer([...keys]);
}

/** Write values that expire. @throws the error of the first refused value */
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
