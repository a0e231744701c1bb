import { Flags } from '@oclif/core';
import { canAsk } from '../../src/cli/confirm.ts';
import { listFlag, listOf, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import type { Session } from '../../src/cli/session.ts';
import { WorkflowRunCommand } from '../../src/cli/workflow-run-command.ts';
import { invalidRequest } from '../../src/platform/errors.ts';
import type { RunInput } from '../../src/workflows/run-workflow.ts';
import type { RunReply } from '../../src/workflows/schema.ts';

const MODES = ['simulate', 'live', 'dry-run'] as const;

export default class WorkflowsRun extends WorkflowRunCommand {
  static override description =
    'Run a workflow: simulate and live run the published version, dry-run the latest one.\n' +
    'Blocks that change something run only with --mode live, and only if you approve them. On a terminal, the ' +
    'command shows what each block would do and asks; elsewhere, give --approve for each, or approve it later with ' +
    '"workflows approve". The exit code is 0 if the run was completed, 4 if an approval is missing or the workflow ' +
    'is a draft, and 1 if a block failed. With --json the output is the response of POST /v1/workflows/{id}/run.';
  static override examples = [
    '<%= config.bin %> workflows run "Weekly report" --input topic=pumps',
    '<%= config.bin %> workflows run "Weekly report" --input topic=pumps --mode live --approve send --json',
  ];
  static override args = { workflow: requiredArg('name or id of the workflow') };
  static override flags = withVariables({
    org: orgFlag,
    mode: Flags.string({
      description: 'simulate (changes nothing), live, or dry-run (the latest version, changes nothing)',
      default: 'simulate',
    }),
    input: listFlag('name=value of an input; JSON unless the input is a string; may be given several times'),
    'inputs-file': Flags.string({ description: 'JSON or YAML file with all inputs; - reads stdin' }),
    approve: listFlag('id of a block that may make its change without asking; may be given several times'),
  });

  async run(): Promise<RunReply> {
    const { args, flags } = await this.parse(WorkflowsRun);
    const mode = MODES.find((known) => known === flags.mode.replace('_', '-'));
    if (mode === undefined) throw invalidRequest(`--mode: must be ${MODES.join(', ')}`, 'mode');
    const approved = listOf(flags.approve);
    if (approved.length > 0 && mode !== 'live') {
      throw invalidRequest('--approve: approvals are for live runs only; add --mode live', 'approve');
    }
    return this.withSession(flags, async (session, signal) => {
      const { readInputs } = await import('../../src/cli/workflow-inputs.ts');
      const given = { pairs: flags.input, file: flags['inputs-file'] };
      const input = {
        mode: mode === 'dry-run' ? ('dry_run' as const) : mode,
        inputs: await readInputs(session, args.workflow, mode, given),
        approvals: Object.fromEntries(approved.map((id) => [id, true])),
      };
      const reply: RunReply =
        canAsk() && mode === 'live'
          ? await runAsking(session, flags.org, args.workflow, input, signal)
          : await session.call('workflows.execute', { workflow: args.workflow, ...input });
      await this.showReply(session, reply, args.workflow);
      return reply;
    });
  }
}

/** Run a workflow in this process, and ask the user about each change. */
async function runAsking(
  session: Session,
  org: string,
  workflow: string,
  input: RunInput,
  signal: AbortSignal,
): Promise<RunReply> {
  const { runWorkflow } = await import('../../src/workflows/run-workflow.ts');
  const { askApproval } = await import('../../src/cli/ask-approval.ts');
  const appliance = await session.open();
  const operator = await appliance.access.operator(org);
  return runWorkflow(appliance.workflows, operator, workflow, { ...input, ask: askApproval(signal) }, signal);
}
