// What the browser keeps from one visit to the next: how the page looks, and which findings are done. It never leaves
// the browser. A browser that keeps nothing (in private windows, say) loses it with the page, and that is all.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`castscope.${name}`);
  } catch {
    return null;
  }
}

/** null: it is kept no longer. */
export function keep(name: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(`castscope.${name}`);
    else localStorage.setItem(`castscope.${name}`, text);
  } catch {
    // The page works without it.
  }
}
