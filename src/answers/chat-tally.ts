import { countTokens } from '../models/tokens.ts';
import type { ChatPart, ChatTask } from './models/chat-model.ts';

/** Sum of the tokens of an answer's calls: those that the vendor counted, or else an estimate. */
export class ChatTally {
  input = 0;
  output = 0;

  /** Pass on the parts of an answer and count its tokens, also if it is not read to its end. */
  async *count(task: ChatTask, parts: AsyncIterable<ChatPart>): AsyncGenerator<ChatPart, void> {
    let text = '';
    let usage: { input: number | null; output: number | null } = { input: null, output: null };
    let hasBegun = false;
    try {
      for await (const part of parts) {
        hasBegun = true;
        if (part.kind === 'text') text += part.text;
        else usage = part.usage;
        yield part;
      }
    } finally {
      // A call that failed before its first part is not charged by vendors.
      if (hasBegun) {
        this.input += usage.input ?? task.messages.reduce((sum, message) => sum + countTokens(message.text), 0);
        this.output += usage.output ?? countTokens(text);
      }
    }
  }
}
