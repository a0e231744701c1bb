import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { describePreview } from '../../src/cli/describe-preview.ts';
import { limitFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { connectionFlag, placeConfigOf, placeFlags } from '../../src/cli/source-flags.ts';
import type { Column } from '../../src/cli/table.ts';
import type { SourcePreview } from '../../src/memory/schema.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

const ENTRIES_MAX = 100;
const TIME: Column<SourcePreview['entries'][number]> = ['time', ({ event_time: time }) => time];

export default class SourcesTest extends BaseCommand {
  static override description =
    'Show what a synchronisation would find and cost, without reading or changing anything: the first entries, how ' +
    'many there are, their size, and the tokens and price of their vectors. For a connected source, it also shows ' +
    'what would be added, changed and removed.\n' +
    'Give a connected source, or --connection with the flags of "sources add". After 15 seconds, the command shows ' +
    'what it has found so far.';
  static override examples = [
    '<%= config.bin %> sources test handbook',
    '<%= config.bin %> sources test --connection docs --path handbook --include "**/*.md"',
  ];
  static override args = {
    source: Args.string({ description: 'name or id of a connected source', ignoreStdin: true }),
  };
  static override flags = withVariables({
    org: orgFlag,
    connection: connectionFlag({ required: false }),
    ...placeFlags,
    limit: limitFlag('entries to show', { max: ENTRIES_MAX, usual: 10 }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesTest);
    if ((args.source === undefined) === (flags.connection === undefined)) {
      throw invalidRequest('name either a connected source or --connection');
    }
    const place = { connection: flags.connection, config: placeConfigOf(flags) };
    const request = args.source === undefined ? place : { source: args.source };
    const config = flags.settings === undefined ? 'the flags' : '--settings';
    const names = { source: 'SOURCE', connection: '--connection', config };
    const preview = await this.call(flags, 'sources.preview', { ...request, limit: flags.limit }, names);
    await this.showTable('entries', preview.entries, [
      ['entry', ({ key }) => key, 'may be cut'],
      ['bytes', ({ size_bytes: size }) => size],
      ...(preview.entries.some((entry) => entry.event_time !== null) ? [TIME] : []),
    ]);
    for (const line of describePreview(preview)) this.log(line);
    return preview;
  }
}
