import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Runs, eachRun } from './bands.ts';
import type { PictureTrack } from './bands.ts';
import { PictureError } from './cursor.ts';
import { decodePicture, kUnknown, nsOfColumn, pictureEnd } from './picture.ts';

/** Writes a picture as the collector does. */
class Writer {
  private readonly bytes: number[] = [];

  put(size: 1 | 2 | 4 | 8, value: number): this {
    let rest = BigInt(value);
    for (let i = 0; i < size; i += 1, rest >>= 8n) this.bytes.push(Number(rest & 255n));
    return this;
  }

  float(size: 4 | 8, value: number): this {
    const view = new DataView(new ArrayBuffer(size));
    if (size === 4) view.setFloat32(0, value, true);
    else view.setFloat64(0, value, true);
    for (let i = 0; i < size; i += 1) this.bytes.push(view.getUint8(i));
    return this;
  }

  header(more: { k?: number; first?: number; columns?: number; tracks?: number; counters?: number; boxes?: number; flags?: number }): this {
    this.put(4, 0x50435343).put(2, 3).put(2, more.k ?? 0).put(8, more.first ?? 0).put(4, more.columns ?? 4);
    this.put(4, more.tracks ?? 0).put(4, more.counters ?? 0).put(4, more.boxes ?? 0);
    return this.put(8, 77).put(8, 5000).put(8, 123).put(8, 40_000_000).put(4, more.flags ?? 0).put(4, 9).put(8, 3);
  }

  words(...values: number[]): this {
    for (const value of values) this.put(2, value);
    while (this.bytes.length % 4 !== 0) this.bytes.push(0);
    return this;
  }

  /** The bands 0 of track 7, in two planes: their bytes. */
  planes(...bytes: number[]): this {
    this.put(4, 7).put(2, 0).put(2, 0).put(4, bytes.length);
    for (const byte of bytes) this.put(1, byte);
    while (this.bytes.length % 4 !== 0) this.bytes.push(0);
    return this;
  }

  done(): ArrayBuffer {
    return new Uint8Array(this.bytes).buffer;
  }
}

test('the header', () => {
  const picture = decodePicture(new Writer().header({ k: 10, first: 2048, columns: 4, flags: 1 | 2 }).done());
  assert.equal(picture.columnNs, 1024);
  assert.equal(nsOfColumn(picture, 2), 4096);
  assert.equal(pictureEnd(picture), 6144);
  assert.deepEqual(
    [picture.revision, picture.newest, picture.events, picture.behindNs, picture.live, picture.coarse, picture.loading, picture.definitions, picture.judgement],
    [77, 5000, 123, 40_000_000, true, true, false, 9, 3],
  );
});

const runsOf = (track: PictureTrack, from?: number, to?: number) => {
  const runs: number[] = [];
  eachRun(track, (...run) => runs.push(...run), from, to);
  return runs;
};

const planesOf = (columns: number, ...bytes: number[]) => decodePicture(new Writer().header({ columns, tracks: 1 }).planes(...bytes).done()).tracks.get(7)![0];

test('a byte for each column: equal columns make a run, empty ones none', () => {
  const track = planesOf(6, 3, 0, 2, 2, 2, 0, 5, 3, 1, 3, 3, 4, 4, 1);
  assert.deepEqual(runsOf(track), [1, 2, 0x0203, 3, 1, 0x0204, 5, 1, 0x0501]);
  assert.deepEqual(runsOf(track, 2, 4), [1, 2, 0x0203, 3, 1, 0x0204]);
  assert.deepEqual(runsOf(track, 4, 5), []);
});

test('one number for all columns', () => {
  assert.deepEqual(runsOf(planesOf(2000, 0, 9, 0, 4)), [0, 2000, 0x0904]);
  assert.deepEqual(runsOf(planesOf(2000, 0, 0, 0, 4)), []);
});

test('two numbers, and a bit for each column', () => {
  const track = planesOf(19, 1, 0, 255, 0b1000_0110, 0b1111_1111, 0b001, 0, 4);
  assert.deepEqual(runsOf(track), [1, 2, 0xff04, 7, 10, 0xff04]);
  assert.deepEqual(runsOf(planesOf(4, 0, 7, 1, 2, 3, 0b0110)), [0, 1, 0x0702, 1, 2, 0x0703, 3, 1, 0x0702]);
});

test('a bit for each column that changes, and the numbers of those', () => {
  const track = planesOf(18, 2, 0b0001_0001, 0b1000_0000, 0b01, 5, 0, 6, 7, 2, 1, 0, 0b10, 3, 4);
  assert.deepEqual(runsOf(track), [0, 4, 0x0503, 15, 1, 0x0603, 16, 1, 0x0703, 17, 1, 0x0704]);
});

test('planes of every form are read as they were meant', () => {
  let seed = 1;
  const below = (n: number) => (seed = (seed * 48271) % 0x7fffffff) % n;
  const bitsOf = (flags: boolean[]) => Array.from({ length: Math.ceil(flags.length / 8) }, (_, i) => flags.slice(i * 8, i * 8 + 8).reduce((byte, flag, bit) => byte | (Number(flag) << bit), 0));
  const forms = [
    (numbers: number[]) => [3, ...numbers],
    (numbers: number[]) => {
      const changes = numbers.map((number, i) => i === 0 || number !== numbers[i - 1]);
      return [2, ...bitsOf(changes), ...numbers.filter((_, i) => changes[i])];
    },
    (numbers: number[]) => [1, 0, 7, ...bitsOf(numbers.map((number) => number === 7))],
  ];
  for (let i = 0; i < 400; i += 1) {
    const columns = below(300) + 1;
    const kinds = [below(3), below(3)];
    const planes = kinds.map((form) => {
      let last = 0;
      return Array.from({ length: columns }, () => (last = below(4) > 0 ? last : form === 2 ? below(2) * 7 : below(3)));
    });
    const read = new Array<number>(columns).fill(0);
    const track = planesOf(columns, ...planes.flatMap((numbers, of) => forms[kinds[of]](numbers)));
    eachRun(track, (first, length, value) => read.fill(value, first, first + length));
    assert.deepEqual(read, planes[0].map((fill, c) => (fill === 0 ? 0 : (fill << 8) | planes[1][c])), `picture ${i}, forms ${kinds}`);
  }
});

test('one reader goes through one band after another', () => {
  const runs = new Runs();
  const lengths = (track: PictureTrack) => {
    const found: number[] = [];
    for (runs.begin(track); runs.next(); ) found.push(runs.end - runs.first);
    return found;
  };
  const changing = planesOf(10, 2, 0b0010_0001, 0, 5, 6, 0, 3);
  assert.deepEqual(lengths(changing), [5, 5]);
  assert.deepEqual(lengths(planesOf(3, 1, 0, 255, 0b101, 0, 4)), [1, 1]);
  assert.deepEqual(lengths(changing), [5, 5]);
  assert.equal(runs.next(), false);
});

test('runs are taken as they are', () => {
  const writer = new Writer().header({ columns: 9, tracks: 2 });
  writer.put(4, 1).put(2, 1).put(2, 0).put(4, 1).words(0, 9, 0xff02);
  writer.put(4, 2).put(2, 1).put(2, 0).put(4, 2).words(0, 1, 0x0103, 5, 4, 0x0104);
  const { tracks } = decodePicture(writer.done());
  assert.deepEqual(runsOf(tracks.get(1)![0]), [0, 9, 0xff02]);
  assert.deepEqual(runsOf(tracks.get(2)![0]), [0, 1, 0x0103, 5, 4, 0x0104]);
  assert.deepEqual(runsOf(tracks.get(2)![0], 1, 6), [5, 4, 0x0104]);
  assert.deepEqual(runsOf(tracks.get(2)![0], 1, 5), []);
});

test('the bands of a track are kept apart', () => {
  const writer = new Writer().header({ columns: 9, tracks: 3 });
  writer.put(4, 1).put(2, 1).put(2, 0).put(4, 1).words(0, 9, 0xff02);
  writer.put(4, 1).put(2, 1).put(2, 1 << 1).put(4, 1).words(2, 1, 0x0103);
  writer.put(4, 1).put(2, 1).put(2, 1 | (2 << 1)).put(4, 1).words(3, 1, 0x0104);
  const bands = decodePicture(writer.done()).tracks.get(1)!;
  assert.deepEqual(bands.map((one) => [one.band, one.coarse]), [[0, false], [1, false], [2, true]]);
  assert.deepEqual(bands.map((one) => runsOf(one)), [[0, 9, 0xff02], [2, 1, 0x0103], [3, 1, 0x0104]]);
});

test('counters and boxes', () => {
  const writer = new Writer().header({ columns: 3, counters: 1, boxes: 2 });
  writer.put(4, 2).put(4, 0).float(8, 1024).words(0, kUnknown, 65534);
  writer.put(4, 5).put(4, 11).float(4, -0.5).float(4, 2.25).put(1, 3).put(1, 2).put(2, 0).put(4, 0);
  writer.put(4, 5).put(4, 12).float(4, 2.5).float(4, 3).put(1, 4).put(1, 1 | 4).put(2, 0).put(4, 0);
  const picture = decodePicture(writer.done());
  assert.deepEqual([picture.counters[0].process, picture.counters[0].top], [2, 1024]);
  assert.deepEqual([...picture.counters[0].values], [0, kUnknown, 65534]);
  const [first, second] = picture.boxes.get(5)!;
  assert.deepEqual([first.subject, first.begin, first.end, first.shade, first.beginsBefore, first.open], [11, -0.5, 2.25, 3, true, false]);
  assert.deepEqual([second.open, second.beginsBefore, second.endsAfter], [true, false, true]);
});

test('a picture that is cut anywhere is refused', () => {
  const writer = new Writer().header({ columns: 3, tracks: 4, counters: 1, boxes: 1 });
  writer.planes(3, 1, 2, 3, 2, 0b011, 4, 5).planes(1, 0, 255, 0b101, 0, 4).planes(0, 1, 0, 4);
  writer.put(4, 8).put(2, 1).put(2, 0).put(4, 1).words(0, 3, 0x0103);
  writer.put(4, 2).put(4, 0).float(8, 1024).words(0, 0, 0);
  writer.put(4, 5).put(4, 11).float(4, 0).float(4, 2).put(1, 3).put(1, 0).put(2, 0).put(4, 0);
  const whole = writer.done();
  decodePicture(whole);
  for (let length = 0; length < whole.byteLength; length += 1)
    assert.throws(() => decodePicture(whole.slice(0, length)), `${length} of ${whole.byteLength} bytes`);
});

test('sizes that do not fit are refused', () => {
  const long = new Writer().header({ columns: 3, tracks: 1 }).put(4, 7).put(2, 1).put(2, 0).put(4, 1).words(2, 2, 5);
  assert.throws(() => decodePicture(long.done()), PictureError);
  const many = new Writer().header({ columns: 3, tracks: 1 }).put(4, 7).put(2, 1).put(2, 0).put(4, 0x7fffffff);
  assert.throws(() => decodePicture(many.done()), PictureError);
  assert.throws(() => decodePicture(new Writer().header({ columns: 65536 }).done()), PictureError);
  assert.throws(() => decodePicture(new Writer().put(4, 1).header({}).done()), PictureError);
});

test('planes that do not fit are refused', () => {
  const refused = (columns: number, ...bytes: number[]) => assert.throws(() => planesOf(columns, ...bytes), PictureError, bytes.join());
  planesOf(3, 2, 0b011, 4, 5, 0, 1);
  refused(3, 4, 1, 0, 1); // no form has this number
  refused(3, 2, 0b010, 4, 0, 1); // the first number is missing
  refused(3, 2, 0b011, 4, 5, 0, 1, 0); // a byte too many
  refused(3, 2, 0b111, 4, 5, 0, 1); // a number too few
  refused(300, 3, 1, 1, 1, 0, 1);
  refused(300, 1, 0, 255, 0b101, 0, 1);
  const third = new Writer().header({ columns: 3, tracks: 1 }).put(4, 7).put(2, 2).put(2, 0).put(4, 0);
  assert.throws(() => decodePicture(third.done()), PictureError);
});

test('whatever the bytes, a picture is refused or its runs lie in it', () => {
  let seed = 7;
  const below = (n: number) => (seed = (seed * 48271) % 0x7fffffff) % n;
  const writer = new Writer().header({ columns: 20, tracks: 3 });
  writer.planes(2, 0b0001_0001, 0b1000_0000, 0b01, 5, 0, 6, 7, 1, 3, 4, 1, 2, 3).planes(1, 0, 255, 9, 9, 9, 0, 4);
  writer.put(4, 8).put(2, 1).put(2, 0).put(4, 2).words(0, 3, 0x0103, 7, 2, 0x0105);
  const whole = new Uint8Array(writer.done());
  let read = 0;
  for (let i = 0; i < 5000; i += 1) {
    const spoilt = whole.slice();
    for (let n = below(3); n >= 0; n -= 1) spoilt[80 + below(whole.length - 80)] = below(256);
    try {
      for (const band of [...decodePicture(spoilt.buffer).tracks.values()].flat())
        eachRun(band, (first, length, value) => assert.ok(first + length <= 20 && Number.isInteger(value)));
      read += 1;
    } catch (error) {
      assert.ok(error instanceof PictureError, String(error));
    }
  }
  assert.ok(read > 500 && read < 4500, `${read}`);
});
