import { createHash } from 'node:crypto';
import type { Model } from '../../src/models/catalog.ts';
import type { CalibrationText } from '../../src/projection/calibration.ts';
import { createRandom } from './random.ts';

const LATENT = 48;

/** Return pseudo-random numbers in -1..1 that depend only on the seed. */
function numbers(count: number, seed: number): Float32Array {
  const { real } = createRandom(seed);
  return Float32Array.from({ length: count }, () => real() * 2 - 1);
}

const words = new Map<string, Float32Array>();

/** Return the latent vector of a text, which all synthetic models share: the sum of the directions of its words. */
function latentOf(text: string): Float32Array {
  const sum = new Float32Array(LATENT);
  for (const word of text.toLowerCase().split(/\s+/)) {
    let direction = words.get(word);
    if (!direction) {
      direction = numbers(LATENT, createHash('sha256').update(word).digest().readInt32LE(0));
      words.set(word, direction);
    }
    for (let i = 0; i < LATENT; i++) sum[i] = (sum[i] as number) + (direction[i] as number);
  }
  return sum;
}

/** Embed texts with `model`: their latent vectors in the axes of the model, plus its mean, at unit length. */
export function syntheticVectors(model: Pick<Model, 'id' | 'nativeDimension'>, texts: readonly string[]): Float32Array {
  const k = model.nativeDimension;
  const seed = createHash('sha256').update(model.id).digest().readInt32LE(0);
  const axes = numbers(LATENT * k, seed);
  const mean = numbers(k, seed + 1);
  const vectors = new Float32Array(texts.length * k);
  for (const [row, text] of texts.entries()) {
    const latent = latentOf(text);
    let squares = 0;
    for (let c = 0; c < k; c++) {
      let value = 2 * (mean[c] as number);
      for (let i = 0; i < LATENT; i++) value += (latent[i] as number) * (axes[i * k + c] as number);
      vectors[row * k + c] = value;
      squares += value * value;
    }
    for (let c = 0; c < k; c++) vectors[row * k + c] = (vectors[row * k + c] as number) / Math.sqrt(squares);
  }
  return vectors;
}

const VOCABULARY = (
  'harbour ferry tide pilot anchor cargo rope sail storm island ledger audit refund invoice ' +
  'margin budget tax receipt loan credit kettle recipe flour oven butter pepper onion broth knife spoon 항구 배 밀물 닻 ' +
  '화물 섬 폭풍 장부 환불 세금 영수증 예산 대출 요리 밀가루 오븐 버터 후추 양파 국물 patient dose clinic nurse fever scan bone ' +
  'vaccine ward surgeon compiler thread socket buffer cache index query schema token branch'
).split(' ');

/** Generate distinct texts of a few words each. */
export function syntheticTexts(count: number, seed = 1): CalibrationText[] {
  const { pick } = createRandom(seed);
  return Array.from({ length: count }, (_, nth) => ({
    text: `${Array.from({ length: 6 }, () => pick(VOCABULARY)).join(' ')} ${nth}`,
    kind: nth % 2 === 0 ? ('passage' as const) : ('query' as const),
  }));
}
