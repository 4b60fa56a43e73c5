// Names of source files. The API tells files of the job from the run's root, and those of libraries from the folder
// that holds all of them; SQL and editors want whole paths.

const kPackage = /(?:^|\/)(?:site|dist)-packages\/([^/]+)|\/lib\/python[\d.]+\/([^/]+)/;

/** The installed package, or the part of Python's own library, that a file is of; null: of neither. */
export function packageOf(file: string | null): string | null {
  const found = kPackage.exec(file ?? '');
  return found?.[1] ?? found?.[2] ?? null;
}

export function isLibrary(file: string | null): boolean {
  return packageOf(file) !== null;
}

const kLibraries = /^.*\/((?:site|dist)-packages\/.*)$/;

/** As the API tells it, from a whole path. */
export function inRoot(file: string, root: string | null): string {
  const library = kLibraries.exec(file);
  if (library) return library[1];
  return root !== null && file.startsWith(`${root}/`) ? file.slice(root.length + 1) : file;
}

/** The whole path; null where it is not known: of a library, or of "<string>". */
export function absolute(file: string, root: string | null): string | null {
  if (file.startsWith('/')) return file;
  if (root === null || !root.startsWith('/') || /^(<|(site|dist)-packages\/)/.test(file)) return null;
  return `${root}/${file}`;
}
