import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { limitFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';

const JOBS_MAX = 200;

export default class JobsList extends BaseCommand {
  static override description = 'List the jobs of an organization, newest first.';
  static override examples = [
    '<%= config.bin %> jobs list --status failed',
    '<%= config.bin %> jobs list --bucket manuals --limit 200 --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    bucket: Flags.string({ description: 'name or id of a bucket, to list only its jobs' }),
    status: Flags.string({
      description:
        'only jobs in this state: queued, extracting, chunking, embedding, indexing, ready, failed or cancelled',
    }),
    limit: limitFlag('jobs', { max: JOBS_MAX }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(JobsList);
    const { bucket, status, limit } = flags;
    const jobs = await this.call(flags, 'jobs.list', { bucket, status, limit });
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
  }
}
