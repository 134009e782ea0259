/* kept.c -- the record of a run and its sources, which stay with each checkpoint; and what the
 * system keeps of a part in memory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/owner.h"

enum { SOURCES_MAX = 256, PATH_BYTES = CHECKPOINT_PATH_BYTES + 320 };

/* RUN/source/PLAN. */
static void sources_path(const CheckpointStore *store, char path[CHECKPOINT_PATH_BYTES]) {
  (void)snprintf(path, CHECKPOINT_PATH_BYTES, "%.4000s/" MANIFEST_SOURCES "/%016llx",
                 job_run_dir(store->plan), (unsigned long long)store->plan->id);
}

/* Lists the job's files that were kept with the plan; the plan has no such files if it was copied
 * alone.
 */
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

/* Links a file, or copies it where checkpoints are on another file system; never a part of it. */
static void keep_file(const char *from, const char *to) {
  char bytes[16384];
  ssize_t got = 0;
  if (link(from, to) == 0 || errno == ENOENT) return;
  int in = open(from, O_RDONLY | O_CLOEXEC);
  int out = in >= 0 ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
  bool good = out >= 0;
  while (good && (got = read(in, bytes, sizeof bytes)) > 0)
    good = write(out, bytes, (size_t)got) == got;
  good = good && got == 0 && fsync(out) == 0;
  if (out >= 0 && close(out) != 0) good = false;
  if (out >= 0 && !good) (void)unlink(to);
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

/* Bytes of the file in the page cache; the mapping is never read. */
static int64_t cached_bytes(int file, size_t bytes) {
  enum { SPAN_BYTES = 64 << 20, PAGE_BYTES = 4096 };
  unsigned char *is_in = malloc(SPAN_BYTES / PAGE_BYTES);
  int64_t cached = 0;
  for (size_t first = 0; is_in != NULL && first < bytes; first += SPAN_BYTES) {
    size_t span = bytes - first < SPAN_BYTES ? bytes - first : SPAN_BYTES;
    void *pages = mmap(NULL, span, PROT_READ, MAP_SHARED, file, (off_t)first);
    bool is_known = pages != MAP_FAILED && mincore(pages, span, is_in) == 0;
    for (size_t i = 0; is_known && i < (span + PAGE_BYTES - 1) / PAGE_BYTES; i++)
      cached += (is_in[i] & 1) != 0 ? PAGE_BYTES : 0;
    if (pages != MAP_FAILED) (void)munmap(pages, span);
  }
  free(is_in);
  return cached < (int64_t)bytes ? cached : (int64_t)bytes;
}

int64_t checkpoint_drop_cache(const CheckpointStore *store, int64_t step, int64_t *bytes) {
  char folder[CHECKPOINT_PATH_BYTES], name[PART_FILE_NAME_BYTES];
  char path[CHECKPOINT_PATH_BYTES + sizeof name];
  struct stat about;
  int64_t cached = 0;
  *bytes = 0;
  if (store->header == NULL) return 0;
  checkpoint_path(folder, store->directory, step);
  part_file_name(name, store->number);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0 && fstat(file, &about) == 0 && about.st_size > 0) {
    *bytes = about.st_size;
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED); /* its pages are clean: it is synced */
    cached = cached_bytes(file, (size_t)about.st_size);
  }
  if (file >= 0) (void)close(file);
  return cached;
}
