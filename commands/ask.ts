import { Flags } from '@oclif/core';
import type { Answer, AnswerStart } from '../src/answers/schema.ts';
import { BaseCommand } from '../src/cli/base-command.ts';
import { jsonOf, orgFlag, requiredArg, withVariables } from '../src/cli/flags.ts';
import { printText } from '../src/cli/output.ts';
import type { AskLine } from '../src/operations/groups/answers.ts';
import { printable } from '../src/platform/printable.ts';

export default class Ask extends BaseCommand {
  static override description =
    'Answer a question from the documents of a bucket, with the sources below the answer.\n' +
    'The chat model of the setting "answers" writes the answer from the passages that a search finds. ' +
    'Numbers such as [1] cite the sources. With --json the output is the response of POST /v1/answers.';
  static override examples = [
    "<%= config.bin %> ask manuals 'how often are the bearings greased?'",
    "<%= config.bin %> ask assistant/support 'how do I return a helmet?' --style short",
    `<%= config.bin %> ask manuals 'who approves holidays?' --filter '{"department":"hr"}' --json`,
  ];
  static override args = {
    bucket: requiredArg('name or id of a bucket, or assistant/NAME'),
    question: requiredArg('question to answer'),
  };
  static override flags = withVariables({
    org: orgFlag,
    style: Flags.string({ description: 'length of the answer: short, normal or detailed', default: 'normal' }),
    filter: Flags.string({ description: 'metadata that documents must have, as JSON such as {"team":"legal"}' }),
    'top-k': Flags.integer({
      description: 'maximum number of passages to answer from, up to 50; also --limit, as in other commands',
      aliases: ['limit'],
    }),
    passages: Flags.boolean({ description: 'print the text of each source, not only its place' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Ask);
    const [, assistant] = /^assistant\/(.+)$/s.exec(args.bucket) ?? [];
    const request = {
      query: args.question,
      ...(assistant === undefined ? { buckets: [args.bucket] } : { assistant }),
      history: [],
      style: flags.style,
      filter: flags.filter === undefined ? undefined : jsonOf('filter', flags.filter),
      top_k: flags['top-k'],
      stream: true,
    };
    return this.withSession(flags, async (session, signal) => {
      const { readJsonLines } = await import('../src/operations/json-lines.ts');
      const { body } = await session.receive('answers.ask', request as never);
      return this.#show(readJsonLines<AskLine>(body, signal), flags.passages);
    });
  }

  /** Print the answer while it arrives, then its sources. @throws AppError if the model fails */
  async #show(lines: AsyncIterable<AskLine>, showsPassages: boolean): Promise<Answer> {
    const { renderFoundPassages, renderSourceList } = await import('../src/cli/answer-sources.ts');
    const { readReply } = await import('../src/operations/wire.ts');
    let found: AnswerStart['passages'] = [];
    for await (const line of lines) {
      if ('error' in line) {
        if (found.length > 0) this.log(renderFoundPassages(found));
        readReply(line);
      } else if (line.kind === 'passages') {
        found = line.start.passages;
        for (const warning of line.start.warnings) this.logToStderr(`warning: ${warning}`);
      } else if (line.kind === 'text') {
        if (!this.jsonEnabled()) printText(printable(line.text));
      } else {
        this.log();
        const sources = renderSourceList(line.answer, showsPassages);
        if (sources !== '') this.log(`\n${sources}`);
        this.#explain(line.answer);
        return line.answer;
      }
    }
    throw new Error('the answer has no end');
  }

  /** Explain on stderr why an answer is incomplete. */
  #explain({ status, dropped_citations: dropped }: Answer): void {
    if (status === 'cut_off') this.logToStderr('the answer was cut off at the token limit (answers.output_tokens_max)');
    if (status === 'timed_out') this.logToStderr('the answer was cut off at the time limit (answers.timeout_seconds)');
    if (status === 'interrupted') this.logToStderr('the model stopped in the middle of the answer; ask again');
    if (status === 'refused') this.logToStderr('the model declined to answer');
    if (dropped > 0) this.logToStderr(`removed citations of passages that the model did not receive: ${dropped}`);
  }
}
