import { Flags } from '@oclif/core';
import { BaseCommand, type SessionFlags } from '../../../src/cli/base-command.ts';
import { bucketFlag, forceFlag, orgFlag, withVariables } from '../../../src/cli/flags.ts';
import { invalidRequest } from '../../../src/platform/errors.ts';

export default class SearchLogJudged extends BaseCommand {
  static override description =
    'Write the judged queries of a bucket to a file for `index tune --queries`, or with all texts of the bucket to a ' +
    'folder for `projections evaluate` and other evaluations.\n' +
    'People judge queries on the page Insight of the console. `index tune --judged-from-log` uses them directly.';
  static override examples = [
    '<%= config.bin %> search log judged --bucket manuals --export judged.jsonl',
    '<%= config.bin %> search log judged --bucket manuals --export - > judged.jsonl',
    '<%= config.bin %> search log judged --bucket manuals --folder judged/manuals',
  ];
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    export: Flags.string({ description: 'file to write; - for stdout' }),
    folder: Flags.string({ description: 'new folder to write docs.jsonl, queries.jsonl and qrels.tsv to' }),
    force: forceFlag,
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SearchLogJudged);
    const { export: file, folder } = flags;
    if ((file === undefined) === (folder === undefined)) {
      throw invalidRequest('give --export or --folder', 'export');
    }
    if (folder !== undefined) return this.#saveFolder(flags, folder);
    const { refuseJson } = await import('../../../src/cli/save-file.ts');
    refuseJson(file as string, this.jsonEnabled());
    return this.withSession(flags, async (session, signal) => {
      const { exportBody } = await import('../../../src/cli/save-file.ts');
      const { output, body } = await session.receive('search.judged', { bucket: flags.bucket });
      const saved = await exportBody(body, file as string, { force: flags.force, signal });
      this.logToStderr(output.queries === 1 ? '1 judged query' : `${output.queries} judged queries`);
      return saved && { ...saved, queries: output.queries };
    });
  }

  #saveFolder(flags: SessionFlags & { bucket: string }, folder: string): Promise<unknown> {
    return this.withSession(flags, async (session, signal) => {
      const { saveJudgedSet } = await import('../../../src/cli/save-judged-set.ts');
      const saved = await saveJudgedSet(session, flags.bucket, folder, signal);
      this.logToStderr(`${saved.queries} judged queries and ${saved.documents} documents`);
      return saved;
    });
  }
}
