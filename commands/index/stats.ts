import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';
import type { Column } from '../../src/cli/table.ts';

export default class IndexStats extends BaseCommand {
  static override description =
    'Show statistics of the search indexes of all buckets, or of one bucket with --bucket.\n' +
    'For each index: documents, chunks and rows, the latent space, the models and maps that made the vectors, and ' +
    'the rows that are not indexed yet. "By words only" counts the chunks that wait for vectors from a model of this ' +
    'host; the column appears only if there are any.';
  static override examples = ['<%= config.bin %> index stats', '<%= config.bin %> index stats --bucket manuals --json'];
  static override flags = withVariables({
    org: orgFlag,
    bucket: Flags.string({ description: 'name or id of a bucket, to show only that one' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexStats);
    const page = await this.call(flags, 'index.stats', { bucket: flags.bucket });
    const stats = page.data;
    type Stats = (typeof stats)[number];
    const hasSome = stats.some((each) => each.words_only_chunks > 0);
    const wordsOnly: Column<Stats> = ['by words only', (each) => each.words_only_chunks];
    await this.showTable('buckets', stats, [
      ['bucket', (each) => each.bucket],
      ['model', (each) => each.model],
      ['space', (each) => each.space],
      ['documents', (each) => each.documents],
      ['chunks', (each) => each.chunks],
      ...(hasSome ? [wordsOnly] : []),
      ['rows', (each) => each.rows],
      ['fragments', (each) => each.fragments],
      ['unindexed', (each) => each.unindexed_rows],
      ['moving to', (each) => each.reprojecting_to],
    ]);
    const models = stats.flatMap((each) => each.models.map((model) => ({ ...model, bucket: each.bucket })));
    if (models.length > 0) {
      await this.showTable('models', models, [
        ['bucket', (each) => each.bucket],
        ['model', (each) => each.model],
        ['revision', (each) => each.revision],
        ['map', (each) => each.map_version],
        ['documents', (each) => each.documents],
        ['chunks', (each) => each.chunks],
        ['native vectors', (each) => (each.native ? 'kept' : 'none')],
      ]);
    }
    return page;
  }
}
