/** Damage done to good files, the same for the same seed. */

/** A small linear congruential generator (Numerical Recipes): 0 <= x < 1. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

type Mutation = (bytes: Buffer, random: () => number, other: Buffer) => Buffer;

const at = (length: number, random: () => number) => Math.floor(random() * length);

/** What goes wrong with files, and what those do who look for faults in readers. */
const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'flipped bits': (bytes, random) => {
    const copy = Buffer.from(bytes);
    for (let i = 0; i < 1 + copy.length / 200; i++) {
      const place = at(copy.length, random);
      copy.writeUInt8(copy.readUInt8(place) ^ (1 << at(8, random)), place);
    }
    return copy;
  },
  'an end cut off': (bytes, random) => bytes.subarray(0, 1 + at(bytes.length - 1, random)),
  'a hole of zeros': (bytes, random) => {
    const copy = Buffer.from(bytes);
    const start = at(copy.length, random);
    return copy.fill(0, start, Math.min(copy.length, start + 1 + at(copy.length / 4, random)));
  },
  'a piece repeated': (bytes, random) => {
    const start = at(bytes.length, random);
    const piece = bytes.subarray(start, start + 1 + at(500, random));
    return Buffer.concat([
      bytes.subarray(0, start),
      ...Array.from({ length: 1 + at(50, random) }, () => piece),
      bytes.subarray(start),
    ]);
  },
  'a number made huge': (bytes, random) => {
    const copy = Buffer.from(bytes);
    for (let i = 0; i < 4; i++) {
      const place = at(Math.max(1, copy.length - 4), random);
      copy.fill(random() < 0.5 ? 0xff : 0x7f, place, place + 4);
    }
    return copy;
  },
  'a piece of another file': (bytes, random, other) => {
    const start = at(bytes.length, random);
    const from = at(other.length, random);
    const piece = other.subarray(from, from + 1 + at(2000, random));
    return Buffer.concat([bytes.subarray(0, start), piece, bytes.subarray(start)]);
  },
};

export const MUTATION_NAMES = Object.keys(MUTATIONS);

export function mutate(name: string, bytes: Buffer, seed: number, other: Buffer): Buffer {
  return (MUTATIONS[name] as Mutation)(bytes, generator(seed), other);
}

/** Damage to a part of an archive before it is packed, which damage to the archive would only unpack to garbage. */
export function mutateXml(xml: string, seed: number): string {
  const random = generator(seed);
  const tags = [...xml.matchAll(/<[^<>]+>/g)];
  const tag = () => tags[at(tags.length, random)] as RegExpExecArray;
  switch (seed % 5) {
    case 0: {
      const lost = tag();
      return xml.slice(0, lost.index) + xml.slice(lost.index + lost[0].length);
    }
    case 1: {
      const { index } = tag();
      return `${xml.slice(0, index)}${tag()[0].repeat(1 + at(20, random))}${xml.slice(index)}`;
    }
    case 2:
      return xml.replace(/="\d+"/g, () => `="${['-1', '99999999999', 'NaN', '1e308', ''][at(5, random)]}"`);
    case 3:
      return xml.replace(/="[^"]{1,40}"/g, (value) => (random() < 0.1 ? `="${'A'.repeat(50_000)}"` : value));
    default:
      return xml.replace(/>[^<]+</g, () => `>${'&#x10FFFF;\u{1f600}\ud7a3'.repeat(at(200, random))}<`);
  }
}
