// The keys and the mouse on one page, made from the same list that the keys are looked up in.

import { kKeys, shownKey } from '../model/keymap.ts';
import { el } from '../dom.ts';
import { openDialog } from './dialog.ts';

const kMouse: [string, string][] = [
  ['wheel', 'scroll lanes; sideways pans'],
  ['Ctrl + wheel', 'zoom at the pointer'],
  ['drag in lanes', 'select an area and sum it up'],
  ['Shift + drag', 'pan (the middle button too)'],
  ['drag in ruler', 'zoom to a range; with the focus, Shift ← → and Enter'],
  ['click', 'details of an event'],
  ['double-click', 'fit an event to the screen'],
  ['minimap', 'drag the window or its ends; with the focus, ← → Home End'],
  ['a mark ▼', 'the finding at this place'],
  ['drag a name', 'move a lane or a process (Alt ↑ ↓ too)'],
];

const kSearch: [string, string][] = [
  ['linear bf16', 'both words, in anything that the page prints'],
  ['cause:user_to', 'a field: cause, role, dtype, from, to, module, model, op, argument, weight, rule, file, function, stack, kind, phase, cache, region'],
  ['module:encoder', 'a module, and the modules in it'],
  ['op:mm,add*', 'one of several values; * is any text'],
  ['-role:weight', 'not that'],
  ['"autocast cpu"', 'with its blanks'],
  ['step 12', 'Enter goes there'],
  ['Ctrl Enter', 'in the box: hides what is not found'],
];

export function openHelp(): void {
  const lines = (rows: [Node[], string][]) => el('dl', {}, ...rows.flatMap(([keys, says]) => [el('dt', {}, ...keys), el('dd', {}, says)]));
  const keys = (group: string) =>
    lines(
      kKeys
        .filter((line) => line.group === group)
        .map((line) => [line.keys.flatMap((key, i) => [document.createTextNode(i > 0 ? ' ' : ''), el('kbd', {}, shownKey(key))]), line.says]),
    );
  const section = (title: string, body: HTMLElement) => el('section', {}, el('h3', {}, title), body);
  const dialog = openDialog(
    'Keys and mouse',
    el(
      'div',
      { class: 'columns' },
      section('Move', keys('Move')),
      section('Find', keys('Find')),
      section('Search', lines(kSearch.map(([what, says]) => [[el('span', { class: 'mono' }, what)], says]))),
      section('Look', keys('Look')),
      section('Mouse', lines(kMouse.map(([what, says]) => [[el('span', {}, what)], says]))),
    ),
  );
  dialog.addEventListener('keydown', (event) => {
    if (event.key === '?') dialog.close();
  });
}
