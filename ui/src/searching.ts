// Searches: finds events, goes from one to the next, and shows or hides the rest.

import { api, release } from './api/client.ts';
import { toast } from './dom.ts';
import type { Feed } from './feed/feed.ts';
import type { Going } from './going.ts';
import { stepOf } from './model/words/format.ts';
import type { State } from './model/state.ts';

export class Searching {
  private readonly state: State;
  private readonly feed: Feed;
  private readonly going: Going;
  private readonly input: HTMLInputElement;
  private turn = 0;

  /** `input` is the search box. */
  constructor(state: State, feed: Feed, going: Going, input: HTMLInputElement) {
    this.state = state;
    this.feed = feed;
    this.going = going;
    this.input = input;
  }

  async find(asked: string): Promise<void> {
    const { state } = this;
    // A step is a place, not a name: Enter goes there.
    const text = stepOf(asked) === null ? asked : '';
    if (text === '' && state.find === '') return;
    this.turn += 1;
    const turn = this.turn;
    state.find = text;
    state.found = null;
    state.findProblem = null;
    if (text === '') this.show('');
    state.tell('find');
    if (text === '' || !state.run) return;
    // What is still being typed is often no search yet: then nothing else is asked for.
    const problem = await api.searchProblem(text).catch(() => null);
    if (turn !== this.turn) return;
    state.findProblem = problem;
    this.show(problem === null ? text : '');
    if (problem !== null) return state.tell('find');
    const found = await api.find(state.run.run_name, text, state.hiddenShades()).catch(() => null);
    if (turn !== this.turn) return;
    state.found = found;
    state.tell('find');
  }

  /** Shows a search that an address names, or none. */
  async restore(text: string): Promise<void> {
    if (text !== '') return this.find(text);
    this.turn += 1;
    this.state.find = '';
    this.state.found = null;
    this.state.findProblem = null;
    this.show('');
    this.state.tell('find');
  }

  /** Shows what this search finds, brighter than the rest or alone; '': everything. */
  private show(search: string): void {
    const { state } = this;
    state.sought = search;
    if (search === '') this.forgetFound();
    this.feed.wantAll();
  }

  forgetFound(): void {
    const { state } = this;
    release(state.foundPicture);
    release(state.foundOverview);
    state.foundPicture = state.foundOverview = null;
  }

  /** Hides what the search does not find, or shows it again. */
  toggleOnlyFound(): void {
    const { state } = this;
    state.onlyFound = !state.onlyFound;
    this.forgetFound();
    state.tell('find');
    this.feed.wantAll();
  }

  async findStep(direction: 'next' | 'previous'): Promise<void> {
    const { state } = this;
    const step = stepOf(this.input.value);
    if (step !== null) return this.going.goToStep(step);
    // Who types fast presses Enter before the search is shown.
    const wanted = state.find !== '' ? state.find : state.marked;
    if (!state.run || wanted === '') return this.input.focus();
    if (state.findProblem !== null) return toast(state.findProblem);
    const middle = state.event ? state.event.begin_ns : direction === 'next' ? state.window.begin : state.window.end;
    const event = await api.neighbour(state.run.run_name, middle, direction, { find: wanted, hide: state.hiddenShades() }).catch(() => null);
    if (!event && state.found?.event_count === 0 && state.hidden.size > 0) return toast(`Nothing that is not hidden is called “${state.find}”.`);
    if (!event) return toast(state.found?.event_count === 0 ? `Nothing in the timeline is called “${state.find}”.` : direction === 'next' ? 'No hit after this.' : 'No hit before this.');
    await this.going.goToEvent(event, state.find !== '');
  }

  /** Marks what a search finds, and goes to a step; `step` is the process's own number. */
  async goToStepOf(search: string, step: number): Promise<void> {
    await this.find(search);
    await this.going.goToOwnStep(step, 'This step is no longer in the timeline.');
  }
}
