import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { listFlag, listOf, orgFlag, sourceArg, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';

export default class SourcesSync extends BaseCommand {
  static override description =
    'Synchronise a connected source now, and wait until its documents can be searched.\n' +
    'The command does the work itself if no worker is running.';
  static override examples = [
    '<%= config.bin %> sources sync handbook',
    '<%= config.bin %> sources sync handbook --no-wait --json',
    '<%= config.bin %> sources sync handbook --entry reports/2024.pdf',
  ];
  static override args = { source: sourceArg };
  static override flags = withVariables({
    org: orgFlag,
    'allow-empty': Flags.boolean({
      description: 'remove all documents of the source if it has no entries; for a source that you emptied on purpose',
    }),
    entry: listFlag('key of an entry to read instead of all, as in "sources faults"; may be given several times'),
    'no-wait': Flags.boolean({ description: 'do not wait; "service serve" or a worker does the work' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesSync);
    return this.withSession(flags, async (session, signal) => {
      const keys = listOf(flags.entry);
      const entries = keys.length === 0 ? undefined : keys;
      const request = { source: args.source, allow_empty: flags['allow-empty'], entries };
      const { reply, hasWorker } = await session.call('sources.sync', request);
      if (flags['no-wait']) {
        if (!hasWorker) note('no worker is running; start "service serve" to process the job');
        await this.showFields(reply);
        return reply;
      }
      const { describeCounts, waitForSync } = await import('../../src/cli/wait-for-sync.ts');
      const source = await waitForSync(session, reply.id, signal);
      if (source.error_message !== null) note(`warning: ${source.error_message}`);
      if (source.counts.failed > 0) note(`list them: ${this.config.bin} sources faults ${source.name}`);
      this.log(`${source.name}: ${describeCounts(source)}`);
      return source;
    });
  }
}
