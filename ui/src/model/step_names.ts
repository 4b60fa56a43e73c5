// The numbers of steps as people count them. A process numbers its steps and its evaluations together; people count
// each for itself, as the header and the reports do.

import type { ProcessSteps } from '../api/types.ts';

interface Stretch {
  first: number;
  last: number;
  firstNumber: number;
  isEvaluation: boolean;
}

export class StepNames {
  /** In order; all processes of a run evaluate at the same steps, so that the first one speaks for all. */
  private stretches: readonly Stretch[] = [];

  set(processes: readonly ProcessSteps[]): void {
    const rows = processes[0]?.step_runs ?? [];
    this.stretches = rows.map((row) => ({ first: row.first_step, last: row.last_step, firstNumber: row.first_number, isEvaluation: row.step_kind === 'evaluation' }));
  }

  clear(): void {
    this.stretches = [];
  }

  /** "12", or "evaluation 3". `step` is the process's own number. */
  nameOf(step: number): string {
    let low = 0;
    let high = this.stretches.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.stretches[middle].last < step) low = middle + 1;
      else high = middle;
    }
    const stretch = this.stretches[low];
    // A step that goes on is in no stretch yet.
    if (!stretch || stretch.first > step) return String(step - this.evaluationsBefore(step));
    const number = stretch.firstNumber + step - stretch.first;
    return stretch.isEvaluation ? `evaluation ${number}` : String(number);
  }

  /** The process's own number of the step that people call `number`. */
  stepOf(number: number): number {
    const stretch = this.stretches.find((one) => !one.isEvaluation && number >= one.firstNumber && number <= one.firstNumber + one.last - one.first);
    return stretch ? stretch.first + number - stretch.firstNumber : number + this.evaluationsBefore(Infinity);
  }

  private evaluationsBefore(step: number): number {
    return this.stretches.reduce((sum, one) => sum + (one.isEvaluation && one.last < step ? one.last - one.first + 1 : 0), 0);
  }
}
