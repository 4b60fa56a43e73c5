// Splits a line of Python for its colours. It looks at one line at a time: a text of several lines in triple quotes is
// told by its first and last line alone.

export type TokenKind = 'keyword' | 'text' | 'number' | 'comment' | 'name' | 'plain';

export interface Token {
  kind: TokenKind;
  text: string;
}

const kKeywords = new Set(
  ('False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda ' +
    'nonlocal not or pass raise return try while with yield match case').split(' '),
);
// A comment, a text with its prefix and quotes, a number, a word, blanks, or one other character.
const kToken = /(#.*)|([rbfuRBFU]{0,2}(?:"""(?:[^\\]|\\.)*?(?:"""|$)|'''(?:[^\\]|\\.)*?(?:'''|$)|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))|(\d[\w.]*)|([^\W\d]\w*)|(\s+|.)/gu;

export function pythonTokens(line: string): Token[] {
  const tokens: Token[] = [];
  let afterDef = false;
  for (const [text, comment, quoted, number, word] of line.matchAll(kToken)) {
    const kind: TokenKind = comment !== undefined ? 'comment' : quoted !== undefined ? 'text' : number !== undefined ? 'number' : word === undefined ? 'plain' : kKeywords.has(word) ? 'keyword' : afterDef ? 'name' : 'plain';
    if (text.trim() !== '') afterDef = word === 'def' || word === 'class';
    const last = tokens[tokens.length - 1];
    if (last && last.kind === kind && kind === 'plain') last.text += text;
    else tokens.push({ kind, text });
  }
  return tokens;
}
