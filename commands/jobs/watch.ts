import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';
import { hasScreen } from '../../src/cli/output.ts';
import type { JobsSelection } from '../../src/jobs/watch.ts';

export default class JobsWatch extends BaseCommand {
  static override description =
    'Watch the jobs that are queued or in progress.\n' +
    'On a terminal, the command shows a live table; elsewhere it prints one line for each change. With --json it ' +
    'prints the current state once.';
  static override examples = [
    '<%= config.bin %> jobs watch --bucket manuals',
    '<%= config.bin %> jobs watch --until-done --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    bucket: Flags.string({ description: 'name or id of a bucket, to show only its jobs' }),
    kind: Flags.string({ description: 'only jobs of this kind: ingest, bulk, hard_delete, reindex or sync' }),
    status: Flags.string({
      description:
        'only jobs in this state: queued, extracting, chunking, embedding, indexing, ready, failed or cancelled',
    }),
    interval: Flags.integer({ description: 'seconds between two readings', default: 1, min: 1, max: 3600 }),
    'until-done': Flags.boolean({ description: 'exit when no job is queued or in progress' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(JobsWatch);
    const { bucket, kind, status, interval } = flags;
    const { beginWatch, watchInLines, watchOnce, watchOnScreen } = await import('../../src/cli/watch-jobs.ts');
    const isScreen = hasScreen() && !this.jsonEnabled();
    // Log lines on the terminal would break the table.
    const settings = isScreen && process.stderr.isTTY ? { log_level: 'silent' } : {};
    return this.withSession(
      flags,
      async (session, signal) => {
        const options = { org: flags.org, untilDone: flags['until-done'] };
        const run = await beginWatch(session, { bucket, kind, status, interval }, options);
        if (this.jsonEnabled()) return watchOnce(run, signal);
        if (!isScreen) return watchInLines(run, (line) => this.log(line), signal);
        const { jobActions } = await import('../../src/cli/job-actions.ts');
        const selection = { status: (status ?? null) as JobsSelection['status'], openId: null };
        this.log(await watchOnScreen({ ...run, actions: jobActions(session), selection }, process, signal));
      },
      { settings },
    );
  }
}
