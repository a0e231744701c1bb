import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { bucketFlag, orgFlag, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import {
  describeDocuments,
  documentArg,
  SELECTION_NAMES,
  selectionOf,
  whereFlag,
} from '../../src/cli/select-documents.ts';
import type { DocumentView } from '../../src/documents/schema.ts';
import { oneLine } from '../../src/platform/printable.ts';

export default class DocumentsDelete extends BaseCommand {
  static override description = 'Delete documents with their files and vectors. This cannot be undone.';
  static override examples = [
    '<%= config.bin %> documents delete pump.md --bucket manuals',
    `<%= config.bin %> documents delete --where "team = 'old'" --dry-run`,
    `<%= config.bin %> documents delete --where "team = 'old'" --yes --json`,
  ];
  static override args = { document: documentArg };
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    where: whereFlag,
    'dry-run': Flags.boolean({ description: 'list the documents, and delete nothing' }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsDelete);
    const selection = selectionOf(args, flags);
    return this.withSession(flags, async (session, signal) => {
      const documents = await session.call('documents.select', selection, SELECTION_NAMES);
      if (flags['dry-run']) return this.#plan(documents, selection.names?.length === 1);
      const described = oneLine(describeDocuments(documents));
      const object = documents.length === 1 ? 'it' : 'them';
      await confirm(`This deletes ${described} and cannot be undone. Delete ${object}?`, flags.yes, signal);
      const named = documents.map(({ id, bucket_id }) => ({ id, bucket_id }));
      const deleted = await session.call('documents.remove', { documents: named });
      this.log(`deleted ${described}`);
      return selection.names?.length === 1 ? deleted.data[0] : deleted;
    });
  }

  /** Show the planned deletion in the shape of a deletion. @param isOne true if one document was named */
  async #plan(documents: readonly DocumentView[], isOne: boolean): Promise<unknown> {
    await this.showTable('documents', documents, [
      ['file', (document) => document.source_path ?? document.file_name, 'may be cut'],
      ['document', (document) => document.id],
      ['status', (document) => document.status],
      ['chunks', (document) => document.chunks_count],
    ]);
    note(`dry run: ${documents.length} ${documents.length === 1 ? 'document' : 'documents'} would be deleted`);
    const { listPage } = await import('../../src/operations/list-page.ts');
    const planned = documents.map(({ id, source_path, file_name }) => ({ id, source_path, file_name, deleted: false }));
    return isOne ? { dry_run: true, ...planned[0] } : { ...listPage(planned), dry_run: true };
  }
}
