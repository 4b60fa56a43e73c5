// Reads large answers into memory that is reused. Pictures of some hundred kB come many times a second: as garbage they
// would add up to hundreds of MB before the browser collects them.

const kGrain = 128 << 10;
const kKept = 4;

export interface Bytes {
  memory: ArrayBuffer;
  length: number;
}

export class Basin {
  private readonly free: ArrayBuffer[] = [];

  /** Reads the whole body. Callers give its memory back when nobody reads it any more. */
  async read(answer: Response): Promise<Bytes> {
    const length = Number(answer.headers.get('Content-Length') ?? NaN);
    const reader = Number.isFinite(length) ? readerOf(answer) : null;
    if (reader === null) {
      const memory = await answer.arrayBuffer();
      return { memory, length: memory.byteLength };
    }
    let memory = this.take(length);
    let filled = 0;
    while (filled < length) {
      // The memory goes along with each read, and comes back in another buffer.
      const { value } = await reader.read(new Uint8Array(memory, filled, length - filled));
      if (!value || value.byteLength === 0) throw new TypeError('The answer was cut short.');
      memory = value.buffer;
      filled += value.byteLength;
    }
    void reader.cancel();
    return { memory, length };
  }

  give(memory: ArrayBuffer): void {
    if (memory.byteLength > 0 && memory.byteLength % kGrain === 0 && this.free.length < kKept) this.free.push(memory);
  }

  private take(length: number): ArrayBuffer {
    const fits = this.free.findIndex((memory) => memory.byteLength >= length);
    if (fits >= 0) return this.free.splice(fits, 1)[0];
    this.free.shift(); // too small: the answers that are asked for grow
    return new ArrayBuffer(Math.max(Math.ceil(length / kGrain), 1) * kGrain);
  }
}

/** null: this browser cannot read into memory that it is given. */
function readerOf(answer: Response): ReadableStreamBYOBReader | null {
  try {
    return answer.body?.getReader({ mode: 'byob' }) ?? null;
  } catch {
    return null;
  }
}
