import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { forceFlag, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class JobsDownload extends BaseCommand {
  static override description = 'Save the original file of the document that a job worked on.';
  static override examples = [
    '<%= config.bin %> jobs download job_01h8',
    '<%= config.bin %> jobs download job_01h8 --out handbook.pdf --force --json',
  ];
  static override args = { id: requiredArg('id of the job') };
  static override flags = withVariables({
    org: orgFlag,
    out: Flags.string({
      description: "file to write; - writes to stdout (default: the file's own name, in the current folder)",
    }),
    force: forceFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(JobsDownload);
    const { invalidRequest } = await import('../../src/platform/errors.ts');
    if (flags.out === '-' && this.jsonEnabled())
      throw invalidRequest('--out - writes the file to stdout; leave out --json', 'out');
    return this.withSession(flags, async (session, signal) => {
      const { localName, saveFile, writeToStdout } = await import('../../src/cli/save-file.ts');
      const { output, body } = await session.receive('jobs.file', { id: args.id });
      if (flags.out === '-') {
        await writeToStdout(body, signal);
        return undefined;
      }
      const file = flags.out ?? localName(output.file_name);
      await saveFile(body, file, { force: flags.force, signal });
      this.log(`saved ${file} (${output.size_bytes} bytes)`);
      return { id: args.id, file, media_type: output.media_type, size_bytes: output.size_bytes };
    });
  }
}
