import { z } from 'zod';
import { parseRowTemplate } from '../template.ts';
import { globFault } from './globs.ts';

const PATTERNS_MAX = 50;

const Glob = z
  .string()
  .min(1)
  .max(200)
  .superRefine((glob, context) => {
    const fault = globFault(glob);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  });
const Globs = z.array(Glob).min(1).max(PATTERNS_MAX).optional();
/** Text without line breaks and other control characters. */
export const lineOfText = z
  .string()
  .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value), 'must not have control characters');

const relativePath = lineOfText
  .max(1024)
  .refine((path) => !path.startsWith('/') && !/^[A-Za-z]:|\\/.test(path), 'must be relative to the root')
  .refine((path) => !path.split('/').includes('..'), 'must not lead out of the root')
  .default('.');

const FolderConfig = z.strictObject({ path: relativePath, include: Globs, exclude: Globs });

const WebdavConfig = z.strictObject({
  path: relativePath.describe('folder below the address of the connection'),
  include: Globs,
  exclude: Globs,
});

const S3Config = z.strictObject({ prefix: lineOfText.max(512).default(''), include: Globs, exclude: Globs });

const identifier = lineOfText.min(1).max(63);
const PostgresConfig = z.strictObject({
  schema: identifier.default('public'),
  table: identifier,
  key: z.array(identifier).min(1).max(8).optional().describe('columns that identify a row; default: the primary key'),
  text: z
    .string()
    .min(1)
    .max(8000)
    .superRefine((template, context) => {
      const parsed = parseRowTemplate(template);
      if ('fault' in parsed) context.addIssue({ code: 'custom', message: parsed.fault });
    })
    .describe('template over columns: {{title}} {{body}}'),
  title: identifier.optional(),
  updated_at: identifier.optional().describe('column that changes with every change of a row'),
  event_time: identifier.optional(),
  where: z.record(identifier, z.union([z.string().max(512), z.number(), z.boolean()])).optional(),
});

const ImapConfig = z.strictObject({
  folders: z
    .array(Glob)
    .min(1)
    .max(PATTERNS_MAX)
    .default(['INBOX'])
    .describe('names of folders, or patterns of names with "/" between their parts'),
  since: z.iso.date().optional().describe('only messages that arrived on this day or later'),
  attachments: z.boolean().default(true).describe('false: only the text of messages is read'),
});

/** Schema of `config` for each type of connection. */
export const CONFIG_BY_TYPE = {
  folder: FolderConfig,
  s3: S3Config,
  postgres: PostgresConfig,
  imap: ImapConfig,
  webdav: WebdavConfig,
} as const;

/** Checked `config` of a source of a type. */
export type ConfigOf<T extends keyof typeof CONFIG_BY_TYPE> = z.output<(typeof CONFIG_BY_TYPE)[T]>;
