import DOMMatrix from '@thednp/dommatrix';
import type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist';

export type PdfJs = typeof import('pdfjs-dist');
export type PdfDocument = PDFDocumentProxy;
export type PdfPage = PDFPageProxy;

let loaded: Promise<PdfJs> | null = null;

/** Load pdf.js and its worker, which then runs in this thread. No module is loaded afterwards. */
export function loadPdfJs(): Promise<PdfJs> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<PdfJs> {
  // pdf.js computes with this browser class. It also warns that `Path2D` is missing, which only drawing needs.
  Object.assign(globalThis, { DOMMatrix });
  // Once loaded, pdf.js uses this module in this thread.
  // @ts-expect-error the packed builds have no types of their own
  await import('pdfjs-dist/legacy/build/pdf.worker.min.mjs');
  // @ts-expect-error as above
  return (await import('pdfjs-dist/legacy/build/pdf.min.mjs')) as PdfJs;
}
