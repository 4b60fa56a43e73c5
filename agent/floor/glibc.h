/* Which versions of glibc's functions the preload library and the agent ask for. The compiler puts this file before
 * every source of both (-include).
 *
 * A library asks for the version that was the newest where it was linked, and a process whose glibc lacks that version
 * cannot load it. When the library is a preloaded one, the process does not even start. So each function is asked for
 * in the version that it had in the first glibc of the architecture; every later glibc still has it. What no old glibc
 * has at all is in agent/floor/own_versions.h. A function that is missing here is found by
 * server/cli/loading/floor_test.cc.
 *
 * Functions of these kinds moved from libdl and libpthread into libc with glibc 2.34, which keeps them there in the old
 * version too. Before that they are in libdl.so.2 and libpthread.so.0, which are therefore linked to by name. */
#ifndef CASTSCOPE_FLOOR_GLIBC_H
#define CASTSCOPE_FLOOR_GLIBC_H

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#ifdef __x86_64__
#define CASTSCOPE_FIRST_GLIBC "GLIBC_2.2.5"
#define CASTSCOPE_GLIBC(version) "GLIBC_" version
#else
#define CASTSCOPE_FIRST_GLIBC "GLIBC_2.17"
#define CASTSCOPE_GLIBC(version) "GLIBC_2.17"
#endif

#define CASTSCOPE_IN(function, version) __asm__(".symver " #function "," #function "@" version)
#define CASTSCOPE_FIRST(function) CASTSCOPE_IN(function, CASTSCOPE_FIRST_GLIBC)

/* libdl */
CASTSCOPE_FIRST(dladdr);
CASTSCOPE_FIRST(dlclose);
CASTSCOPE_FIRST(dlerror);
CASTSCOPE_FIRST(dlopen);
CASTSCOPE_FIRST(dlsym);
CASTSCOPE_FIRST(dlvsym);
CASTSCOPE_IN(dlinfo, CASTSCOPE_GLIBC("2.3.3"));

/* libpthread */
CASTSCOPE_FIRST(pthread_create);
CASTSCOPE_FIRST(pthread_detach);
CASTSCOPE_FIRST(pthread_getspecific);
CASTSCOPE_FIRST(pthread_join);
CASTSCOPE_FIRST(pthread_key_create);
CASTSCOPE_FIRST(pthread_key_delete);
CASTSCOPE_FIRST(pthread_mutex_trylock);
CASTSCOPE_FIRST(pthread_once);
CASTSCOPE_FIRST(pthread_rwlock_rdlock);
CASTSCOPE_FIRST(pthread_rwlock_unlock);
CASTSCOPE_FIRST(pthread_rwlock_wrlock);
CASTSCOPE_FIRST(pthread_setspecific);
CASTSCOPE_FIRST(pthread_sigmask);
CASTSCOPE_IN(pthread_condattr_setclock, CASTSCOPE_GLIBC("2.3.3"));
CASTSCOPE_IN(pthread_getname_np, CASTSCOPE_GLIBC("2.12"));
CASTSCOPE_IN(pthread_setname_np, CASTSCOPE_GLIBC("2.12"));

/* Newer headers rename what reads numbers, since C23 has binary ones. */
#define CASTSCOPE_BEFORE_C23(function, before) \
  __asm__(".symver __isoc23_" #function "," before "@" CASTSCOPE_FIRST_GLIBC)
CASTSCOPE_BEFORE_C23(strtol, "strtol");
CASTSCOPE_BEFORE_C23(strtoll, "strtoll");
CASTSCOPE_BEFORE_C23(strtoul, "strtoul");
CASTSCOPE_BEFORE_C23(strtoull, "strtoull");
__asm__(".symver __isoc23_sscanf,__isoc99_sscanf@" CASTSCOPE_GLIBC("2.7"));

#undef CASTSCOPE_BEFORE_C23
#undef CASTSCOPE_FIRST
#undef CASTSCOPE_IN
#undef CASTSCOPE_GLIBC
#undef CASTSCOPE_FIRST_GLIBC

#endif
#endif
