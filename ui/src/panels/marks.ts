// The marked moments: a name for each, the way there, and the way out.

import { moment } from '../model/words/format.ts';
import type { Mark } from '../model/time/marks.ts';
import type { State } from '../model/state.ts';
import { el, fill } from '../dom.ts';

export class MarkList {
  readonly element = el('div');
  private readonly state: State;
  private readonly go: (mark: Mark) => void;

  constructor(state: State, go: (mark: Mark) => void) {
    this.state = state;
    this.go = go;
    state.on('marks', () => this.draw());
    this.draw();
  }

  private draw(): void {
    const { marks } = this.state;
    // Whoever types a name is not interrupted: the list has what is typed already.
    if (this.element.contains(document.activeElement) && document.activeElement instanceof HTMLInputElement) return;
    if (marks.length === 0) return fill(this.element);
    fill(this.element, el('h3', {}, 'Marks'), el('ul', { class: 'marks' }, ...marks.map((mark) => this.line(mark))));
  }

  private line(mark: Mark): HTMLElement {
    const name = el('input', { class: 'field', value: mark.name, 'aria-label': `Name of the mark at ${moment(mark.at - this.state.whole.begin)} s`, maxlength: 60 });
    name.addEventListener('input', () => {
      mark.name = name.value;
      this.state.tell('marks');
    });
    const remove = () => {
      this.state.marks = this.state.marks.filter((one) => one !== mark);
      this.state.tell('marks');
    };
    return el(
      'li',
      { class: 'row' },
      name,
      el('button', { class: 'link mono', title: 'go there', click: () => this.go(mark) }, `${moment(mark.at - this.state.whole.begin)} s`),
      el('button', { class: 'icon-button', 'aria-label': `Remove the mark ${mark.name}`, click: remove }, '×'),
    );
  }
}
