// What runs are told apart by: when they began, what was run, how they ended.

import type { RunEntry, RunState } from '../../api/types.ts';

const kSignals: Record<number, string> = { 1: 'SIGHUP', 2: 'SIGINT', 6: 'SIGABRT', 9: 'SIGKILL', 11: 'SIGSEGV', 15: 'SIGTERM' };

function signalName(signal: number): string {
  return kSignals[signal] ?? `signal ${signal}`;
}

export const kStates: Record<RunState, string> = { live: 'live', finished: 'finished', lost: 'lost: its end was not seen', loading: 'being read', gone: 'its file is gone' };

/** "killed by SIGKILL", "failed: exit status 1"; null: the job did not fail, as far as is known. */
export function failureOf(run: Pick<RunEntry, 'exit_status' | 'signal'>): string | null {
  if (run.signal !== null) return `killed by ${signalName(run.signal)}`;
  return run.exit_status !== null && run.exit_status !== 0 ? `failed: exit status ${run.exit_status}` : null;
}

/** "killed by SIGKILL", "failed: exit status 1", "finished" */
export function endingOf(run: Pick<RunEntry, 'run_state' | 'exit_status' | 'signal'>): string {
  if (run.run_state === 'gone' || run.run_state === 'live') return kStates[run.run_state];
  return failureOf(run) ?? kStates[run.run_state];
}

/** Paths are shortened to their last part: what differs between runs stands behind them. */
export function shortCommand(command: readonly string[]): string {
  return command.map((word) => (word.startsWith('/') ? word.slice(word.lastIndexOf('/') + 1) : word)).join(' ');
}

/** "28 Nov 11:07:00", by the reader's clock. */
export function startOf(start: string | null): string {
  if (start === null) return '';
  const date = new Date(start);
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  return `${day} ${date.toLocaleTimeString('en-GB')}`;
}

/** "+12 %", "−3 %", "the same" */
export function changeOf(before: number, after: number): string {
  if (before === after) return 'the same';
  if (before === 0) return 'new';
  const percent = ((after - before) / before) * 100;
  const size = Math.abs(percent);
  const text = size >= 10 ? size.toFixed(0) : size.toFixed(1);
  return `${percent > 0 ? '+' : '−'}${text} %`;
}
