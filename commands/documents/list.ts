import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, limitFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import type { Column } from '../../src/cli/table.ts';

const DOCUMENTS_MAX = 200;

export default class DocumentsList extends BaseCommand {
  static override description =
    'List the documents of a bucket, newest first, with the newest job of each and the reason for a failure.';
  static override examples = [
    '<%= config.bin %> documents list --bucket manuals',
    '<%= config.bin %> documents list --status failed --limit 200 --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    status: Flags.string({
      description: 'only documents in this state: queued, processing, ready, failed or deleting',
    }),
    limit: limitFlag('documents', { max: DOCUMENTS_MAX }),
    cursor: Flags.string({ description: 'continue after this cursor: the next_cursor of the previous page' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(DocumentsList);
    const { bucket, status, limit, cursor } = flags;
    const page = await this.call(flags, 'documents.list', { bucket, status, limit, cursor });
    const { formatBytes } = await import('../../src/cli/table.ts');
    const hint = `upload some: ${this.config.bin} documents upload PATH --bucket ${bucket}`;
    const columns: Column<(typeof page.data)[number]>[] = [
      ['id', (document) => document.id],
      ['file', (document) => document.source_path ?? document.file_name, 'may be cut'],
      ['type', (document) => document.file_type],
      ['size', (document) => formatBytes(document.size_bytes)],
      ['status', (document) => document.status],
      ['pages', (document) => document.page_count],
      ['chunks', (document) => document.chunks_count],
      ['job', (document) => document.job_id],
      ['created', (document) => document.created_at],
      ['reason', (document) => document.error_message, 'may be cut'],
    ];
    await this.showTable(
      'documents',
      page.data,
      columns,
      status === undefined && cursor === undefined ? hint : undefined,
    );
    if (page.next_cursor !== null)
      this.logToStderr(`there are more documents; continue with --cursor ${page.next_cursor}`);
    return page;
  }
}
