import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { accessFlags, accessOf, orgFlag, sourceArg, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import { placeConfigOf, placeFlags } from '../../src/cli/source-flags.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class SourcesChange extends BaseCommand {
  static override description =
    'Change what a source reads, its schedule, or who may read its documents.\n' +
    'Flags for what it reads replace all earlier settings of this kind. The next synchronisation removes ' +
    'documents of entries that the source no longer covers; "sources test" shows how many.';
  static override examples = [
    '<%= config.bin %> sources change handbook --schedule "0 3 * * *"',
    '<%= config.bin %> sources change handbook --path handbook --exclude "drafts/**"',
    '<%= config.bin %> sources change handbook --no-schedule',
  ];
  static override args = { source: sourceArg };
  static override flags = withVariables({
    org: orgFlag,
    ...placeFlags,
    ...accessFlags,
    'any-reader': Flags.boolean({
      description: 'give all documents of the source the default access policy of the bucket',
      exclusive: ['reader', 'group'],
    }),
    schedule: Flags.string({ description: 'cron expression of five fields, in UTC, such as "30 2 * * *"' }),
    'no-schedule': Flags.boolean({ description: 'synchronise only on request', exclusive: ['schedule'] }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesChange);
    const config = placeConfigOf(flags);
    const schedule = flags['no-schedule'] ? null : flags.schedule;
    const hasConfig = Object.keys(config).length > 0;
    const access = flags['any-reader'] ? null : accessOf(flags);
    if (!hasConfig && schedule === undefined && access === undefined) {
      throw invalidRequest(
        'name what to change: --schedule, --no-schedule, --group, --reader, --any-reader, or flags for what the source reads',
      );
    }
    const request = { source: args.source, schedule, access, ...(hasConfig ? { config } : {}) };
    const source = await this.call(flags, 'sources.change', request);
    await this.showFields(source);
    if (hasConfig) {
      const { bin } = this.config;
      note(
        `nothing is read or removed yet; preview the changes with ${bin} sources test ${source.name}, and apply them with ${bin} sources sync ${source.name}`,
      );
    }
    return source;
  }
}
