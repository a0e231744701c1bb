/**
 * `npm run eval -- assistant`: 20 questions over a manual of more than 300 pages, with at most three calls of the tool
 * server for each. Fixed policies make the calls, without a language model. The manual is the documentation that npm
 * brings along, as one PDF. A passage is found if an answer of a tool shows it, and read if the policy chose to read it.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { apiService } from '../../../server/api-service.ts';
import { createKey } from '../../../src/access/keys.ts';
import { openAppliance } from '../../../src/appliance/open-appliance.ts';
import { UploadRequest } from '../../../src/ingest/schema.ts';
import { uploadDocument } from '../../../src/ingest/upload.ts';
import { httpToolService } from '../../../src/mcp/http/http-service.ts';
import { loadTokenizer } from '../../../src/models/tokenizers.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import { loadHttpSettings } from '../../../src/platform/tool-server-settings.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { until } from '../../support/until.ts';
import { findDocumentation, makeManual } from './make-manual.ts';
import { lookForAnswer, POLICIES, type Policy, type ToolAnswer } from './policies.ts';
import { QUESTIONS } from './questions.ts';

const BEARER = 'token-of-the-evaluation';

export async function evaluateAssistant(): Promise<void> {
  const folder = findDocumentation();
  if (folder === null) return console.log('npm brings no documentation along: skipped');
  const { dataDir, remove } = makeDataDir();
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir } });
  const logger = openLogger('warn');
  const appliance = await openAppliance(config, { logger });
  const api = apiService(appliance, { port: 0 });
  const services = [appliance.jobs.worker('ingest'), api];
  const { signal } = new AbortController();
  try {
    for (const service of services) await service.start(signal);
    const operator = await appliance.access.operator('default');
    const { bytes, pages } = await makeManual(folder);
    const content = { bytes, fileName: 'npm-manual.pdf', contentType: 'application/pdf' };
    await uploadDocument(appliance.ingest.uploads, operator, 'default', content, UploadRequest.parse({}));
    const isReady = async () => (await appliance.sql`SELECT 1 FROM documents WHERE status = 'ready'`).length > 0;
    await until(isReady, { withinMs: 600_000, what: 'ingest' });
    const { key } = await createKey(appliance.sql, appliance.keyRing, operator, { name: 'eval', scopes: ['search'] });
    const env = { PORT: '0', SERVICE_MCP_BEARER_TOKEN: BEARER, SERVICE_API_KEY: key.reveal() };
    const tools = httpToolService(loadHttpSettings({ env: { ...env, SERVICE_API_BASE_URL: api.url } }), logger);
    services.push(tools);
    await tools.start(signal);
    console.log(`a manual of ${pages} pages`);
    for (const policy of POLICIES) await askAll(tools.url, policy);
  } finally {
    for (const service of services.reverse()) await service.stop();
    await appliance.close();
    remove();
  }
}

async function askAll(url: string, policy: Policy): Promise<void> {
  const count = await loadTokenizer({ kind: 'cl100k' });
  const tokensOf = ({ content, structured }: ToolAnswer) =>
    Math.max(...[content, structured].map((form) => count(JSON.stringify(form), Number.POSITIVE_INFINITY)));
  console.log(`\n${policy.name}\nfound  read  calls  tokens  question`);
  let [found, read, tokensMax] = [0, 0, 0];
  for (const { text, answer } of QUESTIONS) {
    const client = await connect(url);
    const answers = await lookForAnswer(client, policy, text);
    await client.close();
    const isIn = (part: readonly ToolAnswer[]) => answer.test(part.map(textOf).join(' ').replace(/\s+/g, ' '));
    const [isFound, isRead] = [isIn(answers), isIn(answers.filter(({ structured }) => 'next_offset' in structured))];
    const tokens = answers.reduce((sum, each) => sum + tokensOf(each), 0);
    found += Number(isFound);
    read += Number(isRead);
    tokensMax = Math.max(tokensMax, tokens);
    const columns = [isFound ? 'yes' : 'no', isRead ? 'yes' : 'no', answers.length, tokens];
    const [one = '', two = '', three = '', four = ''] = columns.map(String);
    console.log(`${one.padEnd(6)} ${two.padEnd(5)} ${three.padStart(5)}  ${four.padStart(6)}  ${text}`);
  }
  console.log(`${found} of ${QUESTIONS.length} found, ${read} read; at most ${tokensMax} tokens for a question`);
}

/** Open a session of the revision with sessions, so that no question profits from an earlier one. */
async function connect(url: string): Promise<Client> {
  const options = { versionNegotiation: { mode: 'legacy' } } as const;
  const client = new Client({ name: 'assistant', version: '1' }, options);
  const requestInit = { headers: { Authorization: `Bearer ${BEARER}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

function textOf({ content }: ToolAnswer): string {
  return (content as { text?: string }[])[0]?.text ?? '';
}
