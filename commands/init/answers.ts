import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { canAsk } from '../../src/cli/confirm.ts';
import { forceFlag, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class InitAnswers extends BaseCommand {
  static override description =
    'Set up a chat model that answers questions: the API of a vendor, or a server such as Ollama or vLLM.\n' +
    'The command asks for missing values, tests the model with one question, and writes it to service.yaml under ' +
    '"answers". It keeps other settings and comments of the file. Without a terminal, give all values as flags.';
  static override examples = [
    '<%= config.bin %> init answers',
    '<%= config.bin %> init answers --protocol openai --url http://127.0.0.1:11434/v1 --model qwen3 --json',
    '<%= config.bin %> init answers --protocol anthropic --key-variable ANTHROPIC_API_KEY --model claude-haiku-4-5',
  ];
  static override flags = withVariables({
    protocol: Flags.option({
      options: ['openai', 'anthropic'] as const,
      description: 'protocol of the API (default: openai)',
    })(),
    url: Flags.string({
      description: 'base URL of the API, without the path of the operation (default: that of the vendor)',
    }),
    'key-variable': Flags.string({ description: 'name of the environment variable that holds the API key' }),
    model: Flags.string({ description: 'name of the model at the vendor' }),
    force: forceFlag,
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(InitAnswers);
    const { CHAT_PROTOCOLS, initAnswers } = await import('../../src/cli/init-answers.ts');
    const { dataDirOf, processEnvironment } = await import('../../src/platform/environment.ts');
    const env = processEnvironment();
    const dataDir = flags['data-dir'] ?? dataDirOf(env);
    return this.untilDone(async (signal) => {
      const { protocol = 'openai' } = flags;
      const isAsking = canAsk() && !this.jsonEnabled();
      const ask = async (question: string, fallback: string | null, flag: string) => {
        if (!isAsking && fallback !== null) return fallback;
        if (!isAsking) throw invalidRequest(`there is no terminal to ask for missing values; give --${flag}`, flag);
        const { askWithDefault } = await import('../../src/cli/init-vendor.ts');
        return askWithDefault(question, fallback, signal);
      };
      const url = flags.url ?? (await ask('URL of the API', CHAT_PROTOCOLS[protocol], 'url'));
      const model = flags.model ?? (await ask('Name of the model at the vendor', null, 'model'));
      note(`testing ${model} at ${url} …`);
      const choice = { protocol, url, model, keyVariable: flags['key-variable'] ?? null };
      const report = await initAnswers(choice, { env, dataDir, force: flags.force, signal });
      this.log(`${report.model} begins to answer in ${report.latency_ms} ms; wrote it to ${report.file}`);
      const { findOwnServer } = await import('../../src/cli/own-server.ts');
      if ((await findOwnServer(dataDir)) !== null) note('restart the server to use the model');
      note(`ask a bucket: ${this.config.bin} ask BUCKET 'your question'`);
      return report;
    });
  }
}
