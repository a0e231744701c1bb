import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';

export default class WorkflowsImport extends BaseCommand {
  static override description =
    'Import the definition of a workflow from a JSON or YAML file.\n' +
    'The file has the name and the definition, or with --name the definition alone. If a workflow of that name ' +
    'exists, the definition becomes a new version of it, unless it equals the latest one. The command reports every ' +
    'fault of a definition with its path. With --json the output is the workflow as GET /v1/workflows/{id} shows it.';
  static override examples = [
    '<%= config.bin %> workflows import weekly-report.yaml',
    '<%= config.bin %> workflows import definition.json --name "Weekly report" --publish --json',
  ];
  static override args = { file: requiredArg('JSON or YAML file; - reads stdin') };
  static override flags = withVariables({
    org: orgFlag,
    name: Flags.string({ description: 'name of the workflow (default: the one in the file)' }),
    publish: Flags.boolean({ description: 'publish the version that was imported' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WorkflowsImport);
    const { readWorkflowFile } = await import('../../src/cli/read-workflow.ts');
    const given = { ...(await readWorkflowFile(args.file, flags.name)), publish: flags.publish ?? false };
    const { change, workflow } = await this.call(flags, 'workflows.add', given);
    const { id, name, version } = workflow;
    this.log(`${name} (${id}): ${change}, version ${version}`);
    if (workflow.published_version === version) this.log(`version ${version} is published`);
    else note(`version ${version} is a draft; publish it with: ${this.config.bin} workflows publish "${name}"`);
    return workflow;
  }
}
