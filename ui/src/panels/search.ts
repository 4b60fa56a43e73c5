// The search box: what is searched for, how much was found, and what may be typed next. It is a combobox as WAI-ARIA
// describes it: the focus stays in the box, and the arrows choose in the list below it.

import { api } from '../api/client.ts';
import type { FindAnswer, SearchField } from '../api/types.ts';
import { kindName } from '../model/looks/colours.ts';
import { grouped, stepOf } from '../model/words/format.ts';
import { completed, fieldSuggestions, partAt, valueSuggestions } from '../model/search.ts';
import type { Suggestion, TypedPart } from '../model/search.ts';
import type { State } from '../model/state.ts';
import { el, fill } from '../dom.ts';

export interface SearchActions {
  find(text: string): void;
  findStep(direction: 'next' | 'previous'): void;
  /** Hides what is not found, or shows it again. */
  toggleOnlyFound(): void;
  /** Gives the focus to the timeline. */
  leave(): void;
}

const kMostShown = 50;

export class SearchBox {
  readonly element: HTMLElement;
  readonly input = el('input', {
    type: 'search', placeholder: 'search  /', 'aria-label': 'Search events', spellcheck: 'false', autocomplete: 'off',
    role: 'combobox', 'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': 'search-list', 'aria-describedby': 'search-problem',
  });
  private readonly found = el('output');
  private readonly only: HTMLButtonElement;
  // Without a tabindex a browser makes a list that scrolls a tab stop, and Tab would go into a list that closes.
  private readonly list = el('ul', { id: 'search-list', role: 'listbox', tabindex: -1, 'aria-label': 'What may be typed' });
  private readonly problem = el('p', { id: 'search-problem', class: 'problem', role: 'status' });
  private readonly popup = el('div', { class: 'search-popup', hidden: true }, this.list, this.problem);
  private readonly state: State;
  private readonly actions: SearchActions;
  private fields: Promise<SearchField[]> | null = null;
  private part: TypedPart | null = null;
  private suggestions: Suggestion[] = [];
  private chosen = -1;
  private turn = 0;

  constructor(state: State, actions: SearchActions) {
    this.state = state;
    this.actions = actions;
    this.only = el('button', { class: 'only', 'aria-pressed': 'false', title: 'hide what is not found (Ctrl Enter)', click: () => actions.toggleOnlyFound() }, 'only');
    this.element = el('div', { class: 'search', role: 'search' }, this.input, this.found, this.only, this.popup);
    const { input } = this;
    input.addEventListener('input', () => {
      actions.find(input.value.trim());
      this.show(); // a step changes nothing that would cause this
      void this.suggest();
    });
    input.addEventListener('keydown', (event) => this.key(event));
    input.addEventListener('focus', () => {
      if (input.value === '') void this.suggest();
      this.showPopup();
    });
    input.addEventListener('click', () => void this.suggest());
    input.addEventListener('blur', () => this.close());
    // The box keeps the focus while somebody clicks in the list.
    this.popup.addEventListener('mousedown', (event) => event.preventDefault());
    state.on('find', () => this.show());
    this.show();
  }

  /** Lets go of the search, and of a step that was typed and not gone to. */
  clear(): void {
    this.input.value = '';
    this.input.blur();
    this.actions.find('');
    this.show();
  }

  private key(event: KeyboardEvent): void {
    const open = this.suggestions.length > 0;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (open) this.choose(this.chosen + (event.key === 'ArrowDown' ? 1 : -1));
      else void this.suggest();
    } else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight' || event.key === 'Home' || event.key === 'End') {
      setTimeout(() => void this.suggest()); // the caret moves after this
    } else if (event.key === 'Escape' && open) {
      this.close();
      event.preventDefault(); // a browser would empty the box
      event.stopPropagation(); // the next one lets go of the search
    } else if (event.key === 'Tab' && !event.shiftKey && open && (this.chosen >= 0 || this.part?.typed !== '')) {
      event.preventDefault();
      this.take(Math.max(this.chosen, 0));
    } else if (event.key === 'Enter') this.enter(event);
  }

  private enter(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey) return this.actions.toggleOnlyFound();
    if (this.chosen >= 0) return this.take(this.chosen);
    if (this.state.findProblem !== null) {
      this.setSuggestions([]);
      return;
    }
    this.actions.findStep(event.shiftKey ? 'previous' : 'next');
    this.actions.leave(); // from here on n and N go to the next and previous
  }

  private async suggest(): Promise<void> {
    const { run } = this.state;
    if (!run) return;
    this.turn += 1;
    const turn = this.turn;
    const part = partAt(this.input.value, this.input.selectionStart ?? this.input.value.length);
    this.fields ??= api.fields(run.run_name);
    const suggestions = await this.suggestionsFor(run.run_name, part).catch(() => []);
    if (turn !== this.turn || document.activeElement !== this.input) return;
    this.part = part;
    // The answer for the last letter may come when somebody has chosen one of the same list already.
    if (this.chosen < 0 || JSON.stringify(suggestions.slice(0, kMostShown)) !== JSON.stringify(this.suggestions)) this.setSuggestions(suggestions);
  }

  private async suggestionsFor(run: string, part: TypedPart): Promise<Suggestion[]> {
    try {
      const fields = await this.fields!;
      if (part.field === null) return fieldSuggestions(part, fields);
      if (!fields.some((one) => one.search_field === part.field)) return [];
    } catch (error) {
      this.fields = null; // it is asked for again
      throw error;
    }
    return valueSuggestions(part, await api.fieldValues(run, part.field, part.typed));
  }

  private setSuggestions(suggestions: Suggestion[]): void {
    this.suggestions = suggestions.slice(0, kMostShown);
    this.chosen = -1;
    fill(this.list, ...this.suggestions.map((one, i) => this.option(one, i)));
    this.list.scrollTop = 0;
    this.showPopup();
  }

  private option(one: Suggestion, i: number): HTMLElement {
    return el(
      'li',
      { id: `search-option-${i}`, role: 'option', 'aria-selected': 'false', click: () => this.take(i) },
      el('b', {}, one.label),
      el('span', { class: 'soft' }, one.detail),
      one.count !== null && el('span', { class: 'number' }, grouped(one.count)),
    );
  }

  /** Beyond either end none is chosen, and then the one at the other end. */
  private choose(i: number): void {
    const n = this.suggestions.length;
    this.list.children[this.chosen]?.setAttribute('aria-selected', 'false');
    this.chosen = i < -1 ? n - 1 : i >= n ? -1 : i;
    const option = this.list.children[this.chosen];
    option?.setAttribute('aria-selected', 'true');
    option?.scrollIntoView({ block: 'nearest' });
    if (option) this.input.setAttribute('aria-activedescendant', option.id);
    else this.input.removeAttribute('aria-activedescendant');
  }

  private take(i: number): void {
    if (!this.part) return;
    const { text, caret } = completed(this.input.value, this.part, this.suggestions[i].insert);
    this.input.value = text;
    this.input.setSelectionRange(caret, caret);
    this.input.dispatchEvent(new Event('input'));
  }

  private close(): void {
    this.turn += 1; // what is on its way comes too late
    this.setSuggestions([]);
    this.popup.hidden = true;
  }

  private showPopup(): void {
    const open = this.suggestions.length > 0;
    // What is typed is seldom whole yet: while there is something to complete it with, that says more.
    const wrong = open ? null : this.state.findProblem;
    const problem = document.activeElement === this.input ? (wrong ?? '') : '';
    if (this.problem.textContent !== problem) this.problem.textContent = problem;
    this.input.setAttribute('aria-invalid', String(wrong !== null));
    this.list.hidden = !open;
    this.problem.hidden = problem === '';
    this.popup.hidden = !open && problem === '';
    this.input.setAttribute('aria-expanded', String(open));
    if (this.chosen < 0) this.input.removeAttribute('aria-activedescendant');
  }

  private show(): void {
    const { found, find, findProblem, onlyFound } = this.state;
    if (document.activeElement !== this.input) this.input.value = find;
    const hiding = this.state.hidden.size > 0;
    const step = stepOf(this.input.value);
    this.found.textContent = step !== null ? '↵' : findProblem !== null ? '?' : find === '' || !found ? '' : foundWords(found, hiding);
    this.found.title = step !== null ? `Enter goes to step ${step}` : (findProblem ?? (found ? foundMeaning(found, hiding) : ''));
    this.only.hidden = find === '';
    this.only.setAttribute('aria-pressed', String(onlyFound));
    this.showPopup();
  }
}

/** How many events n and N lead to. */
function foundWords(found: FindAnswer, hiding: boolean): string {
  if (found.event_count > 0) return grouped(found.event_count);
  if (found.site_ids.length + found.operator_use_ids.length + found.region_ids.length + found.kernel_ids.length === 0) return 'none';
  return hiding ? 'hidden' : 'not held';
}

function foundMeaning(found: FindAnswer, hiding: boolean): string {
  const kinds = found.by_shade_kind.map((one) => `${grouped(one.event_count)} ${kindName(one.shade_kind)}`);
  const seen = `${hiding ? 'not hidden' : 'in the timeline'}${found.exact ? '' : ' at least'}`;
  const held = `${seen}: ${kinds.length === 0 ? 'none' : kinds.join(', ')}`;
  return found.casts_and_cache_hits > 0 ? `${held}. The whole run: ${grouped(found.casts_and_cache_hits)} casts and cache hits` : held;
}
