import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { canAsk } from '../../src/cli/confirm.ts';
import { forceFlag, withVariables } from '../../src/cli/flags.ts';
import type { InitReport } from '../../src/cli/init-vendor.ts';
import { note } from '../../src/cli/output.ts';
import { PROTOCOLS } from '../../src/cli/vendors.ts';

export default class Init extends BaseCommand {
  static override description =
    'Set up a provider of embeddings: the API of a vendor, or a server such as Ollama or TEI.\n' +
    'The command asks for missing values, tests the provider with one call, and writes it to service.yaml. It keeps ' +
    'other settings and comments of the file. Without a terminal, give all values as flags. A provider is optional: ' +
    'without one, the built-in model local/semantic-1 makes the embeddings.';
  static override examples = [
    '<%= config.bin %> init',
    '<%= config.bin %> init --protocol ollama --model nomic-embed-text --json',
    '<%= config.bin %> init --protocol bedrock --region us-east-1 --model amazon.titan-embed-text-v2:0',
  ];
  static override flags = withVariables({
    protocol: Flags.option({ options: PROTOCOLS, description: 'protocol of the API' })(),
    vendor: Flags.string({ description: 'name of the provider in service.yaml; the ids of its models begin with it' }),
    url: Flags.string({ description: 'base URL of the API, without the path of the operation' }),
    region: Flags.string({ description: 'region of AWS (protocol bedrock)' }),
    project: Flags.string({ description: 'id of the Google Cloud project (protocol vertex)' }),
    location: Flags.string({ description: 'location of the models, such as us-central1 or global (protocol vertex)' }),
    'api-version': Flags.string({
      description: 'date of the API with deployments in its path (protocol azure; default: the v1 API)',
    }),
    'key-variable': Flags.string({
      description: 'name of the environment variable that holds the API key, or the JSON key of a service account',
    }),
    model: Flags.string({ description: 'name of the model at the vendor' }),
    'max-tokens': Flags.integer({
      description: 'maximum number of tokens in a text, for a model outside the catalog (default: 512)',
      min: 1,
    }),
    force: forceFlag,
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Init);
    const { protocol, vendor, url, model } = flags;
    const { region, project, location, 'api-version': version } = flags;
    const parameters = { region, project, location, api_version: version };
    const keyVariable = flags['key-variable'];
    const given = { protocol, vendor, url, model, parameters, keyVariable, maxTokens: flags['max-tokens'] };
    const { askForVendor, completeVendor, initVendor } = await import('../../src/cli/init-vendor.ts');
    const { dataDirOf, processEnvironment } = await import('../../src/platform/environment.ts');
    const env = processEnvironment();
    const dataDir = flags['data-dir'] ?? dataDirOf(env);
    const { bin } = this.config;
    return this.untilDone(async (signal) => {
      const choice = canAsk() && !this.jsonEnabled() ? await askForVendor(given, signal) : completeVendor(given);
      note(`testing ${choice.model} at ${choice.url ?? choice.vendor} …`);
      const report = await initVendor(choice, { env, dataDir, force: flags.force, signal });
      this.log(`${report.model} returns vectors of ${report.dimensions} dimensions; wrote it to ${report.file}`);
      const { findOwnServer } = await import('../../src/cli/own-server.ts');
      if ((await findOwnServer(dataDir)) !== null) note('restart the server to use the vendor');
      note(usageOf(report, bin));
      note(
        'the service calibrates the model once with a few thousand short texts; to prevent that, set "projections: {auto: off}"',
      );
      note(
        `to use it for a bucket that has documents, run: ${bin} index reembed --bucket default --model ${report.model}`,
      );
      return report;
    });
  }
}

/** Explain which requests use the configured model. */
function usageOf({ model, is_first: isFirst }: InitReport, bin: string): string {
  if (!isFirst) return `to use it for requests that name no model, run: ${bin} routing set ${model}`;
  return `requests that name no model, and new buckets, use it from now on; to keep them on this host, run: ${bin} routing set local/semantic-1`;
}
