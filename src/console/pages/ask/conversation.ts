import { ApiError, openStream } from '../../lib/api.ts';
import { asApiError } from '../../lib/resource.ts';
import type { Answer, AnswerStart } from '../../types.ts';

/** Question with its answer so far. */
export interface Turn {
  readonly id: number;
  readonly question: string;
  readonly text: string;
  readonly start: AnswerStart | null;
  /** Complete answer; null while it is being written, or if it failed. */
  readonly answer: Answer | null;
  readonly error: ApiError | null;
  readonly isWriting: boolean;
}

export interface Question {
  /** `bucket/NAME` or `assistant/NAME`. */
  readonly target: string;
  readonly question: string;
  readonly history: readonly { readonly role: string; readonly content: string }[];
}

let lastId = 0;

/** Return the earlier messages of a conversation. Omit questions without an answer. */
export function historyOf(turns: readonly Turn[]): Question['history'] {
  return turns.flatMap(({ question, answer }) =>
    answer === null
      ? []
      : [
          { role: 'user', content: question },
          { role: 'assistant', content: answer.answer },
        ],
  );
}

/** Ask a question, and report the turn whenever more of the answer arrives. */
export async function askQuestion(
  { target, question, history }: Question,
  signal: AbortSignal,
  onChange: (turn: Turn) => void,
): Promise<void> {
  lastId += 1;
  let turn: Turn = { id: lastId, question, text: '', start: null, answer: null, error: null, isWriting: true };
  const change = (part: Partial<Turn>) => {
    turn = { ...turn, ...part };
    onChange(turn);
  };
  change({});
  const [kind, ...name] = target.split('/');
  const scope = kind === 'assistant' ? { assistant: name.join('/') } : { buckets: [name.join('/')] };
  try {
    const json = { query: question, history, stream: true, ...scope };
    for await (const { name: event, data } of openStream('/v1/answers', { method: 'POST', json, signal })) {
      if (event === 'passages') change({ start: data as AnswerStart });
      else if (event === 'text') change({ text: turn.text + (data as { text: string }).text });
      else if (event === 'end') change({ answer: data as Answer, isWriting: false });
      else throw errorOfEvent(data as { code: string; message: string });
    }
    if (turn.isWriting) throw new ApiError(0, 'the answer broke off', { code: 'unreachable' });
  } catch (error) {
    change({ error: signal.aborted ? null : asApiError(error), isWriting: false });
  }
}

function errorOfEvent({ code, message }: { code: string; message: string }): ApiError {
  return new ApiError(502, message, { code });
}
