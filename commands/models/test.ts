import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';
import { listPage } from '../../src/operations/list-page.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class ModelsTest extends BaseCommand {
  static override description =
    'Make one real call to each of the given models and show the results. Exits with 5 if a call fails.';
  static override examples = [
    '<%= config.bin %> models test vendor-a/text-embedding-3-small',
    '<%= config.bin %> models test --all --json',
  ];
  static override args = {
    model: Args.string({ description: 'id of a model; several may be given', multiple: true, ignoreStdin: true }),
  };
  static override flags = withVariables({
    all: Flags.boolean({ description: 'test every model that has a provider' }),
    org: orgFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ModelsTest);
    const ids = args.model ?? [];
    if (ids.length > 0 === (flags.all ?? false)) throw invalidRequest('give model ids, or --all', 'model');
    return this.withSession(flags, async (session) => {
      const tests = [];
      for (const model of await session.call('embedding.testable', { ids })) {
        const test = await session.call('embedding.test', { model });
        this.logToStderr(`${test.model}: ${test.error ?? test.status}`);
        tests.push(test);
      }
      await this.showTable('models', tests, [
        ['model', (test) => test.model],
        ['status', (test) => test.status],
        ['ms', (test) => test.latency_ms],
        ['dimensions', (test) => test.dimensions],
        ['norm', (test) => test.norm],
        ['tokens', (test) => test.tokens],
      ]);
      if (tests.some((test) => test.status !== 'ok')) process.exitCode = EXIT.dependency;
      return listPage(tests);
    });
  }
}
