import { Flags } from '@oclif/core';
import { BaseCommand, type SessionFlags } from '../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../src/cli/flags.ts';

export default class Usage extends BaseCommand {
  static override description =
    'Show the usage of an organization in a period, and its remaining quotas.\nWith --json the output is the response of GET /v1/usage/summary.';
  static override examples = [
    '<%= config.bin %> usage --by model',
    '<%= config.bin %> usage --by key --json',
    '<%= config.bin %> usage --org acme --from 2026-10-01 --to 2026-11-01 --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    by: Flags.string({
      description:
        'grouping: a chart by day, model or axis, or a table by key; an axis is a kind of request that has a quota',
      options: ['day', 'model', 'axis', 'key'],
      default: 'day',
    }),
    from: Flags.string({ description: 'start of the period, a day or a time (default: start of this month)' }),
    to: Flags.string({
      description: 'end of the period: a day or a time, which is itself excluded (default: end of this month)',
    }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Usage);
    if (flags.by === 'key') return this.#showKeys(flags);
    const summary = await this.call(flags, 'usage.summarize', { from: flags.from, to: flags.to });
    const { renderQuotas, renderUsage } = await import('../src/cli/usage-chart.ts');
    const { hasColours, terminalColumns } = await import('../src/cli/output.ts');
    const chart = { width: terminalColumns(), color: hasColours() };
    this.log(renderUsage(summary, chart, flags.by as 'day' | 'model' | 'axis'));
    if (flags.by !== 'axis') this.log(`\n${renderQuotas(summary, chart)}`);
    return summary;
  }

  async #showKeys(flags: SessionFlags & { readonly from?: string | undefined; readonly to?: string | undefined }) {
    const usage = await this.call(flags, 'usage.byKey', { from: flags.from, to: flags.to });
    await this.showTable('keys with usage', usage.data, [
      ['key or person', ({ name, actor }) => name ?? actor],
      ['id', ({ key_id: id, actor }) => id ?? actor],
      ['requests', ({ requests }) => requests],
      ['tokens', ({ tokens }) => tokens],
    ]);
    return usage;
  }
}
