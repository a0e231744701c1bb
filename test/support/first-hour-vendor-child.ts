import { FakeUpstream } from './fake-upstream.ts';

/** Vendor of `test/first-hour.sh`: it prints its address, and ends with the script. */
const upstream = await FakeUpstream.start({ dimensions: 1536, apiKeys: ['first-hour-key'] });
process.stdout.write(`${upstream.baseUrl('openai')}\n`);
process.stdin.resume().on('end', () => void upstream.close());
