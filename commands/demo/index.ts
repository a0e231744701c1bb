import { BaseCommand } from '../../src/cli/base-command.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';

export default class Demo extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Load a small handbook in English and Korean into the bucket "demo", and ask it some questions.\n' +
    'To remove it, run "demo remove".';
  static override examples = ['<%= config.bin %> demo', '<%= config.bin %> demo --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Demo);
    const { DEMO_BUCKET, DEMO_FOLDER, DEMO_QUESTIONS } = await import('../../src/demo/demo.ts');
    const { UploadRequest } = await import('../../src/ingest/schema.ts');
    const { collectFiles } = await import('../../src/cli/collect-files.ts');
    const { uploadCollection } = await import('../../src/cli/upload-collection.ts');
    const { renderResults } = await import('../../src/cli/search-results.ts');
    return this.withSession(flags, async (session, signal) => {
      await session.call('demo.prepare', {});
      const { counts } = await uploadCollection(session, await collectFiles([DEMO_FOLDER], { recursive: true }), {
        bucket: DEMO_BUCKET,
        request: UploadRequest.parse({ source_path: '-' }),
        wait: true,
        signal,
      });
      if (counts.failed > 0) process.exitCode = EXIT.refused;
      note(`the bucket "${DEMO_BUCKET}" has ${counts.ready + counts.linked} documents; some questions to them:`);
      const typed = await this.typedCommand();
      const answers = [];
      for (const { question } of DEMO_QUESTIONS) {
        const { response, snippets } = await session.call('search.bucket', {
          bucket: DEMO_BUCKET,
          query: question,
          top_k: 1,
        });
        this.log(`\n${typed} search '${question}' --bucket ${DEMO_BUCKET}`);
        this.log(renderResults(response.results, question, snippets));
        answers.push({ question, results: response.results });
      }
      note(`ask your own question like this; take the documents away: ${typed} demo remove`);
      return { bucket: DEMO_BUCKET, counts, answers };
    });
  }
}
