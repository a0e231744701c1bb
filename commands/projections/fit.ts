import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class ProjectionsFit extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Fit the map from the vectors of a model to the canonical latent space, and put it to use.\n' +
    'The command embeds calibration texts, aligns their vectors, and measures the map on held-out texts. With ' +
    '--reference, the first model of an installation defines the space. An interrupted run continues where it stopped.';
  static override examples = [
    '<%= config.bin %> projections fit --model vendor-b/embedding-001 --reference',
    '<%= config.bin %> projections fit --model vendor-e/embeddings-v3 --from-bucket manuals --yes --json',
  ];
  static override flags = withVariables({
    model: Flags.string({ description: 'id of the model', required: true }),
    reference: Flags.boolean({ description: 'define the space with this model' }),
    corpus: Flags.string({
      description:
        'file of your own texts, one {"text": …} on each line (default: the texts that the space was made from, or the built-in ones)',
    }),
    'from-bucket': Flags.string({ description: 'name or id of a bucket whose chunks are the texts' }),
    org: orgFlag,
    pairs: Flags.integer({ description: 'maximum number of texts', default: 5000, min: 1, max: 10_000 }),
    method: Flags.option({ options: ['procrustes', 'ridge'] as const, default: 'procrustes' as const })({
      description: 'method of alignment',
    }),
    'allow-few-pairs': Flags.boolean({ description: 'allow fewer than 500 texts' }),
    activate: Flags.boolean({ description: 'put the map to use, or only store it', default: true, allowNo: true }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ProjectionsFit);
    if (flags.corpus !== undefined && flags['from-bucket'] !== undefined) {
      throw invalidRequest('give --corpus or --from-bucket, not both', 'corpus');
    }
    return this.withOperator(flags, async (appliance, operator, signal) => {
      const { fitProjection, planFit } = await import('../../src/projection/fit-projection.ts');
      const { readCalibrationCorpus } = await import('../../src/projection/corpus/calibration-corpus.ts');
      const { describePlan, readCalibration, showFit } = await import('../../src/cli/calibration.ts');
      const request = {
        model: flags.model,
        reference: flags.reference,
        pairsMax: flags.pairs,
        method: flags.method,
        activate: flags.activate,
        allowFewPairs: flags['allow-few-pairs'],
        corpus: await readCalibration(appliance, operator, flags),
        actor: operator.actor,
      };
      const plan = await planFit(appliance.calibration, request, readCalibrationCorpus);
      this.logToStderr(describePlan(plan));
      await confirm('Embed these texts?', flags.yes, signal);
      const report = await showFit(plan, (onProgress) =>
        fitProjection(appliance.calibration, request, plan, { signal, onProgress }),
      );
      for (const warning of report.warnings) this.logToStderr(`warning: ${warning}`);
      const { showScores } = await import('../../src/cli/projection-scores.ts');
      await showScores(report.scores, (noun, rows, columns) => this.showTable(noun, rows, columns));
      this.log(
        `map ${report.map_version} of ${report.model}: ${report.grade}${report.active ? ', in use now' : ', not in use'}`,
      );
      return report;
    });
  }
}
