import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class WorkflowsTrigger extends BaseCommand {
  static override description =
    'Let a schedule, new documents of a bucket, or signed requests start a workflow.\n' +
    'A block that changes something waits for an approval, as in every live run. If the workflow has an input ' +
    '"event", it gets the details of the start.';
  static override examples = [
    '<%= config.bin %> workflows trigger "Weekly digest" --schedule "0 7 * * 1"',
    '<%= config.bin %> workflows trigger "Sort invoices" --on-documents invoices',
    '<%= config.bin %> workflows trigger "Answer by message" --webhook --mode simulate --json',
  ];
  static override args = { workflow: requiredArg('name or id of the workflow') };
  static override flags = withVariables({
    org: orgFlag,
    schedule: Flags.string({ description: 'cron expression of five fields, in UTC, such as "30 2 * * *"' }),
    'on-documents': Flags.string({ description: 'name or id of a bucket; each new document in it starts a run' }),
    webhook: Flags.boolean({ description: 'start on signed requests; prints the secret for the signatures' }),
    mode: Flags.string({ description: 'live or simulate (default: live)' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WorkflowsTrigger);
    const { schedule, mode, 'on-documents': bucket } = flags;
    if ([schedule, bucket, flags.webhook || undefined].filter((each) => each !== undefined).length !== 1) {
      throw invalidRequest('name one of --schedule, --on-documents and --webhook');
    }
    const trigger = { schedule, bucket, mode, ...(flags.webhook ? { webhook: true } : {}) };
    const names = { trigger: 'the trigger' };
    const made = await this.call(flags, 'workflows.trigger', { workflow: args.workflow, trigger }, names);
    if (made.secret !== null) {
      this.log(made.secret);
      this.logToStderr(`post signed requests to ${made.webhook_path}. Keep the secret; it is not shown again.`);
    }
    this.logToStderr(`added trigger ${made.id} (${made.kind})`);
    return made;
  }
}
