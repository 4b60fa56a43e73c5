// Reads numbers from an answer, one after another. Data from the network are trusted only as far as they fit.

export class PictureError extends Error {}

export class Cursor {
  readonly view: DataView;
  readonly bytes: Uint8Array;
  at = 0;

  constructor(data: ArrayBuffer, length: number) {
    this.view = new DataView(data, 0, length);
    this.bytes = new Uint8Array(data, 0, length);
  }

  /** Returns where these bytes begin, and goes on behind them. */
  take(bytes: number): number {
    const from = this.at;
    if (from + bytes > this.view.byteLength) throw new PictureError('The picture is cut short.');
    this.at = from + bytes;
    return from;
  }

  pad(): void {
    this.at = Math.min((this.at + 3) & ~3, this.view.byteLength);
  }

  /** All sizes up to here are multiples of 4 bytes, and every machine with a browser is little-endian. */
  u16s(count: number): Uint16Array {
    return new Uint16Array(this.view.buffer as ArrayBuffer, this.take(count * 2), count);
  }
}
