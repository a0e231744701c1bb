import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';
import { parseRequest } from '../../src/cli/parse-request.ts';

export default class JobsList extends BaseCommand {
  static override setsUp = false;
  static override description = 'List the jobs of an organization, newest first.';
  static override examples = [
    '<%= config.bin %> jobs list --status failed',
    '<%= config.bin %> jobs list --bucket manuals --limit 200 --json',
  ];
  static override flags = {
    org: orgFlag,
    bucket: Flags.string({ description: 'name or id of the only bucket whose jobs are listed', env: 'SERVICE_BUCKET' }),
    status: Flags.string({
      description:
        'only jobs in this state: queued, extracting, chunking, embedding, indexing, ready, failed or cancelled',
      env: 'SERVICE_STATUS',
    }),
    limit: Flags.integer({ description: 'number of jobs at most, up to 200', default: 50, env: 'SERVICE_LIMIT' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(JobsList);
    const { ListJobsQuery } = await import('../../src/jobs/schema.ts');
    const query = parseRequest(ListJobsQuery, { status: flags.status, limit: flags.limit });
    return this.withOperator(flags, async ({ sql }, operator) => {
      const { findBucket } = await import('../../src/documents/buckets.ts');
      const { listVisibleJobs } = await import('../../src/documents/job-documents.ts');
      const bucket = flags.bucket === undefined ? undefined : await findBucket(sql, operator.orgId, flags.bucket);
      const jobs = await listVisibleJobs(sql, operator, { ...query, bucket_id: bucket?.id });
      await this.showTable('jobs', jobs, [
        ['id', (job) => job.id],
        ['file', (job) => job.file_name, 'may be cut'],
        ['status', (job) => job.status],
        ['failed in', (job) => job.failed_phase],
        ['error', (job) => job.error_category],
        ['chunks', (job) => job.chunks_count],
        ['created', (job) => job.created_at],
      ]);
      return jobs;
    });
  }
}
