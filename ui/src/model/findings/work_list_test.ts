import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from '../../api/types.ts';
import { findingOf } from '../testing.ts';
import { isOpenAtFirst, kFewFindings, workList } from './work_list.ts';

const findings: Finding[] = [
  findingOf({ fingerprint: 'a', rule: 'lossy', severity: 'error', line: 9, first_event_ns: 50 }),
  findingOf({ fingerprint: 'b', rule: 'again', severity: 'performance', line: 20, saved: 5, first_event_ns: 10 }),
  findingOf({ fingerprint: 'c', rule: 'again', severity: 'performance', line: 3, saved: 70, first_event_ns: null }),
];
const plain = { order: 'severity', filter: '', hideDone: false } as const;
const shown = (look: object, done: string[] = []) =>
  workList(findings, new Set(done), { ...plain, ...look }).map((group) => `${group.rule}: ${group.findings.map((one) => one.fingerprint).join(' ')}`);

test('findings stand by rule, as they come', () => {
  assert.deepEqual(shown({}), ['lossy: a', 'again: b c']);
});

test('by saving, time and place, groups and what is in them', () => {
  assert.deepEqual(shown({ order: 'saving' }), ['again: c b', 'lossy: a']);
  assert.deepEqual(shown({ order: 'time' }), ['again: b c', 'lossy: a']);
  assert.deepEqual(shown({ order: 'place' }), ['again: c b', 'lossy: a']);
});

test('the filter wants every word, in any part of a finding', () => {
  assert.deepEqual(shown({ filter: 'again model.py:20' }), ['again: b']);
  assert.deepEqual(shown({ filter: 'ERROR' }), ['lossy: a']);
  assert.deepEqual(shown({ filter: 'again nothing' }), []);
});

test('what is done can be left out', () => {
  assert.deepEqual(shown({}, ['a', 'b']), ['lossy: a', 'again: b c']);
  assert.deepEqual(shown({ hideDone: true }, ['a', 'b']), ['again: c']);
});

test('a group tells what all of it would save', () => {
  assert.equal(workList(findings, new Set(), plain)[1].savedNs, 75);
});

test('in a long list, large groups are closed at first', () => {
  const group = { rule: 'r', severity: 'info', findings: Array<Finding>(6).fill(findings[0]), savedNs: 0 } as const;
  assert.ok(isOpenAtFirst(group, kFewFindings));
  assert.ok(!isOpenAtFirst(group, kFewFindings + 1));
  assert.ok(isOpenAtFirst({ ...group, findings: [findings[0]] }, 1000));
});
