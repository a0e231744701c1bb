import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import type { ShownChunk } from '../../src/cli/read-documents.ts';
import { documentArg, SELECTION_NAMES, selectionOf, whereFlag } from '../../src/cli/select-documents.ts';

export default class DocumentsChunks extends BaseCommand {
  static override description = 'List the searchable chunks of documents, each with its place in the document.';
  static override examples = [
    '<%= config.bin %> documents chunks pump.md --bucket manuals',
    '<%= config.bin %> documents chunks doc_01h8 --from 100 --limit 50 --json',
  ];
  static override args = { document: documentArg };
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    where: whereFlag,
    from: Flags.integer({ description: 'number of the first chunk', default: 0, min: 0 }),
    limit: Flags.integer({
      description: 'maximum number of chunks for each document, up to 1000',
      aliases: ['top-k'],
      default: 100,
      min: 1,
      max: 1000,
    }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsChunks);
    const selection = selectionOf(args, flags);
    return this.withSession(flags, async (session) => {
      const { readChunksOf } = await import('../../src/cli/read-documents.ts');
      const documents = await session.call('documents.select', selection, SELECTION_NAMES);
      const window = { first: flags.from, count: flags.limit };
      const pages = [];
      for (const document of documents) pages.push(await readChunksOf(session, document, window));
      const chunks = pages.flatMap((page) => page.chunks);
      await this.showTable('chunks', chunks, [
        ...(documents.length > 1 ? [['document', ({ document_id: id }: ShownChunk) => id] as const] : []),
        ['chunk', (chunk) => chunk.chunk_index],
        ['place', (chunk) => chunk.place, 'may be cut'],
        ['tokens', (chunk) => chunk.token_count],
        ['text', (chunk) => chunk.text.replace(/\s+/g, ' '), 'may be cut'],
      ]);
      const isMore = pages.some((page) => page.isMore);
      if (isMore) this.logToStderr(`there are more chunks; continue with --from ${flags.from + flags.limit}`);
      return { object: 'list', data: chunks, has_more: isMore, next_cursor: null };
    });
  }
}
