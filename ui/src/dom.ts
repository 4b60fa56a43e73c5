// Makes elements in one line each. Text is inserted as text, never as markup: names come from somebody's program.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value as unknown as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  put(element, ...children);
  return element;
}

export function put(element: Element, ...children: Child[]): void {
  for (const child of children)
    if (child !== null && child !== undefined && child !== false)
      element.append(typeof child === 'number' ? String(child) : child);
}

// `pressed` is the element under the mouse while its button is down. `waiting` has the contents that `fill` was given
// meanwhile for elements around it, and that the page shows when the button is let go.
let pressed: Node | null = null;
const waiting = new Map<Element, Child[]>();

/** Replaces the contents of an element. A click begins and ends on the same button, so nothing is replaced around one
 * that is held down: the newest contents wait until it is let go. */
export function fill(element: Element, ...children: Child[]): void {
  if (pressed !== null && element.contains(pressed)) {
    waiting.set(element, children);
    return;
  }
  waiting.delete(element);
  element.replaceChildren();
  put(element, ...children);
}

function letGo(): void {
  pressed = null;
  for (const [element, children] of waiting) fill(element, ...children);
}

/** Tells `fill` what the mouse holds down. Called once, when the page is built. */
export function watchPresses(): void {
  window.addEventListener('pointerdown', (event) => (pressed = event.target as Node), true);
  // The click comes after its `pointerup`, and what it does may show something newer than what waits.
  window.addEventListener('click', () => (pressed = null), true);
  for (const end of ['pointerup', 'pointercancel']) window.addEventListener(end, () => setTimeout(letGo), true);
}

export function nothing(text: string): HTMLElement {
  return el('p', { class: 'nothing' }, text);
}

// Screen readers read what changes in it, so it is there from the begin.
const toasts = el('div', { class: 'toasts', role: 'status' });
let toastTimer = 0;

/** Shows short words at the bottom of the page, which disappear by themselves; screen readers read them. */
export function toast(text: string): void {
  if (!toasts.isConnected) document.body.append(toasts);
  fill(toasts, el('div', { class: 'toast' }, text));
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(dismissToast, 2600);
}

export function dismissToast(): void {
  fill(toasts);
}
