// The page's half of the search's language (docs/search.md): which term is being typed, and what completes it. What a
// search means is the collector's business (server/web/search).

import type { FieldValue, SearchField } from '../api/types.ts';

/** A part of the text that a suggestion takes the place of. */
export interface TypedPart {
  begin: number;
  end: number;
  /** The field whose value it is; null: it may become a word or a field. */
  field: string | null;
  /** Its text as far as the caret, without quotes. */
  typed: string;
}

export interface Suggestion {
  /** What is put in the place of the part. */
  insert: string;
  label: string;
  detail: string;
  count: number | null;
}

const kBlank = /\s/;

function endOfQuotes(text: string, begin: number): number {
  let at = begin + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at + 1, text.length);
}

function endOfWord(text: string, begin: number, comma: boolean): number {
  let at = begin;
  while (at < text.length && !kBlank.test(text[at]) && !(comma && text[at] === ',')) at += 1;
  return at;
}

const endOfValue = (text: string, begin: number, comma: boolean) => (text[begin] === '"' ? endOfQuotes(text, begin) : endOfWord(text, begin, comma));

function withoutQuotes(text: string): string {
  return text.startsWith('"') ? text.slice(1).replace(/\\(["\\])/g, '$1') : text;
}

/** The part of a term that the caret stands in or behind, where the term begins at `begin`; the end of the term where
 * the caret stands farther on. */
function partIn(text: string, begin: number, caret: number): TypedPart | number {
  const negated = text[begin] === '-' && text[begin + 1] !== '>' && text[begin + 1] !== '-';
  const first = negated ? begin + 1 : begin;
  const name = /^[A-Za-z_]+:(?!:)/.exec(text.slice(first))?.[0];
  if (name === undefined) {
    const end = endOfValue(text, first, false);
    return caret > end ? Math.max(end, begin + 1) : { begin: first, end, field: null, typed: text.slice(first, caret) };
  }
  let at = first + name.length;
  if (caret < at) return { begin: first, end: at, field: null, typed: text.slice(first, caret) };
  for (;;) {
    const end = endOfValue(text, at, true);
    if (caret <= end) return { begin: at, end, field: name.slice(0, -1).toLowerCase(), typed: withoutQuotes(text.slice(at, caret)) };
    if (text[end] !== ',') return end;
    at = end + 1;
  }
}

export function partAt(text: string, caret: number): TypedPart {
  let at = 0;
  for (;;) {
    while (at < text.length && kBlank.test(text[at])) at += 1;
    if (at >= caret) return { begin: caret, end: caret, field: null, typed: '' };
    const part = partIn(text, at, caret);
    if (typeof part !== 'number') return part;
    at = part;
  }
}

/** Fields whose name begins with what is typed; a word in quotes is none. */
export function fieldSuggestions(part: TypedPart, fields: readonly SearchField[]): Suggestion[] {
  const typed = part.typed.toLowerCase();
  return fields
    .filter((field) => field.search_field.startsWith(typed))
    .map((field) => ({ insert: `${field.search_field}:`, label: `${field.search_field}:`, detail: field.field_meaning, count: null }));
}

/** None if what is typed is a value already, and the only one. */
export function valueSuggestions(part: TypedPart, values: readonly FieldValue[]): Suggestion[] {
  if (values.length === 1 && values[0].field_value === part.typed) return [];
  return values.map((value) => ({ insert: quoted(value.field_value), label: value.field_value, detail: value.shown_name ?? '', count: value.event_count }));
}

/** The text with the suggestion in the part's place, and where the caret goes. A value that ends the text gets a blank
 * behind it, so that the next term can begin. */
export function completed(text: string, part: TypedPart, insert: string): { text: string; caret: number } {
  const rest = text.slice(part.end);
  const whole = part.field !== null && rest === '' ? `${insert} ` : insert;
  return { text: text.slice(0, part.begin) + whole + rest, caret: part.begin + whole.length };
}

/** The value as a field takes it: in quotes where it would mean something else without. */
export function quoted(value: string): string {
  return value === '' || /[\s",*]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
}

/** The search for all that happens at a line. */
export function searchForLine({ file, line }: { file: string | null; line: number | null }): string {
  return `file:${quoted(`${file}:${line}`)}`;
}

/** The search for all that happens in a module and in the modules in it. */
export function searchForModule(model: string, path: string, isOnlyModel: boolean): string {
  const inModel = `model:${quoted(model)}`;
  return path === '' ? inModel : isOnlyModel ? `module:${quoted(path)}` : `${inModel} module:${quoted(path)}`;
}
