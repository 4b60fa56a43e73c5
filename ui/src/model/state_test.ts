import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run, RunState } from '../api/types.ts';
import { State } from './state.ts';

function stateOf(run: RunState, newest = 60e9): State {
  const state = new State();
  const totals = { casts: 1, cache_hits: 0, pass_throughs: 0, event_count: 100, events_lost: 0, finding_count: 0, step_count: 1, evaluation_count: 0, compiled_casts: 0, other_casts: 0 };
  state.run = {
    run_name: 'a', run_file: null, command: [], cwd: '', root: null, host: '', castscope_version: '', start: '2026-11-18T11:06:40.000Z', run_state: run,
    loaded: 1, end_ns: null, exit_status: null,
  signal: null, complete: true, damage: null, notices: [], totals, processes: [],
    tracks: [],
    shades: [
      { shade: 1, track_kind: 'casts', shade_kind: 'down', shade_dtype: 'bfloat16', cause: 'autocast' },
      { shade: 2, track_kind: 'casts', shade_kind: 'cache_hit', shade_dtype: 'bfloat16', cause: 'autocast' },
      { shade: 3, track_kind: 'casts', shade_kind: 'up', shade_dtype: 'float32', cause: 'user_to' },
    ],
    events_begin_ns: 0, events_end_ns: newest, revision: 1, definition_count: 0, judgement: 0,
  } satisfies Run;
  return state;
}

test('a followed window ends at the live edge and keeps its length', () => {
  const state = stateOf('live');
  state.follow();
  state.clock.told(60e9, 10e6, 1000);
  assert.equal(state.advance(1000), true);
  const length = state.window.end - state.window.begin;
  state.advance(1016);
  assert.ok(state.window.end > 60e9 && Math.abs(state.window.end - state.window.begin - length) < 1);
});

test('any move by hand pauses; what comes then is counted as new', () => {
  const state = stateOf('live');
  state.follow();
  state.clock.told(60e9, 0, 0);
  state.advance(0);
  state.show({ begin: 10e9, end: 20e9 }, 0);
  assert.equal(state.following, false);
  assert.equal(state.eventsSeen, 100);
  state.run!.totals.event_count = 1304;
  assert.equal(state.events - state.eventsSeen, 1204);
});

test('only a live run can be followed, and following ends with it where one looked last', () => {
  const finished = stateOf('finished');
  finished.follow();
  assert.equal(finished.following, false);
  const state = stateOf('live');
  state.follow();
  state.clock.told(60e9, 0, 0);
  state.advance(0);
  const { begin } = state.window;
  state.run!.run_state = 'finished';
  state.ended();
  assert.equal(state.following, false);
  assert.ok(Math.abs(state.window.begin - begin) < 1e9);
});

test('Backspace goes back, 0 shows all', () => {
  const state = stateOf('finished');
  state.window = state.allWindow();
  const all = state.window;
  state.show({ begin: 10e9, end: 20e9 }, 1000);
  state.back();
  assert.deepEqual(state.window, all);
  state.show({ begin: 10e9, end: 20e9 }, 5000);
  state.showAll(9000);
  assert.deepEqual(state.window, all);
  assert.equal(state.viewState().range, null);
});

test('what is hidden is told as shades', () => {
  const state = stateOf('finished');
  state.hidden.add('kind.cache_hit');
  assert.deepEqual(state.hiddenShades(), [2]);
  state.hidden.add('cause.user_to');
  assert.deepEqual(state.hiddenShades(), [2, 3]);
});

test('a view that was left is found again', () => {
  const state = stateOf('finished');
  state.show({ begin: 10e9, end: 20e9 }, 0);
  state.hidden.add('kind.cache_hit');
  state.pinned = ['p1.1'];
  const other = stateOf('finished');
  other.take(state.viewState());
  assert.deepEqual(other.viewState(), state.viewState());
});

test('what needs a whole run waits until its file is read, and gives way to what is asked for after it', async () => {
  const state = stateOf('loading');
  const first = state.read();
  const second = state.read();
  state.tell('run');
  assert.equal(await first, false);
  state.run = { ...state.run!, run_state: 'finished' };
  state.tell('run');
  assert.equal(await second, true);
  assert.equal(await state.read(), true);
});

test('what waits for the file is given up when something is chosen by hand', async () => {
  const state = stateOf('loading');
  const read = state.read();
  state.stopReading();
  assert.equal(await read, false);
});

test('what is asked for before there is a run waits for it', async () => {
  const state = new State();
  const read = state.read();
  state.tell('run');
  state.run = stateOf('live').run;
  state.tell('run');
  assert.equal(await read, true);
});
