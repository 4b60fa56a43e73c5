import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromFragment, kPlain, toFragment, visitOf } from './url_state.ts';
import type { ViewState } from './url_state.ts';

const everything: ViewState = {
  run: 'a-1b',
  range: { begin: 1_234_567_890_123, end: 1_234_567_999_999 },
  following: true,
  colourBy: 'cause',
  hidden: ['kind.cache_hit', 'cause.explicit to()'],
  collapsed: ['p1', 'p2.3'],
  order: ['p2', 'p1.2'],
  pinned: ['p2.1'],
  filter: 'rank 0 & more',
  find: 'layer_norm #3 ~ä',
  onlyFound: true,
  selection: { begin: 5, end: 900, tracks: [3, 4] },
  compareWith: 'b-2',
  firstStretch: { begin: 7, end: 20, tracks: null },
  tables: [['sites', 'bytes|down|module|a|b & c']],
  event: { track: 7, at: 123_456_789 },
  tab: 'source',
  below: 'modules',
  finding: '0123456789abcdef',
  workList: { order: 'saving', filter: 'weight | a', hideDone: true },
  flame: { of: 'operators', measure: 'bytes', range: 'shown', ownCode: false, sandwich: true, zoomed: ['frame 12', 'casts 3'] },
  source: { file: '/home/you/a b/model:v2.py', line: 41 },
  marks: [{ at: 5, name: 'slow | step' }, { at: 9, name: '2' }],
  measure: { from: 7, to: 3 },
  sql: "SELECT '#&=' FROM v_sites\n-- é",
  theme: 'system',
};

test('a view comes back from its address as it was', () => {
  assert.deepEqual(fromFragment(`#${toFragment(everything)}`), everything);
  assert.deepEqual(fromFragment(toFragment(kPlain)), kPlain);
});

test('a plain view names its colours alone: the reader of a link may have chosen others', () => {
  assert.equal(toFragment(kPlain), 'by=kind');
});

test('what the address leaves out is as the reader likes it', () => {
  const liked = { colourBy: 'dtype', theme: 'dark' } as const;
  assert.deepEqual(fromFragment('#run=x', liked), { ...kPlain, ...liked, run: 'x' });
  assert.equal(fromFragment('#by=cause', liked).colourBy, 'cause');
  assert.equal(fromFragment('#theme=light', liked).theme, 'light');
});

test('another panel, finding, event or place in the source is a visit; a move is none', () => {
  const at = visitOf(kPlain);
  assert.equal(visitOf({ ...kPlain, range: { begin: 1, end: 2 }, colourBy: 'cost', find: 'q' }), at);
  for (const other of [{ tab: 'sites' }, { finding: 'f' }, { event: { track: 1, at: 2 } }, { source: { file: 'a', line: 1 } }] as const)
    assert.notEqual(visitOf({ ...kPlain, ...other }), at);
});

test('what makes no sense is left out, the rest is kept', () => {
  const view = fromFragment('#run=x&t=9~3&by=shape&tab=nothing&area=a~b&event=1&theme=pink&find=q');
  assert.deepEqual(view, { ...kPlain, run: 'x', find: 'q' });
});

test('a file without a line', () => {
  const view = { ...kPlain, source: { file: '/a.py', line: null } };
  assert.deepEqual(fromFragment(toFragment(view)).source, view.source);
});
