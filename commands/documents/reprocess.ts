import { BaseCommand } from '../../src/cli/base-command.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { bucketFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import { documentArg, SELECTION_NAMES, selectionOf, whereFlag } from '../../src/cli/select-documents.ts';

export default class DocumentsReprocess extends BaseCommand {
  static override description =
    'Read documents again, each in a new job.\nUntil the job is done, searches find the old text of the document.';
  static override examples = [
    '<%= config.bin %> documents reprocess pump.pdf --bucket manuals',
    `<%= config.bin %> documents reprocess --where "status = 'failed'" --json`,
  ];
  static override args = { document: documentArg };
  static override flags = withVariables({ org: orgFlag, bucket: bucketFlag, where: whereFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsReprocess);
    const selection = selectionOf(args, flags);
    const { outcomes, hasWorker } = await this.call(flags, 'documents.reprocess', selection, SELECTION_NAMES);
    await this.showTable('documents', outcomes, [
      ['file', (outcome) => outcome.file, 'may be cut'],
      ['document', (outcome) => outcome.id],
      ['status', (outcome) => outcome.status],
      ['job', (outcome) => outcome.job_id],
      ['reason', (outcome) => outcome.reason, 'may be cut'],
    ]);
    if (!hasWorker) note('no worker is running; start "service serve" to process the documents');
    if (outcomes.some(({ status }) => status === 'refused')) process.exitCode = EXIT.refused;
    const { listPage } = await import('../../src/operations/list-page.ts');
    return listPage(outcomes);
  }
}
