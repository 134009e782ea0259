/* shards.c -- the files that an index lists, as one set of tensors. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/json/json.h"
#include "runtime/safetensors/safetensors.h"

enum { PATH_BYTES = 4096 };

static const char index_ending[] = ".safetensors.index.json", file_ending[] = ".safetensors";

static bool ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), ending_length = strlen(ending);
  return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

static SafeResult damaged(const SafeSink *sink, const char *path, const char *tensor,
                          int64_t first_byte, const char *why) {
  SafeProblem problem = {.file = path, .tensor = tensor, .first_byte = first_byte};
  (void)snprintf(problem.why, sizeof problem.why, "%s", why);
  if (sink) sink->report(sink->context, &problem);
  return SAFE_DAMAGED;
}

static SafeResult unread(Status *status, const char *path, const char *why) {
  status_fail(status, STATUS_WORLD, "%s: %s", path, why);
  return SAFE_UNREAD;
}

static SafeResult worse(SafeResult a, SafeResult b) {
  return a > b ? a : b;
}

/* The index of a folder, else its only file of tensors. False: there is none, or there are several.
 */
static bool find_in_folder(char path[PATH_BYTES], const char *folder, Status *status) {
  int32_t count[2] = {0, 0};
  char found[2][NAME_MAX + 1] = {"", ""};
  DIR *items = opendir(folder);
  if (!items) return status_fail(status, STATUS_WORLD, "%s: %s", folder, strerror(errno));
  for (struct dirent *item; (item = readdir(items)) != NULL;) {
    bool is_index = ends_with(item->d_name, index_ending);
    if (!is_index && !ends_with(item->d_name, file_ending)) continue;
    count[is_index]++;
    (void)snprintf(found[is_index], sizeof found[is_index], "%s", item->d_name);
  }
  (void)closedir(items);
  bool by_index = count[true] > 0;
  (void)snprintf(path, PATH_BYTES, "%.3800s/%.255s", folder, found[by_index]);
  if (count[by_index] == 1) return true;
  if (count[by_index] == 0)
    return status_fail(status, STATUS_USER, "%s has no .safetensors file", folder);
  return status_fail(status, STATUS_USER, "%s has %d %s: name the one to read", folder,
                     count[by_index],
                     by_index ? "indices" : ".safetensors files and no index of them");
}

static bool is_plain_name(const char *name) {
  return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The distinct names of files in the index, ascending; NULL: out of memory. */
static const char **file_names(const json_t *map, int32_t *count) {
  const char *tensor;
  json_t *value;
  const char **name = malloc((json_object_size(map) + 1) * sizeof *name);
  size_t all = 0, kept = 0;
  if (!name) return NULL;
  json_object_foreach((json_t *)map, tensor, value) name[all++] = json_string_value(value);
  qsort(name, all, sizeof *name, compare_texts);
  for (size_t i = 0; i < all; i++)
    if (kept == 0 || strcmp(name[kept - 1], name[i]) != 0) name[kept++] = name[i];
  *count = (int32_t)kept;
  return name;
}

static SafeResult open_files(SafeSet *set, const char *path, const json_t *map,
                             const SafeSink *sink, Status *status) {
  SafeResult result = SAFE_WHOLE;
  int32_t count = 0;
  const char **name = file_names(map, &count);
  const char *slash = strrchr(path, '/');
  int folder_length = slash ? (int)(slash - path + 1) : 0;
  set->file = name ? calloc((size_t)count + 1, sizeof *set->file) : NULL;
  if (!set->file) result = unread(status, path, "not enough memory for its list of files");
  for (int32_t i = 0; set->file && result != SAFE_UNREAD && i < count; i++) {
    char at[PATH_BYTES];
    (void)snprintf(at, sizeof at, "%.*s%s", folder_length, path, name[i]);
    result = worse(result, safe_open(&set->file[set->file_count++], at, sink, status));
  }
  free(name);
  return result;
}

static SafeResult check_map(const SafeSet *set, const char *path, const json_t *map,
                            const SafeSink *sink) {
  SafeResult result = SAFE_WHOLE;
  const char *tensor;
  json_t *value;
  json_object_foreach((json_t *)map, tensor, value) {
    SafePlace place = safe_set_find(set, tensor);
    const char *base = place.file ? strrchr(place.file->path, '/') : NULL;
    const char *name = base ? base + 1 : place.file ? place.file->path : NULL;
    if (!name || strcmp(name, json_string_value(value)) != 0)
      result = damaged(sink, path, tensor, 0, "the file that the index names does not have it");
  }
  return result;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const SafePlace *)a)->tensor->name, ((const SafePlace *)b)->tensor->name);
}

/* All tensors of all files, by name. */
static SafeResult gather(SafeSet *set, const char *path, const SafeSink *sink, Status *status) {
  SafeResult result = SAFE_WHOLE;
  size_t count = 0;
  for (int32_t i = 0; i < set->file_count; i++)
    count += (size_t)set->file[i].tensor_count;
  set->place = malloc((count + 1) * sizeof *set->place);
  if (!set->place) return unread(status, path, "not enough memory for its list of tensors");
  for (int32_t i = 0; i < set->file_count; i++)
    for (int32_t j = 0; j < set->file[i].tensor_count; j++)
      set->place[set->place_count++] = (SafePlace){&set->file[i], &set->file[i].tensor[j]};
  qsort(set->place, count, sizeof *set->place, by_name);
  for (int32_t i = 1; i < set->place_count; i++)
    if (by_name(&set->place[i - 1], &set->place[i]) == 0)
      result = damaged(sink, set->place[i].file->path, set->place[i].tensor->name,
                       set->place[i].tensor->first_byte, "another file of the set has it, too");
  return result;
}

static SafeResult open_index(SafeSet *set, const char *path, const json_t *root,
                             const SafeSink *sink, Status *status) {
  const json_t *map = json_object_get(root, "weight_map");
  const char *tensor;
  json_t *value;
  if (!json_is_object(map)) return damaged(sink, path, NULL, 0, "weight_map is not an object");
  json_object_foreach((json_t *)map, tensor, value) {
    if (!json_is_string(value) || !is_plain_name(json_string_value(value)))
      return damaged(sink, path, tensor, 0, "weight_map names no file of the same folder");
  }
  SafeResult result = open_files(set, path, map, sink, status);
  if (result == SAFE_UNREAD) return result;
  result = worse(result, gather(set, path, sink, status));
  return result == SAFE_UNREAD ? result : worse(result, check_map(set, path, map, sink));
}

SafeResult safe_set_open(SafeSet *set, const char *path, const SafeSink *sink, Status *status) {
  char inside[PATH_BYTES];
  struct stat about;
  JsonFault fault;
  int failure;
  *set = (SafeSet){0};
  if (stat(path, &about) != 0) return unread(status, path, strerror(errno));
  if (S_ISDIR(about.st_mode)) {
    if (!find_in_folder(inside, path, status)) return SAFE_UNREAD;
    path = inside;
  }
  if (!ends_with(path, ".json")) {
    set->file = calloc(1, sizeof *set->file);
    if (!set->file) return unread(status, path, "not enough memory");
    set->file_count = 1;
    SafeResult result = safe_open(set->file, path, sink, status);
    return result == SAFE_UNREAD ? result : worse(result, gather(set, path, sink, status));
  }
  json_t *root = json_read_file(path, SAFE_HEADER_BYTES_MAX, &failure, &fault);
  if (failure) return unread(status, path, strerror(failure));
  if (!root) return damaged(sink, path, NULL, (int64_t)fault.first_byte, fault.why);
  SafeResult result = open_index(set, path, root, sink, status);
  json_decref(root);
  return result;
}

void safe_set_close(SafeSet *set) {
  for (int32_t i = 0; i < set->file_count; i++)
    safe_close(&set->file[i]);
  free(set->file);
  free(set->place);
  *set = (SafeSet){0};
}

SafePlace safe_set_find(const SafeSet *set, const char *name) {
  const SafeTensor wanted = {.name = name};
  const SafePlace key = {NULL, &wanted};
  const SafePlace *place =
      set->place ? bsearch(&key, set->place, (size_t)set->place_count, sizeof key, by_name) : NULL;
  return place ? *place : (SafePlace){NULL, NULL};
}
