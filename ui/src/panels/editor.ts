// The choice of an editor, which this browser keeps, and links into it.

import { keep, kept } from '../kept.ts';
import { choiceOf, choiceText, editorAddress, kEditorNames, kEditors, whatIsWrong } from '../model/words/editor.ts';
import type { Editor, EditorChoice } from '../model/words/editor.ts';
import { place } from '../model/words/format.ts';
import type { State } from '../model/state.ts';
import { el, fill } from '../dom.ts';

/** What is kept; a browser that keeps nothing has no editor. */
export const keptEditor = (): EditorChoice => choiceOf(kept('editor'));

function choose(state: State, choice: EditorChoice): void {
  state.editor = choice;
  keep('editor', choiceText(choice));
  state.tell('editor');
}

/** A small link to this place in the editor; false: there is none. */
export function editorLink(state: State, at: { file: string | null; line: number | null }, text = '↗'): HTMLElement | false {
  const root = state.run?.root ?? null;
  const address = editorAddress(state.editor, at, root);
  if (address === null) return false;
  const name = `Open ${place(at, state.run?.cwd ?? '')} in ${state.editor.editor === 'own' ? 'the editor' : kEditorNames[state.editor.editor]}`;
  return el('a', { class: 'editor-link', href: address, title: name, 'aria-label': name }, text);
}

/** The choice, with a box for a template of one's own. */
export function editorChoice(state: State): HTMLElement {
  const box = el('span', { class: 'row editor-choice' });
  const draw = () => {
    const { editor, template } = state.editor;
    const choice = el('select', { class: 'field', 'aria-label': 'Open places in' }, ...kEditors.map((one) => el('option', { value: one, selected: one === editor }, kEditorNames[one])));
    choice.addEventListener('change', () => {
      choose(state, { editor: choice.value as Editor, template });
      draw();
    });
    const wrong = el('span', { class: 'warn', role: 'status' }, editor === 'own' ? whatIsWrong(template) : '');
    const input = el('input', { class: 'field mono', value: template, placeholder: 'emacs://open?url=file://{path}&line={line}', 'aria-label': 'Template of links', spellcheck: 'false' });
    input.addEventListener('input', () => {
      choose(state, { editor, template: input.value.trim() });
      wrong.textContent = whatIsWrong(state.editor.template);
    });
    fill(box, el('span', { class: 'soft' }, 'open in'), choice, editor === 'own' && input, editor === 'own' && wrong);
  };
  draw();
  return box;
}
