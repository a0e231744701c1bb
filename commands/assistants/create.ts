import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { jsonOf, listOf, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class AssistantsCreate extends BaseCommand {
  static override description =
    'Create an assistant: a name for a set of buckets, conditions and instructions.\n' +
    'Ask it with "ask assistant/NAME", or use the model "assistant/NAME" in a client of OpenAI\'s chat API.';
  static override examples = [
    '<%= config.bin %> assistants create support --bucket manuals --bucket faq',
    "<%= config.bin %> assistants create hilfe --bucket manuals --language de --prompt 'Be brief and polite.'",
  ];
  static override args = { name: requiredArg('name: lower-case letters, digits, ".", "_" and "-"') };
  static override flags = withVariables({
    org: orgFlag,
    bucket: Flags.string({
      description: 'name or id of a bucket to search; may be given several times',
      multiple: true,
      required: true,
    }),
    filter: Flags.string({ description: 'metadata that documents must have, as JSON such as {"team":"legal"}' }),
    prompt: Flags.string({ description: 'instructions for the model, in addition to the built-in rules' }),
    language: Flags.string({
      description: 'language of its answers, such as en or ko (default: that of the question)',
    }),
    'top-k': Flags.integer({
      description: 'maximum number of passages to answer from, up to 50; also --limit, as in other commands',
      aliases: ['limit'],
    }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AssistantsCreate);
    const request = {
      name: args.name,
      buckets: listOf(flags.bucket),
      filter: flags.filter === undefined ? undefined : jsonOf('filter', flags.filter),
      prompt: flags.prompt,
      language: flags.language,
      top_k: flags['top-k'],
    };
    const made = await this.call(flags, 'answers.createAssistant', request, { name: 'NAME', buckets: '--bucket' });
    this.log(`created the assistant ${made.name} (${made.id})`);
    this.logToStderr(`ask it: ${this.config.bin} ask assistant/${made.name} 'your question'`);
    return made;
  }
}
