/** Decoder of an encoding, with the interface of `TextDecoder`. */
export interface Decoder {
  /** Label of the encoding. */
  readonly encoding: string;
  /** Decode bytes; with `stream`, a character may continue in the next call. Bad bytes become U+FFFD. */
  decode(bytes?: Uint8Array, options?: { readonly stream?: boolean }): string;
}
