/** Place whose entries a test changes, and the source that reads it. */
export interface SourcePlace {
  /** Connection for the setting `sources`. */
  readonly connection: Readonly<Record<string, unknown>>;
  /** Field `config` of a source that reads all entries of the place. */
  readonly config: Readonly<Record<string, unknown>>;
  /**
   * True where an entry never changes, as a message of a mailbox: `write` to an existing name removes the old entry and
   * adds another one. Such an entry is also never empty, since a message without a body has headers.
   */
  readonly isImmutable?: true;
  /** Create an entry, or replace its content. `at` is its time, where a place lets one set it. */
  write(name: string, content: string, at?: Date): Promise<void>;
  /** Make several changes at once, where each alone takes long. */
  batch?(changes: () => Promise<void>): Promise<void>;
  remove(name: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Make the whole place unreachable. @returns a function that brings it back */
  vanish(): Promise<() => Promise<void>>;
  /** Make one entry unreadable; absent where a place has no rights of single entries. */
  deny?(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Write entries with texts of their own. @param timeOf time of an entry by its number */
export async function writeAll(
  place: SourcePlace,
  entries: number,
  timeOf: (nth: number) => Date | undefined = () => undefined,
): Promise<void> {
  const write = async () => {
    for (let nth = 0; nth < entries; nth++) await place.write(`entry-${nth}.txt`, `Text of entry ${nth}.`, timeOf(nth));
  };
  await (place.batch === undefined ? write() : place.batch(write));
}
