import type { z } from 'zod';
import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { checkRowLimit } from '../access/row-limits-store.ts';
import { findBucket } from '../documents/buckets.ts';
import { findCollection } from '../documents/store.ts';
import { AppError, conflict, invalidRequest, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { isUniqueViolation, type Sql } from '../platform/postgres.ts';
import { seal, unseal } from '../platform/seal.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { parseWithNulls } from '../platform/zod-nulls.ts';
import { CANDIDATES_MAX } from './bot-candidates.ts';
import {
  type ConfigRow,
  deleteConfig,
  insertConfig,
  selectConfig,
  selectConfigs,
  selectConfigsOfBot,
} from './config-store.ts';
import { maskConfig } from './mask-config.ts';
import type { Messenger } from './messengers/messenger.ts';
import { MESSENGERS } from './messengers/messengers.ts';
import type { AnsweredChannel } from './retrieve-passages.ts';
import {
  type AnswerConfig,
  type ChannelView,
  type CreateChannel,
  type CreatedChannel,
  type ListChannelsQuery,
  MESSENGER,
  MessengerConfig,
} from './schema.ts';
import type { SendingConfig } from './senders/open-senders.ts';
import { SENDERS } from './senders/senders.ts';

export interface ConfigContext {
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
}

/** Configuration of the messenger provider, with decrypted credentials. */
export interface Channel {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly config: MessengerConfig;
}

/** Configuration that sends notifications, with decrypted credentials. */
export type SendingChannel = SendingConfig & { readonly id: string; readonly orgId: string };

const OTHER_CONFIG_BYTES_MAX = 16 * 1024;
const SECRET_CHARS_ADVISED = 16;

/**
 * Store a configuration with encrypted credentials.
 *
 * @returns the configuration, and warnings about accepted values that are probably mistakes
 * @throws AppError `channel_config_invalid` (400) listing every fault, `bot_id_exists` or
 *   `too_many_channel_configs` (409)
 */
export async function createChannel(
  { sql, keyRing }: ConfigContext,
  caller: Pick<Caller, 'orgId' | 'actor'>,
  request: CreateChannel,
): Promise<{ readonly channel: CreatedChannel; readonly warnings: string[] }> {
  const { name, provider } = request;
  const messenger = messengerOf(request);
  const { config, warnings } = await parseConfig(sql, caller.orgId, request);
  const id = newId('chn');
  const path = messenger?.pathOf(id, config as AnswerConfig);
  const sealedConfig = seal(keyRing.encryption, JSON.stringify(config), contextOf(caller.orgId, id));
  const botId = provider === MESSENGER ? (config['bot_id'] as string) : null;
  try {
    await sql.begin(async (tx) => {
      await insertConfig(tx, { id, orgId: caller.orgId, name, provider, botId, sealedConfig });
      await checkRowLimit(tx, caller.orgId, 'channel_configs');
      const audit = { orgId: caller.orgId, actor: caller.actor, action: 'channel.create', target: id };
      await recordAudit(tx, { ...audit, detail: { name, provider } });
    });
  } catch (error) {
    if (!isUniqueViolation(error, 'channel_configs_by_bot')) throw error;
    const message = `config.bot_id: another configuration has the bot_id "${botId}"; delete that configuration or choose another bot_id`;
    throw new AppError({ code: 'bot_id_exists', status: 409, param: 'config.bot_id', message });
  }
  const others = botId === null ? [] : await selectConfigsOfBot(sql, { botId, configId: null }, CANDIDATES_MAX + 1);
  if (others.length > CANDIDATES_MAX) {
    const path = `/v1/channels/messenger/${id}/webhook`;
    warnings.push(`other organizations also use the bot_id "${botId}"; set the address in the messenger to ${path}`);
  }
  return { channel: { id, name, provider, ...(path === undefined ? {} : { webhook_path: path }) }, warnings };
}

/** Return the messenger of a new configuration; undefined if it is only stored. */
function messengerOf({ provider, config }: Pick<CreateChannel, 'provider' | 'config'>): Messenger | undefined {
  const messenger = MESSENGERS.get(provider);
  const isFreeForm = messenger?.isFreeFormAllowed && (config['collection'] ?? null) === null;
  return isFreeForm ? undefined : messenger;
}

/** List the organization's configurations, oldest first, with masked credentials; without `limit`, all of them. */
export async function listChannels(
  { sql, keyRing }: ConfigContext,
  orgId: string,
  query: Partial<ListChannelsQuery> = {},
): Promise<ChannelView[]> {
  const rows = await selectConfigs(sql, orgId, { limit: query.limit ?? null, after: query.cursor });
  return rows.map((row) => {
    const { id, name, provider } = row;
    return { id, name, provider, config: maskConfig(provider, readConfig(keyRing, row)) };
  });
}

/** Return a configuration of any provider. @throws AppError `channel_configuration_not_found` (404) */
async function requireChannel(sql: Sql, orgId: string, id: string): Promise<ConfigRow> {
  const row = await selectConfig(sql, orgId, id);
  if (row === null) throw notFound('channel configuration', id);
  return row;
}

/** Delete a configuration permanently. @throws AppError `channel_configuration_not_found` (404) */
export async function deleteChannel(sql: Sql, caller: Pick<Caller, 'orgId' | 'actor'>, id: string): Promise<void> {
  await sql.begin(async (tx) => {
    const removed = await deleteConfig(tx, caller.orgId, id);
    if (removed === null) throw notFound('channel configuration', id);
    const { name, provider } = removed;
    const audit = { orgId: caller.orgId, actor: caller.actor, action: 'channel.delete', target: id };
    await recordAudit(tx, { ...audit, detail: { name, provider } });
  });
}

/**
 * Return a configuration of the messenger provider, with its credentials.
 *
 * @throws AppError `channel_configuration_not_found` (404), `provider_not_supported` (400)
 */
export async function findChannel({ sql, keyRing }: ConfigContext, orgId: string, id: string): Promise<Channel> {
  const row = await requireChannel(sql, orgId, id);
  if (row.provider !== MESSENGER) {
    const message = `provider "${row.provider}" is not supported here; use a configuration of the provider "${MESSENGER}"`;
    throw invalidRequest(message, 'channel_config_id', 'provider_not_supported');
  }
  return toChannel(keyRing, row);
}

/**
 * Return a configuration that answers questions, with its credentials.
 *
 * @returns channel, bot name, and messenger; messenger null for the provider of the contract
 * @throws AppError `channel_configuration_not_found` (404), `provider_not_supported` (409) if it is only stored,
 *   `channel_config_invalid` (400) if it lacks fields
 */
export async function findAnswered(
  { sql, keyRing }: ConfigContext,
  orgId: string,
  id: string,
): Promise<{ readonly channel: AnsweredChannel; readonly bot: string; readonly messenger: Messenger | null }> {
  const row = await requireChannel(sql, orgId, id);
  if (row.provider === MESSENGER) {
    const channel = toChannel(keyRing, row);
    return { channel, bot: channel.config.bot_id, messenger: null };
  }
  const given = readConfig(keyRing, row);
  const messenger = messengerOf({ ...row, config: given });
  if (messenger === undefined) {
    const message = `a configuration of the provider "${row.provider}" answers no questions`;
    throw conflict(message, 'provider_not_supported');
  }
  const config = messenger.config.safeParse(given);
  if (config.success) return { channel: { id, orgId, name: row.name, config: config.data }, bot: id, messenger };
  throw incompleteConfig();
}

/**
 * Return a configuration that sends notifications, with its credentials.
 *
 * @throws AppError `channel_configuration_not_found` (404), `provider_not_supported`, `channel_config_invalid` (400)
 */
export async function findSendingChannel(
  { sql, keyRing }: ConfigContext,
  orgId: string,
  id: string,
): Promise<SendingChannel> {
  const row = await requireChannel(sql, orgId, id);
  if (row.provider === MESSENGER) return { kind: 'contract', ...toChannel(keyRing, row) };
  const sender = SENDERS.get(row.provider);
  if (sender === undefined) {
    const providers = [MESSENGER, ...SENDERS.keys()].join(', ');
    const message = `provider "${row.provider}" is not supported here; use a configuration of one of ${providers}`;
    throw invalidRequest(message, 'channel_config_id', 'provider_not_supported');
  }
  const config = sender.config.safeParse(readConfig(keyRing, row));
  if (!config.success) throw incompleteConfig();
  return { kind: 'vendor', sender, id: row.id, orgId: row.orgId, config: config.data };
}

function incompleteConfig(): AppError {
  return configInvalid('the configuration lacks fields of its provider; delete it and create it again', null);
}

/** Decrypt a configuration of the messenger provider. */
export function toChannel(keyRing: ConfigContext['keyRing'], row: ConfigRow): Channel {
  const { id, orgId, name } = row;
  return { id, orgId, name, config: readConfig(keyRing, row) as MessengerConfig };
}

/** Decrypt a configuration of any provider. */
export function readConfig(keyRing: ConfigContext['keyRing'], row: ConfigRow): Record<string, unknown> {
  return JSON.parse(unseal(keyRing.encryption, row.sealedConfig, contextOf(row.orgId, row.id)));
}

/** Return the encryption context of a configuration, which binds the encrypted value to its row. */
export function contextOf(orgId: string, id: string): string {
  return `channel_configs/${orgId}/${id}`;
}

interface Parsed {
  readonly config: Record<string, unknown>;
  readonly warnings: string[];
}

async function parseConfig(
  sql: Sql,
  orgId: string,
  request: Pick<CreateChannel, 'provider' | 'config'>,
): Promise<Parsed> {
  const { provider, config: given } = request;
  const sender = SENDERS.get(provider);
  if (sender !== undefined) return parseFields(sender.config, provider, given);
  const schema: z.ZodType<AnswerConfig & { secret?: string }, object> | undefined =
    provider === MESSENGER ? MessengerConfig : messengerOf(request)?.config;
  if (schema === undefined) return parseOther(given);
  const { config, warnings } = parseFields(schema, provider, given);
  await checkBucket(sql, orgId, config);
  if (provider === MESSENGER && (config.secret?.length ?? 0) < SECRET_CHARS_ADVISED) {
    warnings.push(`config.secret has fewer than ${SECRET_CHARS_ADVISED} characters and can be guessed`);
  }
  return { config, warnings };
}

/** Validate the fields of a configuration. @throws AppError `channel_config_invalid` (400) listing every fault */
function parseFields<Config extends object>(
  schema: z.ZodType<Config, object>,
  provider: string,
  given: Record<string, unknown>,
): { config: Config & Record<string, unknown>; warnings: string[] } {
  const parsed = parseWithNulls(schema, given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => ({ field: `config.${path.join('.')}`, message }));
    throw configInvalid(
      faults.map(({ field, message }) => `${field}: ${message}`).join('; '),
      faults[0]?.field ?? null,
    );
  }
  const config = parsed.data as Config & Record<string, unknown>;
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(config, key) && given[key] !== null);
  const warnings = unknown.map((key) => `config.${key} is not a field of a ${provider} configuration and was ignored`);
  return { config, warnings };
}

/** Check that the bucket and the collection exist. */
async function checkBucket(sql: Sql, orgId: string, config: AnswerConfig): Promise<void> {
  const orInvalid = async <T>(field: string, lookup: Promise<T>): Promise<T> => {
    try {
      return await lookup;
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 404) throw error;
      throw configInvalid(`config.${field}: ${error.message}`, `config.${field}`);
    }
  };
  const bucket = await orInvalid('collection', findBucket(sql, { orgId }, config.collection));
  const { bucket_collection: name } = config;
  if (name !== undefined) await orInvalid('bucket_collection', findCollection(sql, orgId, bucket.id, name));
}

function parseOther(config: Record<string, unknown>): Parsed {
  if (Buffer.byteLength(JSON.stringify(config)) > OTHER_CONFIG_BYTES_MAX) {
    throw configInvalid(`config: must have at most ${OTHER_CONFIG_BYTES_MAX} bytes as JSON`, 'config');
  }
  return { config, warnings: [] };
}

function configInvalid(message: string, param: string | null): AppError {
  return invalidRequest(message, param, 'channel_config_invalid');
}
