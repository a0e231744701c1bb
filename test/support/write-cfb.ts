const SECTOR = 512;
const MINI_SECTOR = 64;
const MINI_CUTOFF = 4096;
const FREE = 0xffffffff;
const END = 0xfffffffe;
const FAT = 0xfffffffd;

interface Entry {
  readonly name: string;
  readonly type: 1 | 2 | 5;
  readonly data: Buffer;
  children: number[];
  start: number;
}

/** Write a compound file of version 3 ([MS-CFB]) with streams by path, one level of storages deep. */
export function writeCfb(streams: Readonly<Record<string, Uint8Array>>): Buffer {
  const entries: Entry[] = [{ name: 'Root Entry', type: 5, data: Buffer.alloc(0), children: [], start: END }];
  const storages = new Map<string, number>();
  for (const [path, data] of Object.entries(streams)) {
    const [folder, name] = path.includes('/') ? (path.split('/') as [string, string]) : [null, path];
    let parent = 0;
    if (folder !== null) {
      parent = storages.get(folder) ?? entries.push(entryOf(folder, 1)) - 1;
      if (!storages.has(folder)) entries[0]?.children.push(parent);
      storages.set(folder, parent);
    }
    entries[parent]?.children.push(entries.push(entryOf(name, 2, Buffer.from(data))) - 1);
  }

  const sectors: Buffer[] = [];
  const chains: number[] = [];
  const store = (bytes: Buffer, sectorBytes: number, into: Buffer[], table: number[]): number => {
    if (bytes.length === 0) return END;
    const start = into.length;
    for (let at = 0; at < bytes.length; at += sectorBytes) {
      const sector = Buffer.alloc(sectorBytes);
      bytes.copy(sector, 0, at);
      into.push(sector);
      table.push(at + sectorBytes >= bytes.length ? END : into.length);
    }
    return start;
  };
  const mini: Buffer[] = [];
  const miniTable: number[] = [];
  for (const entry of entries) {
    if (entry.type !== 2) continue;
    entry.start =
      entry.data.length < MINI_CUTOFF
        ? store(entry.data, MINI_SECTOR, mini, miniTable)
        : store(entry.data, SECTOR, sectors, chains);
  }
  const miniStream = Buffer.concat(mini);
  const root = entries[0] as Entry;
  root.start = store(miniStream, SECTOR, sectors, chains);
  const miniFatStart = store(words(miniTable), SECTOR, sectors, chains);
  const directory = Buffer.concat(entries.map((entry, id) => record(entries, id, entry, miniStream.length)));
  const directoryStart = store(directory, SECTOR, sectors, chains);

  const fatSectors = Math.ceil((sectors.length + 8) / (SECTOR / 4 - 1));
  const fatStart = sectors.length;
  for (let i = 0; i < fatSectors; i++) chains.push(FAT);
  const fat = Buffer.alloc(fatSectors * SECTOR, 0xff);
  words(chains).copy(fat);

  const header = Buffer.alloc(SECTOR);
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(header);
  header.writeUInt16LE(0x3e, 24);
  header.writeUInt16LE(3, 26);
  header.writeUInt16LE(0xfffe, 28);
  header.writeUInt16LE(9, 30);
  header.writeUInt16LE(6, 32);
  header.writeUInt32LE(fatSectors, 44);
  header.writeUInt32LE(directoryStart, 48);
  header.writeUInt32LE(MINI_CUTOFF, 56);
  header.writeUInt32LE(miniFatStart, 60);
  header.writeUInt32LE(Math.ceil((miniTable.length * 4) / SECTOR), 64);
  header.writeUInt32LE(END, 68);
  for (let i = 0; i < 109; i++) header.writeUInt32LE(i < fatSectors ? fatStart + i : FREE, 76 + i * 4);
  return Buffer.concat([header, ...sectors, fat]);
}

function entryOf(name: string, type: Entry['type'], data: Buffer = Buffer.alloc(0)): Entry {
  return { name, type, data, children: [], start: type === 2 ? END : 0 };
}

/** Write an entry of the directory. Siblings form an unbalanced tree, each the right child of the one before. */
function record(entries: readonly Entry[], id: number, entry: Entry, miniBytes: number): Buffer {
  const siblings = entries.find(({ children }) => children.includes(id))?.children ?? [];
  const bytes = Buffer.alloc(128);
  bytes.write(entry.name, 0, 62, 'utf16le');
  bytes.writeUInt16LE(entry.name.length * 2 + 2, 64);
  bytes.writeUInt8(entry.type, 66);
  bytes.writeUInt8(1, 67);
  bytes.writeUInt32LE(FREE, 68);
  bytes.writeUInt32LE(siblings[siblings.indexOf(id) + 1] ?? FREE, 72);
  bytes.writeUInt32LE(entry.children[0] ?? FREE, 76);
  bytes.writeUInt32LE(entry.start, 116);
  bytes.writeUInt32LE(entry.type === 5 ? miniBytes : entry.data.length, 120);
  return bytes;
}

function words(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => {
    bytes.writeUInt32LE(value, i * 4);
  });
  return bytes;
}
