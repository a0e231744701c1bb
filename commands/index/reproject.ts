import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { bucketFlag, listOf, orgFlag, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class IndexReproject extends BaseCommand {
  static override description =
    'Convert the vectors of a bucket with the maps in use, after the map or the space of a model has changed.\n' +
    'The command computes the new vectors from the native vectors stored with the chunks; no provider is called. ' +
    'Searches keep working meanwhile. An interrupted run continues where it stopped.';
  static override examples = [
    '<%= config.bin %> index reproject --bucket manuals --model vendor-e/embeddings-v3 --dry-run',
    '<%= config.bin %> index reproject --bucket manuals --model vendor-e/embeddings-v3 --yes --json',
  ];
  static override flags = withVariables({
    bucket: bucketFlag,
    model: Flags.string({
      description:
        'model whose documents are converted; may be given several times if the bucket has documents of several models',
      required: true,
      multiple: true,
    }),
    org: orgFlag,
    'dry-run': Flags.boolean({ description: 'show what would be done, and change nothing' }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexReproject);
    const request = { bucket: flags.bucket, models: listOf(flags.model) };
    return this.withSession(flags, async (session, signal) => {
      const { describeReprojection, showReprojection } = await import('../../src/cli/reprojection.ts');
      const { warnings, bucket_name: bucketName, plan } = await session.call('index.planReproject', request);
      for (const warning of warnings) this.logToStderr(`warning: ${warning}`);
      const described = describeReprojection(bucketName, plan);
      if (flags['dry-run']) {
        this.log(described);
        return { ...plan, dry_run: true };
      }
      this.logToStderr(described);
      if (plan.mode !== 'nothing') await confirm('Go on?', flags.yes, signal);
      const { body } = await session.receive('index.reproject', request);
      const report = await showReprojection(plan, body, signal);
      this.log(`projected ${report.chunks} chunks of ${report.documents} documents`);
      return { ...report, dry_run: false };
    });
  }
}
