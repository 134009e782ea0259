/* kept.c -- the record of a run and its sources, which stay with each checkpoint. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/owner.h"

enum { SOURCES_MAX = 256, PATH_BYTES = CHECKPOINT_PATH_BYTES + 320 };

/* RUN/source/PLAN. */
static void sources_path(const CheckpointStore *store, char path[CHECKPOINT_PATH_BYTES]) {
  (void)snprintf(path, CHECKPOINT_PATH_BYTES, "%.4000s/" MANIFEST_SOURCES "/%016llx",
                 job_run_dir(store->plan), (unsigned long long)store->plan->id);
}

/* A plan may come alone: then there are none. */
void checkpoint_list_sources(CheckpointStore *store) {
  char path[CHECKPOINT_PATH_BYTES];
  sources_path(store, path);
  DIR *files = opendir(path);
  store->source = files != NULL ? calloc(SOURCES_MAX, sizeof *store->source) : NULL;
  for (struct dirent *item; store->source != NULL && (item = readdir(files)) != NULL;) {
    if (item->d_name[0] == '.' || store->source_count == SOURCES_MAX) continue;
    char *name = strdup(item->d_name);
    if (name != NULL) store->source[store->source_count++] = name;
  }
  if (files != NULL) (void)closedir(files);
}

/* Links a file, or copies it where checkpoints are on another file system. */
static void keep_file(const char *from, const char *to) {
  char bytes[16384];
  ssize_t got;
  if (link(from, to) == 0 || errno == ENOENT) return;
  int in = open(from, O_RDONLY | O_CLOEXEC);
  int out = in >= 0 ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
  while (out >= 0 && (got = read(in, bytes, sizeof bytes)) > 0)
    if (write(out, bytes, (size_t)got) != got) break;
  if (out >= 0) (void)fsync(out);
  if (out >= 0) (void)close(out);
  if (in >= 0) (void)close(in);
}

void checkpoint_keep_files(const CheckpointStore *store, const char *record, const char *folder) {
  char sources[CHECKPOINT_PATH_BYTES], from[PATH_BYTES], to[PATH_BYTES];
  (void)snprintf(to, sizeof to, "%s/job.json", folder);
  keep_file(record, to);
  sources_path(store, sources);
  (void)snprintf(to, sizeof to, "%s/" MANIFEST_SOURCES, folder);
  if (store->source_count == 0 || mkdir(to, 0777) != 0) return;
  for (int32_t i = 0; i < store->source_count; i++) {
    (void)snprintf(from, sizeof from, "%s/%.255s", sources, store->source[i]);
    (void)snprintf(to, sizeof to, "%s/" MANIFEST_SOURCES "/%.255s", folder, store->source[i]);
    keep_file(from, to);
  }
  (void)snprintf(to, sizeof to, "%s/" MANIFEST_SOURCES, folder);
  (void)checkpoint_sync_folder(to);
}
