import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { fileNameOf } from '../../../platform/printable.ts';
import { openFolderReader } from '../folder-reader.ts';
import { type EntryFault, type ReadEntry, SourceFault, type SourceReader } from '../source-reader.ts';

/** Files per day in folders per channel: `general/2024-05-06.json`. */
const DAYS = { include: ['*/[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json'] };

const Users = z.array(
  z.looseObject({
    id: z.string(),
    name: z.string().optional(),
    profile: z.looseObject({ real_name: z.string().optional(), display_name: z.string().optional() }).optional(),
  }),
);
const Messages = z.array(
  z.looseObject({
    type: z.string().optional(),
    subtype: z.string().optional(),
    /** Seconds since 1970, with the number of the message behind the point. */
    ts: z.string().regex(/^\d{1,10}(\.\d+)?$/),
    thread_ts: z.string().optional(),
    user: z.string().optional(),
    username: z.string().optional(),
    text: z.string().default(''),
    files: z.array(z.looseObject({ name: z.string().nullish() })).optional(),
  }),
);
type Message = z.output<typeof Messages>[number];

/** Channel events without content. */
const SILENT = new Set(['channel_join', 'channel_leave', 'channel_topic', 'channel_purpose', 'bot_add', 'bot_remove']);

/**
 * Open an unpacked export of a Slack workspace as a source
 * (slack.com/help/articles/220556107-How-to-read-Slack-data-exports, November 2026). Each entry is one day of a channel
 * as Markdown, with people's names, and with replies below their message.
 */
export function openSlackExportReader(options: { root: string; dataDir: string; bytesMax: number }): SourceReader {
  const folder = openFolderReader({ ...options, path: '.', globs: DAYS });
  let names: Promise<ReadonlyMap<string, string>> | null = null;
  return {
    list: (signal) => folder.list(signal),
    async read(entries, signal) {
      names ??= readNames(options.root);
      const people = await names;
      const read = await folder.read(entries, signal);
      return Promise.all(read.map((each) => ('content' in each ? toDay(each, people) : each)));
    },
    close: () => folder.close(),
  };
}

/** Read people's names by id. @throws SourceFault if the folder is not an export */
async function readNames(root: string): Promise<ReadonlyMap<string, string>> {
  for (const name of ['users.json', 'org_users.json']) {
    const text = await readFile(path.join(root, name), 'utf8').catch(() => null);
    const users = Users.safeParse(text === null ? null : parsed(text));
    if (!users.success) continue;
    return new Map(
      users.data.map(({ id, name: handle, profile }) => [
        id,
        profile?.display_name || profile?.real_name || handle || id,
      ]),
    );
  }
  throw new SourceFault(
    'source_missing',
    'there is no users.json; check that the folder is an unpacked export of Slack',
  );
}

async function toDay(read: ReadEntry, people: ReadonlyMap<string, string>): Promise<ReadEntry | EntryFault> {
  const bytes = read.content === null ? Buffer.alloc(0) : await bytesOf(read.content);
  const messages = Messages.safeParse(parsed(bytes.toString()));
  if (!messages.success) return { key: read.key, fault: 'it has no messages in the format of a Slack export' };
  const [channel = '', file = ''] = read.key.split('/');
  const day = file.slice(0, 10);
  const text = renderDay(messages.data, people);
  return {
    ...read,
    fileName: fileNameOf(`${channel} ${day}.md`),
    contentType: 'text/markdown; charset=utf-8',
    content: text === '' ? null : { bytes: Buffer.from(`# ${channel}, ${day}\n\n${text}`) },
    sourcePath: `${channel}/${day}`,
    metadata: { source_kind: 'slack' },
    eventTimeMs: Date.parse(`${day}T00:00:00Z`),
  };
}

async function bytesOf(content: NonNullable<ReadEntry['content']>): Promise<Buffer> {
  if ('bytes' in content) return Buffer.from(content.bytes);
  const parts: Buffer[] = [];
  for await (const part of content.openStream()) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** Render the messages of a day. A reply stands below its message if both are of the same day. */
function renderDay(messages: readonly Message[], people: ReadonlyMap<string, string>): string {
  const said = messages.filter(({ subtype, text, files }) => !SILENT.has(subtype ?? '') && (text !== '' || files));
  const first = new Set(said.map(({ ts }) => ts));
  const isAnswer = ({ ts, thread_ts: thread }: Message) => thread !== undefined && thread !== ts && first.has(thread);
  const answers = Map.groupBy(said.filter(isAnswer), (message) => message.thread_ts);
  const lines = said
    .filter((message) => !isAnswer(message))
    .flatMap((message) => [
      renderMessage(message, people),
      ...(answers.get(message.ts) ?? []).map((answer) => `> ${renderMessage(answer, people).replaceAll('\n', '\n> ')}`),
    ]);
  return lines.join('\n\n');
}

function renderMessage({ ts, user, username, text, files = [] }: Message, people: ReadonlyMap<string, string>): string {
  const name = people.get(user ?? '') ?? username ?? user ?? 'unknown';
  const time = new Date(Number(ts) * 1_000).toISOString().slice(11, 16);
  const attached = files.map((file) => `[file: ${file.name ?? 'unnamed'}]`);
  return `**${name}** ${time}: ${[plainOf(text, people), ...attached].filter(Boolean).join(' ')}`;
}

/** Convert Slack markup to text (docs.slack.dev/messaging/formatting-message-text, November 2026). */
function plainOf(text: string, people: ReadonlyMap<string, string>): string {
  return text
    .replace(/<@(\w+)(?:\|([^>]*))?>/g, (_, id: string, label?: string) => `@${people.get(id) ?? label ?? id}`)
    .replace(/<#\w+\|([^>]*)>/g, '#$1')
    .replace(/<!(\w+)[^>]*>/g, '@$1')
    .replace(/<([^|>]+)\|([^>]*)>/g, '$2 ($1)')
    .replace(/<([^>]+)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
