import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Basin } from './basin.ts';

function answer(bytes: number[][], more: { length?: number; byob?: boolean } = {}): Response {
  const parts = bytes.map((part) => new Uint8Array(part));
  const length = more.length ?? parts.reduce((sum, part) => sum + part.length, 0);
  const source = {
    ...(more.byob === false ? {} : { type: 'bytes' as const }),
    pull(controller: ReadableStreamDefaultController | ReadableByteStreamController) {
      const part = parts.shift();
      if (part) controller.enqueue(part);
      else {
        controller.close();
        if ('byobRequest' in controller) controller.byobRequest?.respond(0);
      }
    },
  };
  const body = new ReadableStream(source as UnderlyingByteSource);
  return new Response(body, { headers: { 'Content-Length': String(length) } });
}

const told = async (basin: Basin, one: Response) => {
  const { memory, length } = await basin.read(one);
  return { memory, bytes: [...new Uint8Array(memory, 0, length)] };
};

test('an answer in parts is whole', async () => {
  const { bytes } = await told(new Basin(), answer([[1, 2, 3], [4], [5, 6]]));
  assert.deepEqual(bytes, [1, 2, 3, 4, 5, 6]);
});

test('memory that was given back is used again', async () => {
  const basin = new Basin();
  const first = await told(basin, answer([[9, 9, 9]]));
  basin.give(first.memory);
  const second = await told(basin, answer([[1, 2]]));
  assert.equal(first.memory.byteLength, 0); // it went along
  assert.deepEqual(second.bytes, [1, 2]);
});

test('memory that is still read is left alone', async () => {
  const basin = new Basin();
  const first = await told(basin, answer([[9, 9, 9]]));
  await told(basin, answer([[1, 2]]));
  assert.deepEqual([...new Uint8Array(first.memory, 0, 3)], [9, 9, 9]);
});

test('what is larger than what is free gets its own', async () => {
  const basin = new Basin();
  basin.give((await told(basin, answer([[1]]))).memory);
  const large = await told(basin, answer([Array.from({ length: 300_000 }, (_, i) => i & 255)]));
  assert.equal(large.bytes.length, 300_000);
  assert.equal(large.bytes[299_999], 299_999 & 255);
});

test('where the browser cannot, it is read all the same', async () => {
  const { bytes } = await told(new Basin(), answer([[1, 2], [3]], { byob: false }));
  assert.deepEqual(bytes, [1, 2, 3]);
});

test('an answer that is cut short is an error', async () => {
  await assert.rejects(told(new Basin(), answer([[1, 2]], { length: 5 })));
});
