import type { WorkContext } from '../../platform/work-context.ts';
import type { UpstreamCaps } from './protocols/protocol.ts';
import type { ProviderCall } from './provider.ts';

/** Request as the queue sees it. */
export interface QueuedRequest {
  readonly call: ProviderCall;
  /** Request or job behind the call. Its organization owns the texts. */
  readonly work: WorkContext | undefined;
  /** Number of its texts in the queue. */
  waiting: number;
  isSettled: boolean;
}

/** Texts [from, to) of a request. */
export interface TextSlice<Request> {
  readonly request: Request;
  from: number;
  readonly to: number;
}

interface TextQueueOptions {
  /** Texts of all owners together. */
  readonly textsMax: number;
  capsOf(call: ProviderCall): UpstreamCaps;
}

/** Organization id, or null for work without one, which counts as one owner. */
type OwnerId = string | null;

/** Slices of one owner that may share an upstream call. */
interface OwnerQueue<Request> {
  /** Shared properties of the slices. Slices of other owners with the same key may share a call with them. */
  readonly key: string;
  readonly mayMerge: boolean;
  readonly slices: Fifo<TextSlice<Request>>;
  /** True while it has a place in its owner's turn order. */
  isListed: boolean;
}

interface Owner<Request> {
  readonly id: OwnerId;
  texts: number;
  /** Queues by their keys. Empty ones stay, since each model has only a few. */
  readonly queues: Map<string, OwnerQueue<Request>>;
  /** Queues with slices, in the order of service. */
  readonly turns: Fifo<OwnerQueue<Request>>;
  /** True while it has a place in the turn order of the owners. */
  isListed: boolean;
}

/**
 * Maximum number of owners to keep without texts. Removing one from the Map on each call would leave its contents as
 * old-generation garbage (see `SlotMap`).
 */
const IDLE_OWNERS_MAX = 1_000;

/**
 * Texts that wait for a free upstream call, by organization.
 *
 * Organizations take turns, and within one organization its models and task types take turns. A call takes texts of the
 * organization in turn, then fills its remaining caps with texts of the others in turn order. Thus, besides its own
 * calls, a request waits for at most one call of each other organization. Background texts are taken only while nothing
 * else waits.
 */
export class TextQueue<Request extends QueuedRequest> {
  readonly #options: TextQueueOptions;
  readonly #foreground: OwnersInTurn<Request>;
  readonly #background: OwnersInTurn<Request>;
  #texts = 0;

  constructor(options: TextQueueOptions) {
    this.#options = options;
    this.#foreground = new OwnersInTurn(options.capsOf);
    this.#background = new OwnersInTurn(options.capsOf);
  }

  get texts(): number {
    return this.#texts;
  }

  /**
   * Return true if a request may be queued: the remaining room must be at least what its owner would then use. A single
   * owner gets at most half of the queue, two owners a third each, and a new owner always finds some room (dynamic
   * thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).
   */
  hasRoomFor({ call, work }: Pick<Request, 'call' | 'work'>): boolean {
    const id = work?.orgId ?? null;
    const texts = call.texts.length;
    const ofOwner = this.#foreground.textsOf(id) + this.#background.textsOf(id) + texts;
    return ofOwner <= this.#options.textsMax - this.#texts - texts;
  }

  /** @param mayMerge false if no upstream call may carry the slice together with others */
  add(slice: TextSlice<Request>, mayMerge: boolean): void {
    this.#ownersOf(slice.request).add(slice, mayMerge);
    const texts = slice.to - slice.from;
    slice.request.waiting += texts;
    this.#texts += texts;
  }

  /** Remove and return the slices of the next upstream call. Empty if no texts may be taken. */
  take(mayTakeBackground: boolean): TextSlice<Request>[] {
    let slices = this.#foreground.take();
    if (slices.length === 0 && mayTakeBackground) slices = this.#background.take();
    for (const { request, from, to } of slices) {
      request.waiting -= to - from;
      this.#texts -= to - from;
    }
    return slices;
  }

  /**
   * Subtract the texts of a settled request. Its slices stay until they reach the head of the queue and are skipped.
   */
  discount(request: Request): void {
    if (request.waiting === 0) return;
    this.#ownersOf(request).discount(request);
    this.#texts -= request.waiting;
    request.waiting = 0;
  }

  #ownersOf({ call }: Request): OwnersInTurn<Request> {
    return call.isBackground === true ? this.#background : this.#foreground;
  }
}

/** Owners with texts of one priority: background or normal. */
class OwnersInTurn<Request extends QueuedRequest> {
  readonly #capsOf: TextQueueOptions['capsOf'];
  /** Owners by their ids, including some without texts. */
  readonly #owners = new Map<OwnerId, Owner<Request>>();
  /** Owners with texts, in service order. An owner without texts is removed when its turn comes. */
  readonly #turns = new Fifo<Owner<Request>>();

  constructor(capsOf: TextQueueOptions['capsOf']) {
    this.#capsOf = capsOf;
  }

  textsOf(id: OwnerId): number {
    return this.#owners.get(id)?.texts ?? 0;
  }

  add(slice: TextSlice<Request>, mayMerge: boolean): void {
    const { call, work } = slice.request;
    const id = work?.orgId ?? null;
    let owner = this.#owners.get(id);
    if (!owner) {
      owner = { id, texts: 0, queues: new Map(), turns: new Fifo(), isListed: false };
      this.#owners.set(id, owner);
    }
    if (!owner.isListed) this.#turns.push(owner);
    owner.isListed = true;
    // The token counts of a call must be exact for all its texts or for none.
    const key = `${call.model.id}\n${call.taskType}\n${mayMerge}\n${call.countExactly === undefined}`;
    let queue = owner.queues.get(key);
    if (!queue) {
      queue = { key, mayMerge, slices: new Fifo(), isListed: false };
      owner.queues.set(key, queue);
    }
    if (!queue.isListed) owner.turns.push(queue);
    queue.isListed = true;
    queue.slices.push(slice);
    owner.texts += slice.to - slice.from;
  }

  discount({ work, waiting }: Request): void {
    const owner = this.#owners.get(work?.orgId ?? null);
    if (owner) owner.texts -= waiting;
  }

  take(): TextSlice<Request>[] {
    for (let owner = this.#turns.shift(); owner; owner = this.#turns.shift()) {
      const slices = owner.texts === 0 ? [] : this.#takeInTurnOf(owner);
      owner.isListed = owner.texts > 0;
      if (owner.isListed) this.#turns.push(owner);
      else if (this.#owners.size > IDLE_OWNERS_MAX) this.#owners.delete(owner.id);
      if (slices.length > 0) return slices;
    }
    return [];
  }

  #takeInTurnOf(owner: Owner<Request>): TextSlice<Request>[] {
    for (let queue = owner.turns.shift(); queue; queue = owner.turns.shift()) {
      const slice = headSlice(queue);
      const batch = slice && new BatchSlices<Request>(this.#capsOf(slice.request.call));
      if (batch) this.#fill(batch, owner, queue);
      queue.isListed = headSlice(queue) !== undefined;
      if (queue.isListed) owner.turns.push(queue);
      if (batch) return batch.slices;
    }
    return [];
  }

  /** Fill a batch from a queue of the current owner, then from queues of others that may share the call. */
  #fill(batch: BatchSlices<Request>, owner: Owner<Request>, queue: OwnerQueue<Request>): void {
    if (!moveSlices(queue, owner, batch) || !queue.mayMerge) return;
    for (const other of this.#turns) {
      const shared = other.queues.get(queue.key);
      if (shared && !moveSlices(shared, other, batch)) return;
    }
  }
}

/** Slices of one upstream call, within its caps. */
export class BatchSlices<Request extends QueuedRequest> {
  readonly slices: TextSlice<Request>[] = [];
  #itemsLeft: number;
  #tokensLeft: number;

  constructor({ itemsMax, tokensMax }: UpstreamCaps) {
    this.#itemsLeft = itemsMax;
    this.#tokensLeft = tokensMax ?? Number.POSITIVE_INFINITY;
  }

  /** Move as many texts as fit from the start of a slice into the batch. Return their number. */
  moveFrom(slice: TextSlice<Request>): number {
    const { request, from } = slice;
    const { counts } = request.call;
    const end = Math.min(slice.to, from + this.#itemsLeft);
    let to = from;
    while (to < end) {
      const tokens = counts[to] ?? 0;
      // A text above the cap is sent alone, so that the vendor decides if it is too long.
      if (tokens > this.#tokensLeft && (to > from || this.slices.length > 0)) break;
      this.#tokensLeft -= tokens;
      to++;
    }
    if (to === from) return 0;
    this.slices.push({ request, from, to });
    this.#itemsLeft -= to - from;
    slice.from = to;
    return to - from;
  }
}

/** Move slices from the head of a queue into a batch. Return false if not all of them fit. */
function moveSlices<Request extends QueuedRequest>(
  queue: OwnerQueue<Request>,
  owner: Owner<Request>,
  batch: BatchSlices<Request>,
): boolean {
  for (let slice = headSlice(queue); slice; slice = headSlice(queue)) {
    if (!queue.mayMerge && batch.slices.length > 0) return false;
    const moved = batch.moveFrom(slice);
    owner.texts -= moved;
    if (slice.from < slice.to) {
      // The batch is full. The rest of its first request goes behind the owner's other requests.
      if (moved > 0 && batch.slices.length === 1) {
        queue.slices.shift();
        queue.slices.push(slice);
      }
      return false;
    }
    queue.slices.shift();
  }
  return true;
}

/** Return the first slice of an unsettled request, and drop the slices before it. */
function headSlice<Request extends QueuedRequest>(queue: OwnerQueue<Request>): TextSlice<Request> | undefined {
  while (queue.slices.head?.request.isSettled) queue.slices.shift();
  return queue.slices.head;
}

/** First-in, first-out queue. `push` and `shift` take constant time on average. */
class Fifo<Item> {
  readonly #items: Item[] = [];
  #first = 0;

  get head(): Item | undefined {
    return this.#items[this.#first];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#first];
    if (item === undefined) return undefined;
    this.#first++;
    // Move the items only once half is gone, so that the cost per item stays constant.
    if (this.#first * 2 >= this.#items.length) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }

  *[Symbol.iterator](): Generator<Item, void, undefined> {
    for (let at = this.#first; at < this.#items.length; at++) yield this.#items[at] as Item;
  }
}
