import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { bucketFlag, orgFlag, pairsOf } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import { parseRequest } from '../../src/cli/parse-request.ts';

export default class DocumentsUpload extends BaseCommand {
  static override description =
    'Upload files, and wait until they can be searched. A folder stands for the files directly in it.\n' +
    'Hidden files are not taken from folders and links are not followed. Your files are only read.';
  static override examples = [
    '<%= config.bin %> documents upload manuals/ --bucket manuals --recursive',
    '<%= config.bin %> documents upload report.pdf notes.md --metadata year=2026 --no-wait --json',
  ];
  static override args = {
    path: Args.string({ description: 'file or folder', required: true, multiple: true, ignoreStdin: true }),
  };
  static override flags = {
    org: orgFlag,
    bucket: bucketFlag,
    recursive: Flags.boolean({ description: 'take what is in folders of folders too', env: 'SERVICE_RECURSIVE' }),
    collection: Flags.string({ description: 'collection to put them in, by name or id', env: 'SERVICE_COLLECTION' }),
    metadata: Flags.string({
      description: 'key=value to find them by, several times',
      multiple: true,
      multipleNonGreedy: true,
      env: 'SERVICE_METADATA',
    }),
    'privacy-level': Flags.integer({
      description: '1 to 10: who may see them (default: 1)',
      env: 'SERVICE_PRIVACY_LEVEL',
    }),
    'on-duplicate': Flags.string({
      description: 'what to do with bytes that the bucket has: link, reject or allow (default: link)',
      env: 'SERVICE_ON_DUPLICATE',
    }),
    'chunk-size': Flags.integer({ description: 'tokens a chunk (default: 400)', env: 'SERVICE_CHUNK_SIZE' }),
    'chunk-overlap': Flags.integer({
      description: 'tokens that a chunk shares with the one before (default: 60)',
      env: 'SERVICE_CHUNK_OVERLAP',
    }),
    'ocr-strategy': Flags.string({
      description:
        'text in pictures: auto reads picture files, also attached ones, and pages without text; always all; never none (default: auto)',
      env: 'SERVICE_OCR_STRATEGY',
    }),
    'no-wait': Flags.boolean({ description: 'leave the work to a running service', env: 'SERVICE_NO_WAIT' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsUpload);
    const { UploadRequest } = await import('../../src/ingest/schema.ts');
    const request = parseRequest(
      UploadRequest,
      {
        collection_id: flags.collection,
        metadata: pairsOf('metadata', flags.metadata),
        privacy_level: flags['privacy-level'],
        on_duplicate: flags['on-duplicate'],
        chunk_size: flags['chunk-size'],
        chunk_overlap: flags['chunk-overlap'],
        ocr_strategy: flags['ocr-strategy'],
      },
      { collection_id: '--collection' },
    );
    const { collectFiles } = await import('../../src/cli/collect-files.ts');
    const collection = await collectFiles(args.path, { recursive: flags.recursive });
    return this.withOperator(flags, async (appliance, operator, signal) => {
      const { uploadCollection } = await import('../../src/cli/upload-collection.ts');
      const report = await uploadCollection(appliance, operator, collection, {
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
      if (failed > 0) process.exitCode = EXIT.refused;
      return report;
    });
  }
}
