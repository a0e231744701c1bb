import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

/**
 * Log of the calls in a sorted set by their time in microseconds, on Redis's own clock, so that processes whose clocks
 * differ agree. Returns 1 where the call was logged.
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

/** ioredis adds each script as a method, and sends its text only where Redis does not know its hash. */
type WithScript = Redis & {
  serviceTakeCall(key: string, callsMax: number, windowMs: number, member: string): Promise<number>;
};

/** Log that all processes share. The function returned rejects where Redis is away. */
export function openRedisCalls(
  client: Redis,
): (key: string, limit: { readonly callsMax: number; readonly windowMs: number }) => Promise<boolean> {
  client.defineCommand('serviceTakeCall', { numberOfKeys: 1, lua: TAKE });
  return async (key, { callsMax, windowMs }) => {
    const taken = await (client as WithScript).serviceTakeCall(PREFIX + key, callsMax, windowMs, randomUUID());
    return taken === 1;
  };
}
