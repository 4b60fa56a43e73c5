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

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  put(element, ...children);
}

export function nothing(text: string): HTMLElement {
  return el('p', { class: 'nothing' }, text);
}

/** Shows short words at the bottom of the page, which disappear by themselves; screen readers read them. */
export function toast(text: string): void {
  document.querySelector('.toast')?.remove();
  const element = el('div', { class: 'toast', role: 'status' }, text);
  document.body.append(element);
  setTimeout(() => element.remove(), 2600);
}
