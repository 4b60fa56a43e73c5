import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FindingMarks } from './finding_marks.ts';
import { findingOf } from '../testing.ts';
import { TimeScale } from '../time/time_window.ts';

const at = (fingerprint: string, first_event_ns: number | null, track: number | null = 1) => findingOf({ fingerprint, first_event_ns, track });
// A ns is a px.
const scale = new TimeScale({ begin: 0, end: 1000 }, 1000);
const shown = (marks: { x: number; findings: { fingerprint: string }[] }[]) => marks.map((mark) => `${mark.x}: ${mark.findings.map((one) => one.fingerprint).join(' ')}`);

test('marks that would cover each other become one, the most severe finding first', () => {
  const marks = new FindingMarks([at('severe', 120), at('mild', 100), at('far', 500)]);
  assert.deepEqual(shown(marks.onTrack(1, scale)), ['100: severe mild', '500: far']);
});

test('each row has its own, the minimap has all', () => {
  const marks = new FindingMarks([at('a', 100), at('b', 600, 2)]);
  assert.deepEqual([...marks.tracks()], [1, 2]);
  assert.deepEqual(shown(marks.onTrack(2, scale)), ['600: b']);
  assert.deepEqual(shown(marks.onAll(scale)), ['100: a', '600: b']);
});

test('what is out of sight, or not in the timeline, has no mark', () => {
  const marks = new FindingMarks([at('before', -100), at('after', 2000), at('never', null), at('here', 10)]);
  assert.deepEqual(shown(marks.onAll(scale)), ['10: here']);
});
