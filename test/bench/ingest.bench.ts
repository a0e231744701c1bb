/**
 * Benchmark of the ingest of 1,000 text documents of 4 kB with the built-in model, from the first upload to the last
 * ready.
 */
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { createRandom } from '../support/random.ts';

const DOCUMENTS = 1_000;
const DOCUMENT_CHARS = 4_000;
const WORDS = 'harbour tide lens bearing granite orchard ferry ledger saline pylon quarry meadow cobalt lantern'.split(
  ' ',
);

function makeDocument(index: number): { id: string; fileName: string; text: string } {
  const random = createRandom(index + 1);
  let text = `Report ${index}\n\n`;
  while (text.length < DOCUMENT_CHARS) {
    const words = Array.from({ length: 8 + random.int(10) }, () => {
      const word = random.pick(WORDS);
      return random.real() < 0.3 ? `${word}${random.int(1000)}` : word;
    });
    text += `The ${words.join(' ')}. `;
  }
  return { id: String(index), fileName: `report-${index}.txt`, text };
}

const { dataDir, remove } = makeDataDir();
const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
const worker = appliance.jobs.worker('ingest');
try {
  await worker.start(new AbortController().signal);
  const operator = await appliance.access.operator('default');
  const documents = Array.from({ length: DOCUMENTS }, (_, index) => makeDocument(index));
  const cpuBefore = process.cpuUsage();
  const { perSecond } = await ingestAll(appliance, operator, 'default', documents);
  const cpu = process.cpuUsage(cpuBefore);
  const cpuMs = (cpu.user + cpu.system) / 1000 / DOCUMENTS;
  console.log(
    `ingest   ${DOCUMENTS} documents of ${DOCUMENT_CHARS} characters: ${perSecond.toFixed(0)} documents/s, ${cpuMs.toFixed(1)} ms CPU each (this process)`,
  );
} finally {
  await worker.stop();
  await appliance.close();
  remove();
}
