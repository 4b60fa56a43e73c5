/* How systems name this architecture. C and C++. */
#ifndef CASTSCOPE_MACHINE_NAMES_H
#define CASTSCOPE_MACHINE_NAMES_H

#if defined(__x86_64__)
#define CASTSCOPE_MACHINE "x86_64"
#define CASTSCOPE_USUAL_LOADER "/lib64/ld-linux-x86-64.so.2"
#define CASTSCOPE_LIBRARY_FOLDER "/usr/lib/x86_64-linux-gnu" /* in Debian, besides /usr/lib64 and /usr/lib */
#elif defined(__aarch64__)
#define CASTSCOPE_MACHINE "aarch64"
#define CASTSCOPE_USUAL_LOADER "/lib/ld-linux-aarch64.so.1"
#define CASTSCOPE_LIBRARY_FOLDER "/usr/lib/aarch64-linux-gnu"
#else
#error "castscope knows x86-64 and aarch64 only"
#endif

#endif
