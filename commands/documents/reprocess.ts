import { BaseCommand } from '../../src/cli/base-command.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { bucketFlag, orgFlag } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import { documentArg, selectionOf, whereFlag } from '../../src/cli/select-documents.ts';

export default class DocumentsReprocess extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Read documents again, as new jobs.\nSearches find the old text of a document until its new job is done.';
  static override examples = [
    '<%= config.bin %> documents reprocess manuals/pump.pdf --bucket manuals',
    `<%= config.bin %> documents reprocess --where "status = 'failed'" --json`,
  ];
  static override args = { document: documentArg };
  static override flags = { org: orgFlag, bucket: bucketFlag, where: whereFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsReprocess);
    const selection = selectionOf(args, flags);
    return this.withOperator(flags, async (appliance, operator) => {
      const { reprocessDocuments } = await import('../../src/cli/reprocess-documents.ts');
      const { selectDocuments } = await import('../../src/cli/select-documents.ts');
      const { hasLiveWorker } = await import('../../src/appliance/live-workers.ts');
      const { listPage } = await import('../../src/operations/list-page.ts');
      const documents = await selectDocuments(appliance.sql, operator, selection);
      const outcomes = await reprocessDocuments(appliance.jobs.operations, operator, documents);
      await this.showTable('documents', outcomes, [
        ['file', (outcome) => outcome.file, 'may be cut'],
        ['document', (outcome) => outcome.id],
        ['status', (outcome) => outcome.status],
        ['job', (outcome) => outcome.job_id],
        ['reason', (outcome) => outcome.reason, 'may be cut'],
      ]);
      if (!(await hasLiveWorker(appliance)))
        note('no worker is running; start "service serve" to process the documents');
      if (outcomes.some(({ status }) => status === 'refused')) process.exitCode = EXIT.refused;
      return listPage(outcomes);
    });
  }
}
