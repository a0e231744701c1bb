import { countTokens } from '../models/tokens.ts';
import type { ChatPart, ChatTask } from './models/chat-model.ts';

/** Token count of an answer's calls: the vendor's count, or an estimate if it reports none. */
export class ChatTally {
  input = 0;
  output = 0;

  /** Pass on the parts of an answer and count its tokens, even if the reader stops early. */
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
      // Vendors don't charge for a call that fails before its first part.
      if (hasBegun) {
        this.input += usage.input ?? task.messages.reduce((sum, message) => sum + countTokens(message.text), 0);
        this.output += usage.output ?? countTokens(text);
      }
    }
  }
}
