import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import type { FolderDifference } from '../../src/cli/compare-folder.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { bucketFlag, listFlag, listOf, orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import type { SyncReport } from '../../src/cli/sync-folder.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

const SHOWN_MAX = 3;

export default class DocumentsSync extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Bring the documents of a bucket up to date with a folder.\n' +
    'The command compares files with documents by path and content, uploads new files, and updates documents whose ' +
    'file changed. Searches find the old text until the new text is ready. With --delete, the command also deletes ' +
    'uploaded documents whose file no longer exists, unless the folder has no files at all. Hidden files are ignored.';
  static override examples = [
    '<%= config.bin %> documents sync manuals/ --bucket manuals --dry-run',
    '<%= config.bin %> documents sync manuals/ --bucket manuals --delete --watch',
  ];
  static override args = { folder: requiredArg('folder on this host') };
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    delete: Flags.boolean({ description: 'delete uploaded documents of the bucket whose file is not in the folder' }),
    'allow-empty': Flags.boolean({ description: 'with --delete: delete all documents if the folder has no files' }),
    watch: Flags.boolean({ description: 'keep running, and synchronise after each change' }),
    'dry-run': Flags.boolean({ description: 'show what would be done, and change nothing' }),
    prefix: Flags.string({
      description:
        'folder to put in front of the paths of the documents, so that several folders can share a bucket; other documents stay as they are',
    }),
    include: listFlag('pattern of files to include, such as **/*.md; may be given several times'),
    exclude: listFlag('pattern of files to exclude, such as drafts/**; may be given several times'),
    'no-wait': Flags.boolean({ description: 'do not wait; "service serve" or a worker does the work' }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsSync);
    if (flags.watch && this.jsonEnabled()) throw invalidRequest('--watch prints no JSON; leave out --json', 'watch');
    if (flags.watch && flags['dry-run']) throw invalidRequest('give --watch or --dry-run, not both', 'watch');
    const [include, exclude] = [listOf(flags.include), listOf(flags.exclude)];
    return this.withSession(flags, async (session, signal) => {
      const { bucket_id: bucketId, data_dir: dataDir } = await session.call('documents.syncTarget', {
        bucket: flags.bucket,
      });
      const { keepInSync, resolveSyncedFolder, syncFolder } = await import('../../src/cli/sync-folder.ts');
      const place = await resolveSyncedFolder(args.folder, dataDir);
      const prefix = flags.prefix === undefined ? '' : `${flags.prefix.replace(/\/+$/, '')}/`;
      const globs = { exclude, ...(include.length === 0 ? {} : { include }) };
      const options = {
        delete: flags.delete,
        allowEmpty: flags['allow-empty'],
        dryRun: flags['dry-run'],
        wait: !flags['no-wait'],
        confirmDeletion: (difference: FolderDifference) => confirm(describeDeletion(difference), flags.yes, signal),
      };
      const sync = () => syncFolder(session, { place, bucketId, prefix, globs }, options, signal);
      if (flags.watch) return keepInSync(place, sync, (report) => void this.#show(report), signal);
      const report = await sync();
      await this.#show(report);
      return report;
    });
  }

  async #show(report: SyncReport): Promise<void> {
    const { summaryOf } = await import('../../src/cli/sync-folder.ts');
    if (report.data.length > 0) {
      await this.showTable('changes', report.data, [
        ['file', (file) => file.source_path, 'may be cut'],
        ['action', (file) => file.action],
        ['status', (file) => file.status],
        ['document', (file) => file.document_id],
        ['error', (file) => file.error?.message, 'may be cut'],
      ]);
    }
    note(summaryOf(report));
    if (report.counts.failed > 0) process.exitCode = EXIT.refused;
  }
}

function describeDeletion({ vanished, known }: FolderDifference): string {
  const shown = vanished.slice(0, SHOWN_MAX).map(({ sourcePath }) => sourcePath);
  const more = vanished.length > SHOWN_MAX ? ', …' : '';
  const one = vanished.length === 1;
  return (
    `This deletes ${vanished.length} of ${known} ${known === 1 ? 'document' : 'documents'}, whose ` +
    `${one ? 'file is' : 'files are'} gone ` +
    `(${shown.join(', ')}${more}) and cannot be undone. Delete ${one ? 'it' : 'them'}?`
  );
}
