import { Flags } from '@oclif/core';
import { BaseCommand } from '../src/cli/base-command.ts';
import { orgFlag } from '../src/cli/flags.ts';

export default class Usage extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Show the usage of an organization in a period, and its remaining quotas.\nWith --json the output is the response of GET /v1/usage/summary.';
  static override examples = [
    '<%= config.bin %> usage --by model',
    '<%= config.bin %> usage --org acme --from 2026-10-01 --to 2026-11-01 --json',
  ];
  static override flags = {
    org: orgFlag,
    by: Flags.string({
      description: 'meaning of the bars of the chart; an axis is a kind of request that has a quota',
      options: ['day', 'model', 'axis'],
      default: 'day',
      env: 'SERVICE_BY',
    }),
    from: Flags.string({
      description: 'start of the period, a day or a time (default: start of this month)',
      env: 'SERVICE_FROM',
    }),
    to: Flags.string({
      description: 'end of the period, a day or a time that is not part of it (default: end of this month)',
      env: 'SERVICE_TO',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Usage);
    const summary = await this.call(flags, 'usage.summarize', { from: flags.from, to: flags.to });
    const { renderQuotas, renderUsage } = await import('../src/cli/usage-chart.ts');
    const { hasColours, terminalColumns } = await import('../src/cli/output.ts');
    const chart = { width: terminalColumns(), color: hasColours() };
    this.log(renderUsage(summary, chart, flags.by as 'day' | 'model' | 'axis'));
    if (flags.by !== 'axis') this.log(`\n${renderQuotas(summary, chart)}`);
    return summary;
  }
}
