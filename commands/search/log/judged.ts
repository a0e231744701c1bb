import { Flags } from '@oclif/core';
import { BaseCommand } from '../../../src/cli/base-command.ts';
import { bucketFlag, forceFlag, orgFlag } from '../../../src/cli/flags.ts';

export default class SearchLogJudged extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Write the judged queries of a bucket to a file that `index tune --queries` reads.\n' +
    'People judge queries on the page Insight of the console. `index tune --judged-from-log` uses them directly.';
  static override examples = [
    '<%= config.bin %> search log judged --bucket manuals --export judged.jsonl',
    '<%= config.bin %> search log judged --bucket manuals --export - > judged.jsonl',
  ];
  static override flags = {
    org: orgFlag,
    bucket: bucketFlag,
    export: Flags.string({ description: 'file to write; - for stdout', required: true, env: 'SERVICE_EXPORT' }),
    force: forceFlag,
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SearchLogJudged);
    const { refuseJson } = await import('../../../src/cli/save-file.ts');
    refuseJson(flags.export, this.jsonEnabled());
    return this.withSession(flags, async (session, signal) => {
      const { exportBody } = await import('../../../src/cli/save-file.ts');
      const { output, body } = await session.receive('search.judged', { bucket: flags.bucket });
      const saved = await exportBody(body, flags.export, { force: flags.force, signal });
      this.logToStderr(output.queries === 1 ? '1 judged query' : `${output.queries} judged queries`);
      return saved && { ...saved, queries: output.queries };
    });
  }
}
