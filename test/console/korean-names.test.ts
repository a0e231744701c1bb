import { expect, it } from 'vitest';
import { NotificationRecord } from '../../src/channels/schema.ts';
import { KOREAN } from '../../src/console/messages/korean.ts';
import { CLASSIFICATIONS, DOCUMENT_STATUSES } from '../../src/documents/schema.ts';
import { ERROR_CATEGORIES, JOB_STATUSES, JobKind } from '../../src/jobs/schema.ts';
import { InstallationView } from '../../src/local-models/view-models.ts';
import { SOURCE_TYPES } from '../../src/memory/schema.ts';
import { AXES } from '../../src/usage/schema.ts';
import { RUN_MODES, RUN_STATUSES } from '../../src/workflows/schema.ts';

it.each([
  ['states of documents', DOCUMENT_STATUSES],
  ['states of jobs', JOB_STATUSES],
  ['kinds of jobs', JobKind.options],
  ['reasons of failures', ERROR_CATEGORIES],
  ['classifications', CLASSIFICATIONS],
  ['types of sources', SOURCE_TYPES],
  ['states of runs', RUN_STATUSES],
  ['modes of runs', RUN_MODES],
  ['states of notifications', NotificationRecord.shape.status.options],
  ['axes of usage', AXES],
  ['states of installations', InstallationView.shape.state.options],
  ['phases of installations', InstallationView.shape.phase.options],
])('all %s have a Korean name', (_, names: readonly string[]) => {
  expect(names.filter((name) => !(name in KOREAN))).toEqual([]);
});
