import { pino } from 'pino';
import { openPostgres } from '../../src/platform/postgres.ts';
import { openMeter } from '../../src/usage/meter.ts';

// A test starts and kills this script: `usage-child.ts <database url> <organization>`. It books requests of one text in
// an endless loop, and prints their number after each.
const [url = '', orgId = ''] = process.argv.slice(2);
const sql = openPostgres({ url }, { poolMax: 2, applicationName: 'usage-child' });
const meter = openMeter({ sql, plans: {}, logger: pino({ level: 'silent' }) });
await meter.service.start(new AbortController().signal);
for (let settled = 1; ; settled++) {
  const reservation = await meter.reserve({ orgId, plan: 'enterprise' }, 'embed', 1);
  reservation.settle([{ model: 'm', texts: 1, tokens: 1 }]);
  await new Promise((resolve) => process.stdout.write(`${settled}\n`, resolve));
  if (settled % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
}
