import type { RunReply } from '../workflows/schema.ts';
import { BaseCommand } from './base-command.ts';
import { EXIT } from './exit-codes.ts';
import { note } from './output.ts';
import type { Session } from './session.ts';

export abstract class WorkflowRunCommand extends BaseCommand {
  /** Print how a run ended and what to do next, and set the exit code. */
  protected async showReply(session: Session, reply: RunReply, workflow: string): Promise<void> {
    const { BLOCK_COLUMNS, describeEnd, outputText, queuesJobs } = await import('./workflow-views.ts');
    if (reply.blocks.length > 0) await this.showTable('blocks', reply.blocks, BLOCK_COLUMNS);
    const output = outputText(reply);
    if (output !== null) this.log(`\n${output}`);
    for (const line of describeEnd(reply, { bin: this.config.bin, workflow })) note(line);
    if (queuesJobs(reply)) {
      const hasWorker = await session.call('jobs.hasWorker', { kind: 'ingest' });
      if (!hasWorker) note('no worker is running; start "service serve" to finish the work');
    }
    if (reply.status === 'failed') process.exitCode = EXIT.fault;
    else if (reply.status !== 'completed') process.exitCode = EXIT.refused;
  }
}
