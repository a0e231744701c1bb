import { randomUUID } from 'node:crypto';
import type { RedisConnection } from '../platform/redis.ts';

/**
 * Script that logs a call in a sorted set by its time in microseconds and returns 1, or returns 0 if the limit is
 * reached. It uses the Redis clock, since processes' clocks may differ.
 */
const TAKE = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local window = tonumber(ARGV[2]) * 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then
  return 0
end
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[2]) + 1000)
return 1
`;

const PREFIX = 'service:channel-calls:';

/** Client with the script as a method. ioredis sends the script only if Redis doesn't know its hash. */
type WithScript = RedisConnection['client'] & {
  serviceTakeCall(key: string, callsMax: number, windowMs: number, member: string): Promise<number>;
};

/** Open a log shared by all processes. The returned function rejects if Redis is unavailable. */
export function openRedisCalls(
  client: RedisConnection['client'],
): (key: string, limit: { readonly callsMax: number; readonly windowMs: number }) => Promise<boolean> {
  client.defineCommand('serviceTakeCall', { numberOfKeys: 1, lua: TAKE });
  return async (key, { callsMax, windowMs }) => {
    const taken = await (client as WithScript).serviceTakeCall(PREFIX + key, callsMax, windowMs, randomUUID());
    return taken === 1;
  };
}
