import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';
import { parseRequest } from '../../src/cli/parse-request.ts';
import type { Sql } from '../../src/platform/postgres.ts';

export default class JobsWatch extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Watch the jobs that are queued or in progress.\n' +
    'On a terminal this is a live table, elsewhere one line for each change. With --json the current state is printed once.';
  static override examples = [
    '<%= config.bin %> jobs watch --bucket manuals',
    '<%= config.bin %> jobs watch --until-done --json',
  ];
  static override flags = {
    org: orgFlag,
    bucket: Flags.string({ description: 'name or id of the only bucket whose jobs are shown', env: 'SERVICE_BUCKET' }),
    kind: Flags.string({
      description: 'only jobs of this kind: ingest, bulk, hard_delete or reindex',
      env: 'SERVICE_KIND',
    }),
    status: Flags.string({
      description:
        'only jobs in this state: queued, extracting, chunking, embedding, indexing, ready, failed or cancelled',
      env: 'SERVICE_STATUS',
    }),
    interval: Flags.integer({
      description: 'seconds between two readings',
      default: 1,
      min: 1,
      max: 3600,
      env: 'SERVICE_INTERVAL',
    }),
    'until-done': Flags.boolean({
      description: 'exit when no job is queued or in progress any more',
      env: 'SERVICE_UNTIL_DONE',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(JobsWatch);
    const { JobKind, JobStatus } = await import('../../src/jobs/schema.ts');
    const { z } = await import('zod');
    const Choice = z.object({ kind: JobKind.optional(), status: JobStatus.optional() });
    const { kind, status } = parseRequest(Choice, { kind: flags.kind, status: flags.status });
    const { watchInLines, watchOnce, watchOnScreen } = await import('../../src/cli/watch-jobs.ts');
    const { JobsSelector } = await import('../../src/jobs/watch.ts');
    const { hasScreen } = await import('../../src/cli/output.ts');
    const isScreen = hasScreen() && !this.jsonEnabled();
    return this.withAppliance(
      flags,
      async (appliance, signal) => {
        const { sql } = appliance;
        const operator = await appliance.access.operator(flags.org);
        const { findBucket } = await import('../../src/documents/buckets.ts');
        const { jobVisibleTo } = await import('../../src/documents/visibility.ts');
        const { countTexts } = await import('../../src/bulk/store.ts');
        const bucket = flags.bucket === undefined ? null : await findBucket(sql, operator.orgId, flags.bucket);
        const run = {
          ...{ sql, orgId: operator.orgId, bucketId: bucket?.id, kind, signal, countTexts },
          visible: (tx: Sql) => jobVisibleTo(tx, operator),
          title: `jobs of ${flags.org}${bucket === null ? '' : ` in ${bucket.name}`}`,
          selector: new JobsSelector({ status: status ?? null, openId: null }),
          intervalMs: flags.interval * 1000,
          untilDone: flags['until-done'],
        };
        if (this.jsonEnabled()) return watchOnce(run);
        if (!isScreen) return watchInLines(run, (line) => this.log(line));
        const { jobActions } = await import('../../src/cli/job-actions.ts');
        const actions = jobActions(appliance.jobs.operations, operator);
        this.log(await watchOnScreen({ ...run, actions }, process));
      },
      // Log lines on the terminal would break the table.
      { settings: isScreen && process.stderr.isTTY ? { log_level: 'silent' } : {} },
    );
  }
}
