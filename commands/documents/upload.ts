import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { accessFlags, accessOf, bucketFlag, listFlag, orgFlag, pairsOf, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import { parseRequest } from '../../src/cli/parse-request.ts';

export default class DocumentsUpload extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Upload files to a bucket, and wait until they can be searched.\n' +
    'Give a folder to upload its files; with --recursive, also those in its subfolders. Hidden files ' +
    'and links in a folder are ignored. Files on your disk are never changed.';
  static override examples = [
    '<%= config.bin %> documents upload manuals/ --bucket manuals --recursive',
    '<%= config.bin %> documents upload report.pdf notes.md --metadata year=2026 --no-wait --json',
    'pandoc notes.tex -t markdown | <%= config.bin %> documents upload - --name notes.md',
  ];
  static override args = {
    path: Args.string({
      description: 'file or folder, or - for stdin; several may be given',
      required: true,
      multiple: true,
      ignoreStdin: true,
    }),
  };
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    recursive: Flags.boolean({ description: 'also take the files in subfolders' }),
    name: Flags.string({ description: 'file name and path of the document from stdin (default: stdin)' }),
    collection: Flags.string({ description: 'name or id of the collection for the documents' }),
    metadata: listFlag('key=value that searches can filter by; may be given several times'),
    'privacy-level': Flags.integer({
      description:
        'privacy level, 1 to 10; users and keys with a lower auth level do not find the documents (default: 1)',
    }),
    ...accessFlags,
    'on-duplicate': Flags.string({
      description:
        'how to handle a file that the bucket already has: link to the existing document unless it failed, reject the file, allow a second document, or replace the document of the same path, whatever its content (default: link)',
    }),
    'chunk-size': Flags.integer({ description: 'number of tokens in a chunk (default: 400)' }),
    'chunk-overlap': Flags.integer({
      description:
        'number of tokens that a chunk repeats from the previous one (default: 60, or half of the chunk size if that is less)',
    }),
    'ocr-strategy': Flags.string({
      description:
        'pictures to read text from: auto (picture files, attached pictures, and pages without text), always (all pictures) or never (default: auto)',
    }),
    'no-wait': Flags.boolean({ description: 'do not wait; "service serve" or a worker does the work' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsUpload);
    const { UploadRequest } = await import('../../src/ingest/schema.ts');
    const request = parseRequest(
      UploadRequest,
      {
        collection_id: flags.collection,
        metadata: pairsOf('metadata', flags.metadata),
        privacy_level: flags['privacy-level'],
        access: accessOf(flags),
        on_duplicate: flags['on-duplicate'],
        // Each file has its own path. This placeholder satisfies the rule that replacing requires one.
        source_path: '-',
        chunk_size: flags['chunk-size'],
        chunk_overlap: flags['chunk-overlap'],
        ocr_strategy: flags['ocr-strategy'],
      },
      { collection_id: '--collection' },
    );
    const { collectFiles } = await import('../../src/cli/collect-files.ts');
    const collection = await collectFiles(args.path, { recursive: flags.recursive, stdinName: flags.name });
    return this.withSession(flags, async (session, signal) => {
      const { uploadCollection } = await import('../../src/cli/upload-collection.ts');
      const report = await uploadCollection(session, collection, {
        bucket: flags.bucket,
        request,
        wait: !flags['no-wait'],
        signal,
      });
      await this.showTable('documents', report.data, [
        ['file', (outcome) => outcome.source_path, 'may be cut'],
        ['status', (outcome) => outcome.status],
        ['document', (outcome) => outcome.id],
        ['chunks', (outcome) => outcome.chunks_count],
        ['error', (outcome) => outcome.error && `${outcome.error.category}: ${outcome.error.message}`, 'may be cut'],
      ]);
      const { ready, linked, queued, failed } = report.counts;
      note(`${ready} ready, ${linked} linked, ${queued} queued, ${failed} failed, ${report.skipped.length} skipped`);
      if (ready > 0) note(`search them: ${await this.typedCommand()} search 'your question' --bucket ${flags.bucket}`);
      if (failed > 0) process.exitCode = EXIT.refused;
      return report;
    });
  }
}
