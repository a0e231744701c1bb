import type { Document } from 'yaml';
import { findDimensions } from '../embedding/find-dimensions.ts';
import { Catalog } from '../models/catalog.ts';
import { knownModelsOf, knownTokensMax } from '../models/known-models.ts';
import { loadConfig } from '../platform/config.ts';
import { configFileOf } from '../platform/environment.ts';
import { AppError, conflict, invalidRequest } from '../platform/errors.ts';
import { ask } from './confirm.ts';
import { note } from './output.ts';
import { editSettings, readSettings } from './settings-file.ts';
import { type KnownVendor, VENDORS, type VendorParameter } from './vendors.ts';

/** Default token limit per text. */
const TOKENS_MAX = 512;

type VendorParameters = Readonly<Partial<Record<VendorParameter, string | undefined>>>;

/** Values from a person's answers, or from flags. */
export interface VendorChoice {
  readonly protocol: (typeof VENDORS)[number]['protocol'];
  /** Name of the provider in service.yaml; the vendor of its models. */
  readonly vendor: string;
  /** Address of the API, or null if it follows from the parameters. */
  readonly url: string | null;
  /** Region, project and other settings that the protocol requires, by name. */
  readonly parameters: VendorParameters;
  /** Environment variable that holds the API key, or null for a server without keys. */
  readonly keyVariable: string | null;
  readonly model: string;
  /** Token limit per text of the model; null to find it by the model's name. */
  readonly maxTokens: number | null;
}

/** Values given as flags. */
export type GivenChoice = { readonly [Field in keyof VendorChoice]?: VendorChoice[Field] | undefined };

/** Ask a person at a terminal for each missing value. @throws AppError `invalid_request` (400) */
export async function askForVendor(given: GivenChoice, signal: AbortSignal): Promise<VendorChoice> {
  const protocol = given.protocol ?? (await askForProtocol(signal));
  const known = knownVendor(protocol);
  if (known === undefined) throw invalidRequest(`there is no protocol ${protocol}`, 'protocol');
  const vendor = given.vendor ?? (await askWithDefault('Name of the vendor', known.name, signal));
  const url = given.url ?? (known.needs ? null : await askWithDefault('URL of its API', known.url ?? null, signal));
  const parameters: Partial<Record<VendorParameter, string | undefined>> = { ...given.parameters };
  for (const name of known.needs ?? []) {
    const question = `${name[0]?.toUpperCase()}${name.slice(1)} of ${known.label}`;
    parameters[name] ??= await askWithDefault(question, null, signal);
  }
  const keyVariable =
    given.keyVariable ??
    (known.isKeyless
      ? null
      : await askWithDefault('Environment variable with the API key', variableOf(vendor), signal));
  const model = given.model ?? (await askWithDefault('Name of the model at the vendor', null, signal));
  return { protocol, vendor, url, parameters, keyVariable, model, maxTokens: given.maxTokens ?? null };
}

/** Complete the flags without asking. @throws AppError `invalid_request` (400) that names the missing flags */
export function completeVendor(given: GivenChoice): VendorChoice {
  const { protocol, model, parameters = {} } = given;
  const known = knownVendor(protocol);
  const url = given.url ?? known?.url ?? (known?.needs ? null : undefined);
  const missing = [
    ...(known === undefined ? ['--protocol'] : []),
    ...(url === undefined ? ['--url'] : []),
    ...(known?.needs ?? []).filter((name) => parameters[name] === undefined).map((name) => `--${name}`),
    ...(model === undefined ? ['--model'] : []),
  ];
  const isComplete = missing.length === 0;
  if (!isComplete || known === undefined || protocol === undefined || url === undefined || model === undefined) {
    throw invalidRequest(
      `there is no terminal to ask for missing values; give ${missing.join(' and ')}`,
      missing[0]?.slice(2) ?? null,
    );
  }
  return {
    protocol,
    vendor: given.vendor ?? known.name,
    url,
    parameters,
    keyVariable: given.keyVariable ?? null,
    model,
    maxTokens: given.maxTokens ?? null,
  };
}

function knownVendor(protocol: string | undefined): KnownVendor | undefined {
  return VENDORS.find((each) => each.protocol === protocol);
}

async function askForProtocol(signal: AbortSignal): Promise<VendorChoice['protocol']> {
  for (const [index, { label }] of VENDORS.entries()) note(`${index + 1}) ${label}`);
  for (;;) {
    const answer = Number(await askNeeded(`Which one makes the embeddings? [1-${VENDORS.length}]`, signal));
    const chosen = VENDORS[answer - 1];
    if (chosen !== undefined) return chosen.protocol;
    note(`Enter a number from 1 to ${VENDORS.length}, or press Ctrl-C to stop.`);
  }
}

/** Ask for a value. @throws AppError `interrupted` if the input ends */
export async function askWithDefault(question: string, fallback: string | null, signal: AbortSignal): Promise<string> {
  for (;;) {
    const answer = await askNeeded(`${question}${fallback === null ? ':' : ` [${fallback}]:`}`, signal);
    const value = answer === '' ? fallback : answer;
    if (value !== null) return value;
    note('Enter a value, or press Ctrl-C to stop.');
  }
}

/** Ask a question until it is answered. @throws AppError `interrupted` if the input ends */
async function askNeeded(question: string, signal: AbortSignal): Promise<string> {
  const answer = await ask(question, signal);
  if (answer === null) throw new AppError({ code: 'interrupted', status: 499, message: 'interrupted' });
  return answer;
}

function variableOf(vendor: string): string {
  return `${vendor.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_KEY`;
}

/** Configured model, with its id for requests. */
export interface InitReport {
  readonly file: string;
  readonly provider: string;
  readonly model: string;
  readonly dimensions: number;
  readonly latency_ms: number;
  /** True if no vendor was configured before. Requests that name no model then use this model. */
  readonly is_first: boolean;
}

/**
 * Test a vendor with one real call, then write it into service.yaml. Keep other settings and comments. Write nothing if
 * the call fails.
 *
 * @throws AppError `provider_exists` (409) unless `force`, `key_missing` (400), `config_invalid`, and errors of
 *   `findDimensions`
 */
export async function initVendor(
  choice: VendorChoice,
  { env, dataDir, force, signal }: { env: NodeJS.ProcessEnv; dataDir: string; force: boolean; signal: AbortSignal },
): Promise<InitReport> {
  const file = configFileOf(env, dataDir);
  const document = await readSettings({ env, dataDir });
  if (document.hasIn(['providers', choice.vendor]) && !force) {
    throw conflict(
      `${file} already has a provider ${choice.vendor}; name another one with --vendor, or replace it with --force`,
      'provider_exists',
    );
  }
  const isFirst = !document.hasIn(['providers']);
  const id = `${choice.vendor}/${choice.model}`;
  const facts = knownModelsOf(choice.vendor, choice.protocol, new Set([id]));
  const isKnown = new Catalog().get(id) !== undefined || facts.some((model) => model.id === id);
  const provider = providerOf(choice, id);
  const { dimensions, latencyMs } = await testVendor(choice, provider, { env, signal });
  document.setIn(['providers', choice.vendor], document.createNode(provider));
  if (!isKnown) {
    const maxTokens = choice.maxTokens ?? knownTokensMax(new Catalog().list(), choice.model) ?? TOKENS_MAX;
    const own = { id, vendor: choice.vendor, dimensions, max_tokens: maxTokens };
    addModel(document, own);
  }
  await editSettings({ env, dataDir }, document);
  return { file, provider: choice.vendor, model: id, dimensions, latency_ms: latencyMs, is_first: isFirst };
}

/** Build the provider's settings, with the name of the key's variable. */
function providerOf(choice: VendorChoice, id: string): Record<string, unknown> {
  const { protocol, url, parameters, keyVariable, model } = choice;
  // Without a key, Bedrock uses this machine's credentials.
  const isRole = protocol === 'bedrock' && keyVariable === null;
  return {
    protocol,
    ...(url === null ? {} : { base_url: url }),
    ...Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined)),
    ...(isRole ? { credentials: 'aws' } : {}),
    ...(keyVariable === null ? {} : { [keySettingOf(protocol)]: `\${${keyVariable}}` }),
    models: { [id]: model },
  };
}

function keySettingOf(protocol: VendorChoice['protocol']): string {
  return knownVendor(protocol)?.keySetting ?? 'api_key';
}

function addModel(document: Document, model: Readonly<Record<string, unknown>>): void {
  const models = (document.toJS() as { models?: readonly { id: string }[] } | null)?.models ?? [];
  const at = models.findIndex(({ id }) => id === model['id']);
  if (models.length === 0) document.setIn(['models'], document.createNode([model]));
  else if (at === -1) document.addIn(['models'], document.createNode(model));
  else document.setIn(['models', at], document.createNode(model));
}

/** Make one call with the settings that are about to be written. */
async function testVendor(
  choice: VendorChoice,
  provider: Readonly<Record<string, unknown>>,
  { env, signal }: { env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<{ dimensions: number; latencyMs: number }> {
  const key = choice.keyVariable === null ? undefined : env[choice.keyVariable];
  if (choice.keyVariable !== null && !key) {
    throw invalidRequest(
      `the variable ${choice.keyVariable} is not set; set it to the API key, and run the command again`,
      'key-variable',
      'key_missing',
    );
  }
  const tried = { ...provider, ...(key === undefined ? {} : { [keySettingOf(choice.protocol)]: key }) };
  const { providers } = loadConfig({ env: {}, overrides: { data_dir: '.', providers: { [choice.vendor]: tried } } });
  const settings = providers[choice.vendor];
  if (settings === undefined) throw new Error('the settings have the provider that was just put there');
  const beganMs = performance.now();
  const dimensions = await findDimensions(settings, choice.model, signal);
  return { dimensions, latencyMs: Math.round(performance.now() - beganMs) };
}
