import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { ask, canAsk, confirm, notConfirmed } from '../../src/cli/confirm.ts';
import { bucketFlag, orgFlag, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { note, terminalColumns } from '../../src/cli/output.ts';
import { parseRequest } from '../../src/cli/parse-request.ts';
import type { Session } from '../../src/cli/session.ts';
import type { BulkRequest } from '../../src/metadata/read-request.ts';
import type { BulkEdit, BulkEditReply } from '../../src/metadata/schema.ts';
import { AppError, conflict, invalidRequest } from '../../src/platform/errors.ts';

/** Maximum limit of a statement. */
const STATEMENT_ROWS_MAX = 2000;
/** Number of documents to show before asking the user. */
const PREVIEWED = 20;

export default class MetadataExec extends BaseCommand {
  static override description =
    'Run a statement on the documents of a bucket: SELECT, UPDATE, SOFTDELETE or HARDDELETE.\n' +
    'On a terminal, the command shows the documents that would change and asks. Elsewhere, UPDATE and SOFTDELETE ' +
    'need --yes or --max-affected, and HARDDELETE needs --confirm. With --json the output is the response of PATCH ' +
    '/v1/buckets/{bucket}/documents/metadata/bulk.';
  static override examples = [
    `<%= config.bin %> metadata exec "UPDATE documents SET review_status = 'approved' WHERE team = 'legal'" --bucket manuals --max-affected 20`,
    `<%= config.bin %> metadata exec --file statement.txt --bucket manuals --dry-run --json`,
  ];
  static override args = {
    statement: Args.string({ description: 'whole statement, in quotes', multiple: true, ignoreStdin: true }),
  };
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    file: Flags.string({ description: 'file with the statement; - reads stdin' }),
    'dry-run': Flags.boolean({ description: 'show what would change, and change nothing' }),
    limit: Flags.integer({ description: 'maximum number of documents, 1 to 2000 (default: 500)' }),
    'max-affected': Flags.integer({
      description: 'change up to this many documents without asking; refuse if more match',
      min: 0,
    }),
    confirm: Flags.string({
      description: 'confirmation that HARDDELETE needs: "HARDDELETE " and the id of the bucket',
    }),
    'no-reindex': Flags.boolean({ description: 'keep the vectors of changed documents as they are' }),
    yes: yesFlag,
  });

  /** Statement as given, for messages that point at a fault in it. */
  #statement = '';

  async run(): Promise<BulkEditReply> {
    const { args, flags } = await this.parse(MetadataExec);
    this.#statement = await statementOf(args.statement as string[] | undefined, flags.file);
    const { BulkEdit } = await import('../../src/metadata/schema.ts');
    const { readBulkRequest } = await import('../../src/metadata/read-request.ts');
    const fields = {
      statement: this.#statement,
      limit: flags.limit,
      confirm: flags.confirm,
      dry_run: flags['dry-run'],
      reindex: !flags['no-reindex'],
    };
    const request = parseRequest(BulkEdit, fields, { statement: 'STATEMENT' });
    const { kind } = readBulkRequest(request);
    const changes = kind !== 'select' && !request.dry_run;
    const affectedMax = flags['max-affected'];
    const isHardDelete = kind === 'harddelete';
    // HARDDELETE needs a separate confirmation; otherwise, the operation refuses it.
    const isConfirmed = flags.yes || (isHardDelete && (request.confirm !== undefined || !canAsk()));
    if (changes && !isConfirmed && affectedMax === undefined && !canAsk()) {
      throw invalidRequest(
        'the statement may change many documents; add --yes, or --max-affected with the number of documents that may change',
        'yes',
        'confirmation_missing',
      );
    }
    return this.withSession(flags, async (session, signal) => {
      const run = async (more: Partial<BulkEdit> = {}) =>
        session.call('metadata.edit', { bucket: flags.bucket, ...request, ...more });
      if (!changes) {
        const { reply } = await run();
        await this.#showMatches(session, reply, kind);
        return reply;
      }
      if (isConfirmed && affectedMax === undefined) return this.#showChange(await run());
      const { reply: preview } = await run({ dry_run: true });
      if (affectedMax !== undefined) {
        if (preview.matched > affectedMax) throw tooManyAffected(preview.matched, affectedMax);
        // Don't change documents that start to match meanwhile.
        const limit = Math.max(1, Math.min(affectedMax, request.limit ?? affectedMax));
        if (affectedMax > 0) return this.#showChange(await run({ limit: Math.min(limit, STATEMENT_ROWS_MAX) }));
      }
      await this.#showPreview(session, preview, kind);
      if (preview.matched === preview.skipped) return preview;
      const confirmation = await askToChange(isHardDelete, preview, flags.bucket, signal);
      return this.#showChange(await run(confirmation));
    });
  }

  async #showMatches(session: Session, reply: BulkEditReply, kind: BulkRequest['kind']): Promise<void> {
    const { itemColumns } = await import('../../src/cli/metadata-tables.ts');
    const names = this.jsonEnabled() ? new Map<string, string>() : await fileNamesOf(session, reply);
    await this.showTable('documents', reply.items, itemColumns(names, kind === 'edit'));
    for (const warning of reply.warnings) note(`warning: ${warning}`);
  }

  /** Print a preview on stderr, above the question. */
  async #showPreview(session: Session, preview: BulkEditReply, kind: BulkRequest['kind']): Promise<void> {
    const { itemColumns } = await import('../../src/cli/metadata-tables.ts');
    const { renderTable } = await import('../../src/cli/table.ts');
    const items = preview.items.slice(0, PREVIEWED);
    const names = await fileNamesOf(session, { ...preview, items });
    const more = preview.items.length - items.length;
    if (preview.matched === preview.skipped) note('nothing to change');
    else note(renderTable(items, itemColumns(names, kind === 'edit'), terminalColumns(process.stderr)));
    if (more > 0) note(`and ${more} more`);
    for (const warning of preview.warnings) note(`warning: ${warning}`);
  }

  async #showChange({ reply, hasWorker }: { reply: BulkEditReply; hasWorker: boolean }): Promise<BulkEditReply> {
    const { countsOf, warningsOf } = await import('../../src/cli/metadata-tables.ts');
    await this.showFields(countsOf(reply));
    for (const warning of warningsOf(reply)) note(`warning: ${warning}`);
    if (!hasWorker) note('no worker is running; start "service serve" to finish the work');
    return reply;
  }

  protected override async catch(error: Error): Promise<void> {
    await super.catch(error);
    const columns = terminalColumns(process.stderr);
    if (columns === null || !(error instanceof AppError) || error.code !== 'statement_invalid') return;
    const { line, column } = error.details ?? {};
    if (typeof line !== 'number' || typeof column !== 'number') return;
    const { pointAt } = await import('../../src/cli/point-at.ts');
    note(pointAt(this.#statement, { line, column }, columns));
  }
}

function tooManyAffected(matched: number, affectedMax: number): AppError {
  return conflict(
    `the statement matches ${matched === 1 ? '1 document' : `${matched} documents`}, more than the ${affectedMax} of --max-affected; nothing was changed`,
    'too_many_affected',
  );
}

/** @throws AppError `invalid_request` (400), `file_not_found` (404), `file_unreadable` (403) */
async function statementOf(words: readonly string[] | undefined, file: string | undefined): Promise<string> {
  const [statement, ...rest] = words ?? [];
  if (rest.length > 0) {
    throw invalidRequest(
      `STATEMENT: it arrived as ${rest.length + 1} words, so the shell may have changed it; put the whole statement in ` +
        'double quotes, or pass it on stdin with --file -',
      'statement',
    );
  }
  if (statement !== undefined && file !== undefined) {
    throw invalidRequest('give a STATEMENT or --file, not both', 'file');
  }
  if (statement !== undefined) return statement;
  if (file === undefined) throw invalidRequest('give a STATEMENT, or --file', 'statement');
  const { readLines } = await import('../../src/cli/read-lines.ts');
  return (await readLines(file)).join('\n');
}

async function fileNamesOf(session: Session, { bucket_id, items }: BulkEditReply): Promise<Map<string, string>> {
  return new Map(await session.call('metadata.fileNames', { bucket_id, ids: items.map(({ id }) => id) }));
}

/** @throws AppError `not_confirmed` (409) */
async function askToChange(
  isHardDelete: boolean,
  { bucket_id, items }: BulkEditReply,
  bucket: string,
  signal: AbortSignal,
): Promise<{ confirm?: string }> {
  const documents = `${items.length} ${items.length === 1 ? 'document' : 'documents'} of bucket ${bucket}`;
  if (!isHardDelete) {
    await confirm(`This changes ${documents}. Change them?`, false, signal);
    return {};
  }
  const answer = await ask(`This removes ${documents} for good. Type HARDDELETE ${bucket_id} to do so:`, signal);
  if (answer !== `HARDDELETE ${bucket_id}`) throw notConfirmed();
  return { confirm: answer };
}
