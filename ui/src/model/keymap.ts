// Which key does what. There is one list: the keys are looked up in it, and the help page shows it.

export type Action =
  | 'zoomIn' | 'zoomOut' | 'panLeft' | 'panRight'
  | 'scrollUp' | 'scrollDown' | 'pageUp' | 'pageDown'
  | 'all' | 'back' | 'follow' | 'measure' | 'colours' | 'theme'
  | 'search' | 'searchNext' | 'searchPrevious' | 'findingNext' | 'findingPrevious' | 'siteNext' | 'sitePrevious'
  | 'eventNext' | 'eventPrevious' | 'fitEvent' | 'alongFlow' | 'selectWindow' | 'list' | 'filterLanes' | 'side' | 'copyLink'
  | 'mark' | 'stepBefore' | 'stepAfter'
  | 'help' | 'escape';

export interface KeyLine {
  keys: string[];
  /** The key at this place of the keyboard, whatever letter a layout has there: W A S D lie together everywhere. */
  code?: string;
  action: Action;
  says: string;
  group: 'Move' | 'Find' | 'Look';
}

export const kKeys: readonly KeyLine[] = [
  { code: 'KeyW', keys: ['w', '+'], action: 'zoomIn', says: 'come nearer, at the pointer (hold it)', group: 'Move' },
  { code: 'KeyS', keys: ['s', '-'], action: 'zoomOut', says: 'go farther', group: 'Move' },
  { code: 'KeyA', keys: ['a', 'ArrowLeft'], action: 'panLeft', says: 'earlier', group: 'Move' },
  { code: 'KeyD', keys: ['d', 'ArrowRight'], action: 'panRight', says: 'later', group: 'Move' },
  { keys: ['ArrowUp'], action: 'scrollUp', says: 'lanes above', group: 'Move' },
  { keys: ['ArrowDown'], action: 'scrollDown', says: 'lanes below', group: 'Move' },
  { keys: ['PageUp'], action: 'pageUp', says: 'a page of lanes up', group: 'Move' },
  { keys: ['PageDown'], action: 'pageDown', says: 'a page of lanes down', group: 'Move' },
  { keys: ['0'], action: 'all', says: 'show the whole run', group: 'Move' },
  { keys: ['Backspace'], action: 'back', says: 'back to where you were', group: 'Move' },
  { keys: ['f'], action: 'follow', says: 'follow the run live; any move pauses', group: 'Move' },
  { keys: ['/'], action: 'search', says: 'search: words, or fields such as cause: and module:', group: 'Find' },
  { keys: ['n'], action: 'searchNext', says: 'next hit, or next event of the chosen finding', group: 'Find' },
  { keys: ['N'], action: 'searchPrevious', says: 'previous one', group: 'Find' },
  { keys: ['j'], action: 'findingNext', says: 'next finding', group: 'Find' },
  { keys: ['k'], action: 'findingPrevious', says: 'previous finding', group: 'Find' },
  { keys: [']'], action: 'siteNext', says: 'next event of the same site', group: 'Find' },
  { keys: ['['], action: 'sitePrevious', says: 'previous event of the same site', group: 'Find' },
  { keys: ['.'], action: 'eventNext', says: 'next event of the lane', group: 'Find' },
  { keys: [','], action: 'eventPrevious', says: 'previous event of the lane', group: 'Find' },
  { keys: ['Enter'], action: 'fitEvent', says: 'fit the chosen event to the screen', group: 'Find' },
  { keys: ['g'], action: 'alongFlow', says: 'along the flow: to what launched a kernel, took a cast, filled the cache; and back', group: 'Find' },
  { keys: ['m'], action: 'measure', says: 'measure: from here to the next click', group: 'Look' },
  { keys: ['M'], action: 'mark', says: 'set a mark at the pointer; the tab Selection names it, the ruler leads to it', group: 'Look' },
  { keys: ['>'], action: 'stepAfter', says: 'compare this step with the next one; again: go on by one', group: 'Look' },
  { keys: ['<'], action: 'stepBefore', says: 'compare this step with the one before it', group: 'Look' },
  { keys: ['c'], action: 'colours', says: 'colour by kind, dtype, cause, cost', group: 'Look' },
  { keys: ['e'], action: 'selectWindow', says: 'sum up what is on the screen; of one lane, when its name has the focus', group: 'Look' },
  { keys: ['l'], action: 'list', says: 'what is on the screen as a list', group: 'Look' },
  { keys: ['L'], action: 'filterLanes', says: 'filter lanes by name', group: 'Look' },
  { keys: ['p'], action: 'side', says: 'fold the panel away', group: 'Look' },
  { keys: ['t'], action: 'theme', says: 'light, dark, or as the system', group: 'Look' },
  { keys: ['y'], action: 'copyLink', says: 'copy a link to this place', group: 'Look' },
  { keys: ['?'], action: 'help', says: 'these keys', group: 'Look' },
  { keys: ['Escape'], action: 'escape', says: 'let go of selection, measure, search', group: 'Look' },
];

export const kHeld: ReadonlySet<Action> = new Set(['zoomIn', 'zoomOut', 'panLeft', 'panRight']);

export interface KeyStroke {
  key: string;
  /** Its place on the keyboard, as in KeyboardEvent.code. */
  code: string;
  ctrl: boolean;
  meta: boolean;
  alt: boolean;
  /** Somebody is typing text. */
  typing: boolean;
}

export function actionOf(stroke: KeyStroke): Action | null {
  if (stroke.ctrl || stroke.meta || stroke.alt) return null;
  if (stroke.typing) return stroke.key === 'Escape' ? 'escape' : null;
  const atPlace = kKeys.find((line) => line.code === stroke.code);
  if (atPlace) return atPlace.action;
  const key = latin(stroke);
  const exact = kKeys.find((line) => goesByLetter(line, key));
  if (exact) return exact.action;
  // With caps lock, F means f if F has no meaning of its own.
  const lower = key.length === 1 ? key.toLowerCase() : key;
  return kKeys.find((line) => goesByLetter(line, lower))?.action ?? null;
}

/** A key that goes by its place does nothing elsewhere: on other keyboards its letter lies under another finger. */
function goesByLetter(line: KeyLine, key: string): boolean {
  return line.keys.includes(key) && !(line.code !== undefined && line.code === `Key${key.toUpperCase()}`);
}

/** The key, or where the layout has no Latin letters, the one that a Latin layout has at its place. */
function latin({ key, code }: KeyStroke): string {
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  if (letter === undefined || key.length !== 1 || key.charCodeAt(0) < 0x250) return key;
  return key === key.toLowerCase() ? letter.toLowerCase() : letter;
}

const kShown: Record<string, string> = {
  ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', PageUp: 'Page ↑', PageDown: 'Page ↓',
  Escape: 'Esc', Backspace: '⌫ Backspace', Enter: '↵ Enter',
};

export function shownKey(key: string): string {
  return kShown[key] ?? (/^[a-z]$/.test(key) ? key.toUpperCase() : /^[A-Z]$/.test(key) ? `Shift ${key}` : key);
}
