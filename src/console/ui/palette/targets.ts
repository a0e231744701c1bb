import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { navigation } from '../../lib/navigation.ts';
import type { Page } from '../../lib/resource.ts';
import { linkTo } from '../../lib/router.ts';
import type { BucketView, DocumentView, JobView } from '../../types.ts';
import type { IconName } from '../icons.tsx';

/** Destination in the palette. */
export interface Target {
  readonly href: string;
  readonly label: string;
  readonly kind: string;
  readonly icon: IconName;
}

const OF_A_KIND_MAX = 8;
const RECENT_JOBS = 100;

/** Find the pages whose name contains the text. */
export function pageTargets(text: string): Target[] {
  return navigation()
    .flatMap(({ entries }) => entries)
    .map(({ page, label, icon }) => ({ href: linkTo(page), label: t(label), kind: t('Page'), icon }))
    .filter(({ label }) => has(label, text));
}

export function bucketTargets(buckets: readonly BucketView[], text: string): Target[] {
  return buckets
    .filter(({ name }) => has(name, text))
    .slice(0, OF_A_KIND_MAX)
    .map(({ id, name }) => ({ href: linkTo('buckets', id), label: name, kind: t('Bucket'), icon: 'documents' }));
}

/** Ask the service for documents and recent jobs whose name contains the text. */
export async function readTargets(text: string, signal: AbortSignal): Promise<Target[]> {
  const [documents, jobs] = await Promise.all([
    call<Page<DocumentView>>('/v1/documents', { query: { name: text, limit: OF_A_KIND_MAX }, signal }),
    call<readonly JobView[]>('/v1/jobs', { query: { limit: RECENT_JOBS }, signal }),
  ]);
  const foundJobs = jobs.filter(({ id, file_name }) => has(file_name, text) || id === text).slice(0, OF_A_KIND_MAX);
  return [
    ...documents.data.map(
      ({ id, file_name }): Target => ({
        href: linkTo('documents', id),
        label: file_name,
        kind: t('Document'),
        icon: 'documents',
      }),
    ),
    ...foundJobs.map(
      ({ id, file_name }): Target => ({
        href: linkTo('jobs', id),
        label: file_name || id,
        kind: t('Job'),
        icon: 'jobs',
      }),
    ),
  ];
}

function has(label: string, text: string): boolean {
  return label.toLowerCase().includes(text.toLowerCase());
}
