#include "runtime/weights/weights.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { SAMPLE_BYTES = 4096, SAMPLES = 3 };

/* ---- which file */

static bool is_there(const char *folder, const char *name, char path[WEIGHTS_PATH_BYTES]) {
  int length = snprintf(path, WEIGHTS_PATH_BYTES, "%s/%s", folder, name);
  return length < WEIGHTS_PATH_BYTES && access(path, R_OK) == 0;
}

static bool ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), ending_length = strlen(ending);
  return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

/* Other formats of weights, and how a user converts them. */
static const struct {
  const char *begins, *ends, *what;
} others[] = {
    {"pytorch_model", ".bin",
     "is a pickle, which can run code when it is read: save the model again with transformers, "
     "model.save_pretrained(FOLDER)"},
    {"pytorch_model", ".bin.index.json",
     "lists pickles, which can run code when they are read: save the model again with "
     "transformers, model.save_pretrained(FOLDER)"},
    {"consolidated", ".pth",
     "is in Meta's own layout, whose rotary pairs are interleaved: take the folder with "
     "config.json and model.safetensors (its name often ends in -hf)"},
    {"", ".gguf",
     "is for llama.cpp, mostly quantised: take the folder with model.safetensors that it was made "
     "from"},
};

static void name_other(const char *folder, char why[SAFE_WHY_BYTES]) {
  DIR *items = opendir(folder);
  (void)snprintf(why, SAFE_WHY_BYTES, "has no model.safetensors and no index of shards");
  for (struct dirent *item; items && (item = readdir(items)) != NULL;)
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
      if (strncmp(item->d_name, others[i].begins, strlen(others[i].begins)) == 0 &&
          ends_with(item->d_name, others[i].ends))
        (void)snprintf(why, SAFE_WHY_BYTES, "has no model.safetensors; %.60s %s", item->d_name,
                       others[i].what);
  if (items) (void)closedir(items);
}

WeightsFound weights_find(const char *folder, char path[WEIGHTS_PATH_BYTES],
                          char why[SAFE_WHY_BYTES]) {
  static const char file[] = "model.safetensors", index[] = "model.safetensors.index.json";
  bool has_index = is_there(folder, index, path);
  if (is_there(folder, file, path)) return has_index ? WEIGHTS_BOTH : WEIGHTS_ONE;
  if (is_there(folder, index, path)) return WEIGHTS_ONE;
  name_other(folder, why);
  return WEIGHTS_NONE;
}

/* ---- content */

static bool add_sample(XXH3_state_t *sum, const SafePlace *place, int64_t first, Status *status) {
  uint8_t bytes[SAMPLE_BYTES];
  int64_t left = place->tensor->bytes - first;
  size_t count = left < SAMPLE_BYTES ? (size_t)left : SAMPLE_BYTES;
  if (count == 0) return true;
  if (!safe_read(place->file, place->tensor->first_byte + first, bytes, count, status))
    return false;
  return XXH3_64bits_update(sum, bytes, count) == XXH_OK;
}

static void add_header(XXH3_state_t *sum, const SafeTensor *tensor) {
  const char *dtype = safe_dtype_name(tensor->dtype);
  XXH3_64bits_update(sum, tensor->name, strlen(tensor->name) + 1);
  XXH3_64bits_update(sum, dtype, strlen(dtype) + 1);
  XXH3_64bits_update(sum, &tensor->rank, sizeof tensor->rank);
  XXH3_64bits_update(sum, tensor->shape, (size_t)tensor->rank * sizeof *tensor->shape);
}

static bool add_tensor(XXH3_state_t *sum, const SafePlace *place, Status *status) {
  const SafeTensor *tensor = place->tensor;
  const int64_t last = tensor->bytes > SAMPLE_BYTES ? tensor->bytes - SAMPLE_BYTES : 0;
  add_header(sum, tensor);
  const int64_t first[SAMPLES] = {0, last / 2, last};
  int32_t count = last == 0 ? 1 : SAMPLES;
  for (int32_t i = 0; i < count; i++)
    if (!add_sample(sum, place, first[i], status)) return false;
  return true;
}

bool weights_sum(const SafeSet *set, uint64_t *sum, Status *status) {
  XXH3_state_t *state = XXH3_createState();
  if (state == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for a hash");
  XXH3_64bits_reset(state);
  bool good = true;
  for (int32_t i = 0; good && i < set->place_count; i++)
    good = add_tensor(state, &set->place[i], status);
  *sum = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return good;
}

/* ---- checkpoints of ours */

static const char manifest_file[] = "manifest.json";

bool weights_is_checkpoint(const char *folder) {
  char path[WEIGHTS_PATH_BYTES];
  return is_there(folder, manifest_file, path);
}

char *weights_manifest(const char *folder, size_t *bytes, uint64_t *sum, Status *status) {
  enum { MANIFEST_MOST = 64 << 20 };
  char path[WEIGHTS_PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/%s", folder, manifest_file);
  FILE *file = fopen(path, "rb");
  long length = -1;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) length = ftell(file);
  char *text = length > 0 && length <= MANIFEST_MOST ? malloc((size_t)length + 1) : NULL;
  if (text != NULL) rewind(file);
  bool good = text != NULL && fread(text, 1, (size_t)length, file) == (size_t)length;
  int failure = errno;
  if (file != NULL) fclose(file);
  if (!good) {
    free(text);
    (void)status_fail(status, STATUS_WORLD, "%s: cannot be read: %s", path, strerror(failure));
    return NULL;
  }
  text[length] = '\0';
  *bytes = (size_t)length;
  *sum = XXH3_64bits(text, *bytes);
  return text;
}

bool weights_name(char name[WEIGHTS_NAME_BYTES], const char *source, int32_t layer) {
  const char *star = strchr(source, '*');
  int length = star == NULL || layer < 0
                   ? snprintf(name, WEIGHTS_NAME_BYTES, "%s", source)
                   : snprintf(name, WEIGHTS_NAME_BYTES, "%.*s%d%s", (int)(star - source), source,
                              (int)layer, star + 1);
  return length < WEIGHTS_NAME_BYTES;
}

bool weights_next_tied(const char **pairs, char tensor[WEIGHTS_NAME_BYTES],
                       char like[WEIGHTS_NAME_BYTES]) {
  const char *at = *pairs + strspn(*pairs, " ");
  const size_t before = strcspn(at, "= "), after = at[before] == '=' ? before + 1 : before;
  const size_t width = strcspn(at + after, " ");
  if (after == before || before >= WEIGHTS_NAME_BYTES || width >= WEIGHTS_NAME_BYTES) return false;
  (void)snprintf(tensor, WEIGHTS_NAME_BYTES, "%.*s", (int)before, at);
  (void)snprintf(like, WEIGHTS_NAME_BYTES, "%.*s", (int)width, at + after);
  *pairs = at + after + width;
  return true;
}
