import type { PdfObjects } from './pdf-objects.ts';

/** Return the dictionary of a font's descriptor; '' if it has none. */
export function descriptorOf(font: string, objects: PdfObjects): string {
  return objects.resolve(font, '/FontDescriptor')?.text ?? '';
}

/** Return a descriptor's embedded font: TrueType, OpenType or bare Compact Font Format; null if there is none. */
export function programOf(descriptor: string, objects: PdfObjects): Buffer | null {
  const file = objects.resolve(descriptor, '/FontFile2') ?? objects.resolve(descriptor, '/FontFile3');
  return file === null ? null : objects.stream(file);
}
