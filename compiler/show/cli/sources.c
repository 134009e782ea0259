/* sources.c -- keeps the Lua files that a plan was compiled of, as they were read. Other files that
 * were read, such as descriptions of machines, have no text in Compile.read and are not kept. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/show/cli/runs.h"
#include "runtime/manifest/manifest.h"
#include "runtime/process/folder.h"

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* The file's own name; "2-NAME" where another file before it has that name. */
static const char *name_of(Compile *c, int32_t number) {
  const char *name = base_name(c->read.at[number].path);
  int32_t same = 1;
  for (int32_t i = 0; i < number; i++)
    same += c->read.at[i].text != NULL && strcmp(base_name(c->read.at[i].path), name) == 0;
  return same > 1 ? arena_printf(c->arena, "%d-%s", same, name) : name;
}

/* A file of that name may be linked into a checkpoint, so it is replaced and never written over. */
static bool write_source(Compile *c, const char *folder, int32_t number) {
  const char *text = c->read.at[number].text;
  const char *path = arena_printf(c->arena, "%s/%s", folder, name_of(c, number));
  const char *fresh = arena_printf(c->arena, "%s/.new", folder);
  int file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  size_t bytes = strlen(text);
  bool is_good = file >= 0 && write(file, text, bytes) == (ssize_t)bytes && fsync(file) == 0;
  if (file >= 0 && close(file) != 0) is_good = false;
  return is_good && rename(fresh, path) == 0;
}

bool sources_write(Compile *c, const char *folder) {
  if (!folder_and_above(c->arena, folder)) return false;
  for (int32_t i = 0; i < c->read.count; i++)
    if (c->read.at[i].text != NULL && !write_source(c, folder, i)) return false;
  return true;
}

bool sources_keep(Compile *c, uint64_t plan_id, const char *folder) {
  return sources_write(c, arena_printf(c->arena, "%s/" MANIFEST_SOURCES "/%016llx", folder,
                                       (unsigned long long)plan_id));
}

void sources_remove(Compile *c, uint64_t plan_id, const char *folder) {
  const char *above = arena_printf(c->arena, "%s/" MANIFEST_SOURCES, folder);
  folder_clear(arena_printf(c->arena, "%s/%016llx", above, (unsigned long long)plan_id));
  (void)rmdir(above);
}
