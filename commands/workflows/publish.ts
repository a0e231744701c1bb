import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class WorkflowsPublish extends BaseCommand {
  static override description =
    'Publish a version of a workflow, so that runs use it. An earlier version can be published again.';
  static override examples = [
    '<%= config.bin %> workflows publish "Weekly report"',
    '<%= config.bin %> workflows publish "Weekly report" --at-version 2 --json',
  ];
  static override args = { workflow: requiredArg('name or id of the workflow') };
  static override flags = withVariables({
    org: orgFlag,
    'at-version': Flags.integer({ description: 'version to publish (default: the latest)', min: 1 }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WorkflowsPublish);
    const request = { workflow: args.workflow, at_version: flags['at-version'] };
    const workflow = await this.call(flags, 'workflows.publish', request);
    this.log(`published version ${workflow.published_version} of ${workflow.name}`);
    return workflow;
  }
}
