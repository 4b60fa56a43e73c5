import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StepRow } from '../api/types.ts';
import { StepNames } from './step_names.ts';

const row = (step_kind: 'training' | 'evaluation', first_number: number, first_step: number, last_step: number) => ({ step_kind, first_number, first_step, last_step }) as StepRow;

function names(): StepNames {
  const steps = new StepNames();
  steps.set([{ process: 1, step_runs: [row('training', 0, 0, 4), row('evaluation', 0, 5, 6), row('training', 5, 7, 9)] }]);
  return steps;
}

test('steps and evaluations have numbers of their own', () => {
  assert.deepEqual([0, 4, 5, 6, 7, 9].map((step) => names().nameOf(step)), ['0', '4', 'evaluation 0', 'evaluation 1', '5', '7']);
});

test('the step that goes on follows those that are over', () => {
  assert.equal(names().nameOf(10), '8');
  assert.equal(new StepNames().nameOf(3), '3');
});

test('a number leads back to the step', () => {
  assert.deepEqual([0, 4, 5, 7, 8].map((number) => names().stepOf(number)), [0, 4, 7, 9, 10]);
});
