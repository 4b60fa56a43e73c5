// Tells rows apart that would read the same: two casts of one line in two modules, two regions of one dtype.

export interface Trait {
  /** What it is of the row, where the value does not speak for itself; '' = it does. */
  name: string;
  value: string;
}

/** For each row whose text another row has too, the words that it differs by: the first traits that tell all rows of
 * that text apart, or at last its number. */
export function toldApart<T>(rows: readonly T[], textOf: (row: T) => string, traitsOf: (row: T) => Trait[], numberOf: (row: T) => number): Map<T, string> {
  const alike = new Map<string, T[]>();
  for (const row of rows) {
    const text = textOf(row);
    const list = alike.get(text);
    if (list) list.push(row);
    else alike.set(text, [row]);
  }
  const words = new Map<T, string>();
  for (const group of alike.values()) {
    if (group.length < 2) continue;
    const told = wordsOf(group.map(traitsOf));
    const count = (text: string) => told.filter((one) => one === text).length;
    group.forEach((row, i) => words.set(row, [told[i], count(told[i]) > 1 ? `number ${numberOf(row)}` : ''].filter((one) => one !== '').join(' · ')));
  }
  return words;
}

/** Takes traits in their order until no two rows are alike; those that are the same for all say nothing. */
function wordsOf(traits: Trait[][]): string[] {
  let words = traits.map(() => '');
  for (let i = 0; i < traits[0].length; i += 1) {
    const kinds = new Set(words).size;
    if (kinds === words.length) break;
    const longer = words.map((text, row) => [text, worded(traits[row][i])].filter((one) => one !== '').join(' · '));
    if (new Set(longer).size > kinds) words = longer;
  }
  return words;
}

function worded({ name, value }: Trait): string {
  return value === '' ? '' : name === '' ? value : `${name} ${value}`;
}
