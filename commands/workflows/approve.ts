import { canAsk, notConfirmed } from '../../src/cli/confirm.ts';
import { listFlag, listOf, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import type { Session } from '../../src/cli/session.ts';
import { WorkflowRunCommand } from '../../src/cli/workflow-run-command.ts';
import { invalidRequest } from '../../src/platform/errors.ts';
import type { RunReply } from '../../src/workflows/schema.ts';

export default class WorkflowsApprove extends WorkflowRunCommand {
  static override description =
    'Approve or decline the changes that a run is waiting for, and continue it as a new run.\n' +
    'Completed blocks do not run again. An approved block runs with the arguments that the run shows; a declined ' +
    'block is skipped. On a terminal, the command shows what each block would do and asks; elsewhere, give --approve ' +
    'or --decline for each. Blocks without a decision wait in the new run. The exit code is 0 if the run was ' +
    'completed, 4 if it still waits, and 1 if a block failed. With --json the output is the response of POST ' +
    '/v1/workflows/{id}/runs/{run}/approve.';
  static override examples = [
    '<%= config.bin %> workflows approve "Weekly report" run_01h8',
    '<%= config.bin %> workflows approve "Weekly report" run_01h8 --approve send --decline remind --json',
  ];
  static override args = {
    workflow: requiredArg('name or id of the workflow'),
    run: requiredArg('id of the waiting run'),
  };
  static override flags = withVariables({
    org: orgFlag,
    approve: listFlag('id of a block that may make its change; may be given several times'),
    decline: listFlag('id of a block that must not make its change; may be given several times'),
  });

  async run(): Promise<RunReply> {
    const { args, flags } = await this.parse(WorkflowsApprove);
    const [approved, declined] = [listOf(flags.approve), listOf(flags.decline)];
    const both = approved.find((id) => declined.includes(id));
    if (both !== undefined) {
      throw invalidRequest(`--decline ${both}: the block is approved, too; give one of the two`, 'decline');
    }
    const given = [...approved.map((id) => [id, true] as const), ...declined.map((id) => [id, false] as const)];
    if (given.length === 0 && !canAsk()) {
      throw invalidRequest('--approve: give the id of a block, or of one to --decline', 'approve');
    }
    return this.withSession(flags, async (session, signal) => {
      const reply =
        given.length > 0
          ? await session.call('workflows.approve', { ...args, approvals: Object.fromEntries(given) })
          : await approveAsking(session, args, signal);
      await this.showReply(session, reply, args.workflow);
      return reply;
    });
  }
}

/**
 * Show what each waiting block would do, and ask about it. Repeat this for blocks that start waiting after these have
 * run. Don't hold any resource while the user decides.
 *
 * @throws AppError `not_confirmed` (409) if nothing was approved
 */
async function approveAsking(
  session: Session,
  { workflow, run: id }: { readonly workflow: string; readonly run: string },
  signal: AbortSignal,
): Promise<RunReply> {
  const { checkWaits } = await import('../../src/workflows/approve-run.ts');
  const { askApproval } = await import('../../src/cli/ask-approval.ts');
  const askAbout = askApproval(signal);
  const first = await session.call('workflows.run', { workflow, run: id });
  checkWaits(first);
  const asked = new Set<string>();
  let reply: RunReply | null = null;
  for (let blocks = first.blocks, run: string | null = id; run !== null; ) {
    const approvals: Record<string, boolean> = {};
    for (const block of blocks) {
      if (block.status !== 'needs_approval' || asked.has(block.id)) continue;
      asked.add(block.id);
      if (await askAbout(block, block.would ?? {})) approvals[block.id] = true;
    }
    if (Object.keys(approvals).length === 0) break;
    reply = await session.call('workflows.approve', { workflow, run, approvals });
    [blocks, run] = [reply.blocks, reply.run_id];
  }
  if (reply === null) throw notConfirmed();
  return reply;
}
