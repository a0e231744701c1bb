import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { PersonDialog, Question } from './tool.ts';

/** Name of the single question of a call. */
const KEY = 'approval';

/**
 * Way in which a person gives approvals: in a form of the client, which passes them on, or on a console page after
 * signing in.
 */
export type ApprovalWay = 'form' | 'page';

/**
 * Find out how a client can ask its user, and the user's answer to this call's question.
 * @param way accepted way of approval; null for a client that can't receive questions
 */
export function dialogOf(server: McpServer, { mcpReq }: ServerContext, way: ApprovalWay | null): PersonDialog {
  // The newest revision sends the capabilities in each request, the older one at the start of a session.
  const envelope = mcpReq.envelope as Readonly<Record<string, ClientCapabilities | undefined>> | undefined;
  const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities();
  const { elicitation } = capabilities ?? {};
  const answer = inputResponse(mcpReq.inputResponses, KEY);
  const state = mcpReq.requestState<string>();
  return {
    asks: way !== null && canAsk(elicitation, way) ? way : null,
    answer:
      answer.kind === 'elicit' && typeof state === 'string'
        ? { state, isAccepted: answer.action === 'accept', decisions: booleansOf(answer.content) }
        : null,
  };
}

/** Check a client's elicitation modes. A client that announces elicitation without modes supports only forms. */
function canAsk(elicitation: ClientCapabilities['elicitation'], way: ApprovalWay): boolean {
  if (elicitation === undefined) return false;
  if (way === 'page') return elicitation.url !== undefined;
  return elicitation.form !== undefined || elicitation.url === undefined;
}

function booleansOf(content: Readonly<Record<string, unknown>> = {}): Record<string, boolean> {
  return Object.fromEntries(
    Object.entries(content).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean'),
  );
}

/**
 * Return a question instead of a result. The client then repeats the call with the answer and the state. Since the
 * client could change the state, the API checks its contents.
 */
export function renderQuestion({ message, state, ask }: Question): InputRequiredResult {
  return inputRequired({ inputRequests: { [KEY]: requestOf(message, ask) }, requestState: state });
}

function requestOf(message: string, ask: Question['ask']): InputRequest {
  if ('url' in ask) return inputRequired.elicitUrl({ message, url: ask.url });
  const properties = Object.fromEntries(
    Object.entries(ask.choices).map(([name, title]) => [name, { type: 'boolean' as const, title, default: false }]),
  );
  const requestedSchema = { type: 'object' as const, properties, required: Object.keys(properties) };
  return inputRequired.elicit({ message, requestedSchema });
}
