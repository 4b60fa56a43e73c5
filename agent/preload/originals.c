/* PyTorch's own functions. RTLD_NEXT does not find them: Python loads libtorch with RTLD_LOCAL, outside the global
 * scope. So find out which file it is, open that again without loading it, and ask there. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/preload/preload.h"

void* castscope_originals[CASTSCOPE_HOOK_COUNT];

#define SYMBOL(name, symbol, loads) [CASTSCOPE_HOOK_##name] = #symbol,
static const char* const symbols[CASTSCOPE_HOOK_COUNT] = {CASTSCOPE_HOOKS(SYMBOL)};
const char* hook_symbol(int hook) { return symbols[hook]; }

struct torch {
  char* path;
  char* key;
};

static bool is_torch_cpu(const char* path) {
  const char* name = strrchr(path, '/');
  return strncmp(name != NULL ? name + 1 : path, "libtorch_cpu.so", 15) == 0;
}

static void hex(const unsigned char* bytes, size_t n, char* out) {
  for (size_t i = 0; i < n; i++) sprintf(out + 2 * i, "%02x", bytes[i]);
}

static size_t align_note(size_t n) { return (n + 3) & ~(size_t)3; }

/* The build-id as the linker left it in the loaded image: it names the exact build, whatever the file is called. */
static bool build_id(const struct dl_phdr_info* info, char key[80]) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_NOTE) continue;
    const char* note = (const char*)(info->dlpi_addr + segment->p_vaddr);
    const char* end = note + segment->p_memsz;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      const ElfW(Nhdr)* header = (const ElfW(Nhdr)*)note;
      const char* name = note + sizeof(*header);
      const char* content = name + align_note(header->n_namesz);
      if (content + header->n_descsz > end) break;
      if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
          header->n_descsz > 0 && header->n_descsz <= 32) {
        hex((const unsigned char*)content, header->n_descsz, key);
        return true;
      }
      note = content + align_note(header->n_descsz);
    }
  }
  return false;
}

static int visit(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct torch* torch = data;
  if (info->dlpi_name == NULL || !is_torch_cpu(info->dlpi_name) || strlen(info->dlpi_name) >= PATH_MAX) return 0;
  strcpy(torch->path, info->dlpi_name);
  struct stat file;
  if (!build_id(info, torch->key)) {
    if (stat(info->dlpi_name, &file) != 0) return 0;
    snprintf(torch->key, 80, "%lld-%lld", (long long)file.st_size, (long long)file.st_mtime);
  }
  return 1;
}

bool torch_find(char path[PATH_MAX], char key[80]) {
  struct torch torch = {path, key};
  return dl_iterate_phdr(visit, &torch) == 1;
}

void originals_find(const char* torch_path) {
  void* library = dlopen(torch_path, RTLD_NOLOAD | RTLD_LAZY);
  if (library == NULL) return;
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; i++) castscope_originals[i] = dlsym(library, symbols[i]);
  dlclose(library); /* NOLOAD counted a reference; PyTorch itself is never unloaded */
}

/* --- for the rare callers that are not PyTorch ------------------------------------------------------------------ */

struct search {
  const char* symbol;
  const void* own;
  void* found;
};

static void* look_in(const char* path, const struct search* search) {
  if (path == NULL || path[0] == '\0') return NULL;
  void* library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  if (library == NULL) return NULL;
  void* found = dlsym(library, search->symbol);
  dlclose(library);
  Dl_info where;
  if (found == NULL || dladdr(found, &where) == 0 || where.dli_fbase == search->own) return NULL;
  return found;
}

static const void* own_base(void) {
  Dl_info own;
  return dladdr((void*)own_base, &own) != 0 ? own.dli_fbase : NULL;
}

void* original_for_caller(const char* symbol, const void* return_address) {
  struct search search = {symbol, own_base(), NULL};
  Dl_info caller;
  if (dladdr(return_address, &caller) != 0) {
    /* The caller's own library and what it depends on, in its order. */
    void* found = look_in(caller.dli_fname, &search);
    if (found != NULL) return found;
  }
  return original_find_anywhere(symbol);
}

void* original_find_anywhere(const char* symbol) {
  struct search search = {symbol, own_base(), NULL};
  void* next = dlsym(RTLD_NEXT, symbol);
  if (next != NULL) return next;
  void* self = dlopen(NULL, RTLD_LAZY);
  struct link_map* object = NULL;
  if (self == NULL || dlinfo(self, RTLD_DI_LINKMAP, &object) != 0) return NULL;
  for (; object != NULL && search.found == NULL; object = object->l_next)
    search.found = look_in(object->l_name, &search);
  dlclose(self);
  return search.found;
}
