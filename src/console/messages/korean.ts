import { KOREAN_ACCOUNT } from './korean-account.ts';
import { KOREAN_ASK } from './korean-ask.ts';
import { KOREAN_ASSISTANTS } from './korean-assistants.ts';
import { KOREAN_CHANNELS } from './korean-channels.ts';
import { KOREAN_DOCUMENTS } from './korean-documents.ts';
import { KOREAN_FRAME } from './korean-frame.ts';
import { KOREAN_HELP } from './korean-help.ts';
import { KOREAN_INSIGHT } from './korean-insight.ts';
import { KOREAN_JOBS } from './korean-jobs.ts';
import { KOREAN_METADATA } from './korean-metadata.ts';
import { KOREAN_MODELS } from './korean-models.ts';
import { KOREAN_NAMES } from './korean-names.ts';
import { KOREAN_NOTIFICATIONS } from './korean-notifications.ts';
import { KOREAN_OVERVIEW } from './korean-overview.ts';
import { KOREAN_PEOPLE } from './korean-people.ts';
import { KOREAN_SEARCH } from './korean-search.ts';
import { KOREAN_SOURCES } from './korean-sources.ts';
import { KOREAN_USAGE } from './korean-usage.ts';
import { KOREAN_WEBHOOKS } from './korean-webhooks.ts';
import { KOREAN_WORKFLOWS } from './korean-workflows.ts';

/** Korean texts, by English text. Every text of the pages must be here, or it doesn't compile. */
export const KOREAN = {
  ...KOREAN_NAMES,
  ...KOREAN_FRAME,
  ...KOREAN_ACCOUNT,
  ...KOREAN_ASK,
  ...KOREAN_ASSISTANTS,
  ...KOREAN_HELP,
  ...KOREAN_DOCUMENTS,
  ...KOREAN_SEARCH,
  ...KOREAN_JOBS,
  ...KOREAN_METADATA,
  ...KOREAN_MODELS,
  ...KOREAN_PEOPLE,
  ...KOREAN_USAGE,
  ...KOREAN_SOURCES,
  ...KOREAN_WORKFLOWS,
  ...KOREAN_WEBHOOKS,
  ...KOREAN_OVERVIEW,
  ...KOREAN_CHANNELS,
  ...KOREAN_NOTIFICATIONS,
  ...KOREAN_INSIGHT,
} as const;
