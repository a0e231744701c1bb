import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { bucketFlag, listOf, orgFlag, withVariables } from '../../src/cli/flags.ts';
import type { ImportReport } from '../../src/cli/vectors/import-old-index.ts';

export default class IndexImport extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Import the vectors of an old index into a bucket, with or without their texts.\n' +
    'The map of their model converts them into the latent space of the bucket, so that queries of any model in use ' +
    'find them. Each row becomes a document with the id of the row as its source_path; a row with the id of an ' +
    'earlier import replaces it. All rows are checked before the first one is stored. The file is a NumPy matrix ' +
    '(.npy), Parquet (.parquet), JSON lines (.jsonl), or a plain dump of PostgreSQL with pgvector (pg_dump ' +
    '--data-only).';
  static override examples = [
    '<%= config.bin %> index import --bucket manuals --vectors items.sql --model vendor-a/embedding-3-small --dry-run',
    '<%= config.bin %> index import --bucket manuals --vectors old.npy --rows old.jsonl --model vendor-a/embedding-3-small',
    '<%= config.bin %> index import --bucket manuals --vectors old.parquet --model vendor-a/embedding-3-small --text-column body --metadata-columns title,lang',
  ];
  static override flags = withVariables({
    bucket: bucketFlag,
    vectors: Flags.string({ description: 'file with the vectors', required: true }),
    model: Flags.string({ description: 'id of the model that made the vectors, as in "models list"', required: true }),
    rows: Flags.string({
      description:
        'for .npy: file of JSON lines with id, text and metadata of each row (default: ids are the row numbers)',
    }),
    'id-column': Flags.string({ description: 'column of the ids (default: recognised by its name)' }),
    'vector-column': Flags.string({ description: 'column of the vectors (default: recognised by its name)' }),
    'text-column': Flags.string({
      description: 'column of the texts (default: recognised by its name, if there is one)',
    }),
    'metadata-columns': Flags.string({
      description: 'columns of the metadata, separated by commas; of an object, each key is used (default: metadata)',
    }),
    table: Flags.string({ description: 'table to read, if the dump has several' }),
    columns: Flags.string({
      description: 'names of the columns of a \\copy output, in their order, separated by commas',
    }),
    normalize: Flags.boolean({
      description: 'scale all vectors to length 1, for an old index that compared by cosine',
    }),
    org: orgFlag,
    'dry-run': Flags.boolean({ description: 'check all rows, and import nothing' }),
    'no-wait': Flags.boolean({ description: 'do not wait; "service serve" or a worker does the work' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexImport);
    const { openOldIndex } = await import('../../src/cli/vectors/old-index.ts');
    const index = await openOldIndex(flags.vectors, {
      rows: flags.rows,
      table: flags.table,
      columns: flags.columns === undefined ? undefined : listOf(flags.columns),
      idColumn: flags['id-column'],
      vectorColumn: flags['vector-column'],
      textColumn: flags['text-column'],
      metadataColumns: flags['metadata-columns'] === undefined ? undefined : listOf(flags['metadata-columns']),
    });
    this.logToStderr(`${flags.vectors}: ${index.found}`);
    return this.withSession(flags, async (session, signal) => {
      const { importOldIndex } = await import('../../src/cli/vectors/import-old-index.ts');
      const fields = { bucket: flags.bucket, model: flags.model, normalize: flags.normalize ?? false };
      const report = await importOldIndex(
        session,
        { file: flags.vectors, index, fields },
        { dryRun: flags['dry-run'] ?? false, wait: !flags['no-wait'], signal },
      );
      for (const { document_id: id, message } of report.faults) this.logToStderr(`${id}: ${message}`);
      await this.showFields(describeImport(report));
      if (report.failed > 0) process.exitCode = EXIT.refused;
      return report;
    });
  }
}

function describeImport(report: ImportReport): Record<string, unknown> {
  const { map } = report;
  const score = map?.score == null ? '' : `, score on held-out texts ${map.score.toFixed(3)}`;
  const planned = report.dry_run ? 'would be ' : '';
  return {
    rows: report.rows,
    [`${planned}added`]: report.added,
    [`${planned}replaced`]: report.replaced,
    unchanged: report.unchanged,
    'without text': report.without_text,
    ...(report.dry_run ? {} : { failed: report.failed }),
    model: report.model,
    space: report.space,
    map: map === null ? 'none; the vectors stay as they are' : `version ${map.version}${score}`,
  };
}
