import { createRandom, type SeededRandom } from './random.ts';

type Mutation = (bytes: Buffer, random: SeededRandom, other: Buffer) => Buffer;

/** Mutations of valid files, as by accident or attack. The same seed gives the same damage. */
const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'flipped bits': (bytes, random) => {
    const copy = Buffer.from(bytes);
    for (let i = 0; i < 1 + copy.length / 200; i++) {
      const place = random.int(copy.length);
      copy.writeUInt8(copy.readUInt8(place) ^ (1 << random.int(8)), place);
    }
    return copy;
  },
  'a truncated end': (bytes, random) => bytes.subarray(0, 1 + random.int(bytes.length - 1)),
  'a hole of zeros': (bytes, random) => {
    const copy = Buffer.from(bytes);
    const start = random.int(copy.length);
    return copy.fill(0, start, Math.min(copy.length, start + 1 + random.int(copy.length / 4)));
  },
  'a repeated slice': (bytes, random) => {
    const start = random.int(bytes.length);
    const slice = bytes.subarray(start, start + 1 + random.int(500));
    return Buffer.concat([
      bytes.subarray(0, start),
      ...Array.from({ length: 1 + random.int(50) }, () => slice),
      bytes.subarray(start),
    ]);
  },
  'a number made huge': (bytes, random) => {
    const copy = Buffer.from(bytes);
    for (let i = 0; i < 4; i++) {
      const place = random.int(Math.max(1, copy.length - 4));
      copy.fill(random.real() < 0.5 ? 0xff : 0x7f, place, place + 4);
    }
    return copy;
  },
  'a slice of another file': (bytes, random, other) => {
    const start = random.int(bytes.length);
    const from = random.int(other.length);
    const slice = other.subarray(from, from + 1 + random.int(2000));
    return Buffer.concat([bytes.subarray(0, start), slice, bytes.subarray(start)]);
  },
};

export const MUTATION_NAMES = Object.keys(MUTATIONS);

export function mutate(name: string, bytes: Buffer, seed: number, other: Buffer): Buffer {
  return (MUTATIONS[name] as Mutation)(bytes, createRandom(seed), other);
}

/** Mutate a part of an archive before it is packed. A mutated archive would only unpack to garbage. */
export function mutateXml(xml: string, seed: number): string {
  const random = createRandom(seed);
  const tags = [...xml.matchAll(/<[^<>]+>/g)];
  const tag = () => tags[random.int(tags.length)] as RegExpExecArray;
  switch (seed % 5) {
    case 0: {
      const lost = tag();
      return xml.slice(0, lost.index) + xml.slice(lost.index + lost[0].length);
    }
    case 1: {
      const { index } = tag();
      return `${xml.slice(0, index)}${tag()[0].repeat(1 + random.int(20))}${xml.slice(index)}`;
    }
    case 2:
      return xml.replace(/="\d+"/g, () => `="${['-1', '99999999999', 'NaN', '1e308', ''][random.int(5)]}"`);
    case 3:
      return xml.replace(/="[^"]{1,40}"/g, (value) => (random.real() < 0.1 ? `="${'A'.repeat(50_000)}"` : value));
    default:
      return xml.replace(/>[^<]+</g, () => `>${'&#x10FFFF;\u{1f600}\ud7a3'.repeat(random.int(200))}<`);
  }
}
