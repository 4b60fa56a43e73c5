import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PictureError, decodePicture, eachRun, kUnknown, nsOfColumn, pictureEnd } from './picture.ts';
import type { PictureTrack } from './picture.ts';

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
    this.put(4, 0x50435343).put(2, 2).put(2, more.k ?? 0).put(8, more.first ?? 0).put(4, more.columns ?? 4);
    this.put(4, more.tracks ?? 0).put(4, more.counters ?? 0).put(4, more.boxes ?? 0);
    return this.put(8, 77).put(8, 5000).put(8, 123).put(8, 40_000_000).put(4, more.flags ?? 0).put(4, 9).put(8, 3);
  }

  words(...values: number[]): this {
    for (const value of values) this.put(2, value);
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

test('of columns told one by one those are runs that are not empty', () => {
  const writer = new Writer().header({ columns: 5, tracks: 1 });
  writer.put(4, 7).put(2, 0).put(2, 1).put(4, 5).words(0, 0x0203, 0x0203, 0, 0x0501);
  const [track] = decodePicture(writer.done()).tracks.get(7)!;
  assert.deepEqual(runsOf(track), [1, 1, 0x0203, 2, 1, 0x0203, 4, 1, 0x0501]);
  assert.deepEqual(runsOf(track, 2, 4), [2, 1, 0x0203]);
  assert.equal(track.coarse, true);
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
  const writer = new Writer().header({ columns: 3, tracks: 1, counters: 1, boxes: 1 });
  writer.put(4, 7).put(2, 0).put(2, 0).put(4, 3).words(1, 2, 3);
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
  assert.throws(() => decodePicture(new Writer().put(4, 1).header({}).done()), PictureError);
});
