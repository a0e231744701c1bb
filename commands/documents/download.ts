import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, forceFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { documentArg, SELECTION_NAMES, selectionOf, whereFlag } from '../../src/cli/select-documents.ts';

export default class DocumentsDownload extends BaseCommand {
  static override description =
    'Save the original files of documents.\nSeveral documents are saved under their own names in the folder --out.';
  static override examples = [
    '<%= config.bin %> documents download manuals/pump.pdf --bucket manuals',
    `<%= config.bin %> documents download --where "file_type = 'pdf'" --out originals/ --json`,
  ];
  static override args = { document: documentArg };
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    where: whereFlag,
    out: Flags.string({
      description: 'file or folder to write to; - writes one file to stdout (default: the current folder)',
    }),
    force: forceFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsDownload);
    const { invalidRequest } = await import('../../src/platform/errors.ts');
    const selection = selectionOf(args, flags);
    const isStdout = flags.out === '-';
    if (isStdout && this.jsonEnabled())
      throw invalidRequest('--out - writes the file to stdout; leave out --json', 'out');
    return this.withSession(flags, async (session, signal) => {
      const { saveFile, targetOf, writeToStdout } = await import('../../src/cli/save-file.ts');
      const { listPage } = await import('../../src/operations/list-page.ts');
      const documents = await session.call('documents.select', selection, SELECTION_NAMES);
      if (isStdout && documents.length > 1) throw invalidRequest('--out - takes one document', 'out');
      const saved = [];
      for (const { id } of documents) {
        const { output, body } = await session.receive('documents.file', { document: id });
        if (isStdout) {
          await writeToStdout(body, signal);
          return undefined;
        }
        const file = await targetOf(flags.out, output.file_name, documents.length > 1).catch((error: unknown) => {
          body.destroy();
          throw error;
        });
        await saveFile(body, file, { force: flags.force, signal });
        this.log(`saved ${file} (${output.size_bytes} bytes)`);
        saved.push({ id, file, media_type: output.media_type, size_bytes: output.size_bytes });
      }
      return selection.names?.length === 1 ? saved[0] : listPage(saved);
    });
  }
}
