import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EmbedImageRequest, IMAGES_MAX } from '../../src/embedding/image-schema.ts';
import { drawText } from '../support/draw-text.ts';
import { encodePng } from '../support/encode-image.ts';

const image = encodePng(drawText(['A'], { letterPx: 20, marginPx: 4 })).toString('base64');

function issueOf(value: unknown): { path: PropertyKey[]; message: string } {
  const { path, message } = EmbedImageRequest.safeParse(value).error?.issues[0] ?? { path: [], message: 'accepted' };
  return { path, message };
}

describe('a request to embed images', () => {
  it('a request to embed images is parsed to decoded images, in their order', () => {
    const request = EmbedImageRequest.parse({
      images: [image, `data:image/png;base64,${image}`],
      model: 'vendor-a/text-embedding-3-small',
      dimensions: 256,
      task_type: 'ignored',
    });
    expect(request).toMatchObject({ model: 'vendor-a/text-embedding-3-small', dimensions: 256 });
    expect(request.images.map(({ format }) => format)).toEqual(['png', 'png']);
    expect(request).not.toHaveProperty('task_type');
  });

  it('a request accepts 20 images and no more', () => {
    const of = (count: number) => ({ images: Array<string>(count).fill(image) });
    expect(EmbedImageRequest.parse(of(IMAGES_MAX)).images).toHaveLength(20);
    expect(issueOf(of(IMAGES_MAX + 1))).toEqual({
      path: ['images'],
      message: 'takes up to 20 images; send the rest in another request',
    });
    expect(issueOf(of(0))).toEqual({ path: ['images'], message: 'must have at least one image' });
  });

  it.each([undefined, null, image, 7, { 0: image }])('a request with images %s is refused', (images) => {
    expect(issueOf({ images }).path).toEqual(['images']);
  });

  it.each([null, 7, '', 'AAAA', [image], { image }])('the error of a faulty item names it: %j', (bad) => {
    expect(issueOf({ images: [image, image, image, bad] }).path).toEqual(['images', 3]);
  });

  it.each([0, 4097, 1.5, '256'])('a request with dimensions %s is refused', (dimensions) => {
    expect(issueOf({ images: [image], dimensions }).path).toEqual(['dimensions']);
  });

  it('an error never repeats the sent value', () => {
    const secret = 'c2VjcmV0IHRleHQgb2Ygc29tZW9uZQ==';
    expect(issueOf({ images: [secret] }).message).not.toContain('c2Vjc');
    expect(issueOf({ images: [secret] }).message).not.toContain('secret');
  });

  it('the JSON schema of the images is a list of strings', () => {
    const schema = z.toJSONSchema(EmbedImageRequest, { io: 'input' });
    expect(schema.required).toEqual(['images']);
    expect(schema.properties?.['images']).toMatchObject({ type: 'array', maxItems: 20, items: { type: 'string' } });
  });
});
