/* export.c -- lockstep export WHAT -o FOLDER: a run, a checkpoint or a model folder becomes a
 * folder for Hugging Face's tools. It is written beside its name, and renamed when all is on the
 * disk. */
#include "compiler/show/cli/export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/job/units.h"
#include "runtime/json/json.h"
#include "runtime/weights/weights.h"

enum { JSON_BYTES_MAX = 64 << 20 };

static bool is_there(Arena *arena, const char *folder, const char *name) {
  return access(arena_printf(arena, "%s/%s", folder, name), F_OK) == 0;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const OutTensor *)a)->name, ((const OutTensor *)b)->name);
}

static json_t *read_json(const char *path, ExitCode *code) {
  int failure = 0;
  JsonFault fault;
  json_t *root = json_read_file(path, JSON_BYTES_MAX, &failure, &fault);
  if (root != NULL) return root;
  *code = failure != 0 ? complain(EXIT_WORLD, "%s: %s", path, strerror(failure))
                       : complain(EXIT_USER, "%s: byte %lld: %s", path, (long long)fault.first_byte,
                                  fault.why);
  return NULL;
}

/* ---- options */

/* SafeDtype_COUNT: elements keep their dtype. */
static bool dtype_asked(const Options *options, SafeDtype *dtype) {
  static const struct {
    const char *word;
    SafeDtype dtype;
  } words[] = {{"fp32", SAFE_F32}, {"bf16", SAFE_BF16}, {"fp16", SAFE_F16}};
  *dtype = SafeDtype_COUNT;
  if (options->dtype == NULL) return true;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(options->dtype, words[i].word) == 0) *dtype = words[i].dtype;
  return *dtype != SafeDtype_COUNT;
}

static ExitCode check_options(Export *e, SafeDtype *dtype) {
  const Options *options = e->options;
  double bytes = 0;
  if (options->out == NULL)
    return complain(EXIT_USER, "export needs -o FOLDER, where the model goes");
  if (!dtype_asked(options, dtype))
    return complain(EXIT_USER, "--dtype wants fp32, bf16 or fp16, not '%.40s'", options->dtype);
  if (options->shard != NULL && (!units_bytes(options->shard, &bytes) || bytes < 1 || bytes > 1e18))
    return complain(EXIT_USER, "--shard wants the size of a file, such as 5GB, not '%.40s'",
                    options->shard);
  e->shard_bytes = (int64_t)bytes;
  if (access(options->out, F_OK) == 0)
    return complain(EXIT_USER, "%s is there already: export writes a new folder", options->out);
  return EXIT_DONE;
}

/* ---- a checkpoint */

static DType read_dtype(const Plan *plan, const char *key) {
  const char *name = saved_setting(plan, key);
  for (int32_t i = 0; name && i < DTYPE_COUNT; i++)
    if (strcmp(dtype_name((DType)i), name) == 0) return (DType)i;
  return DTYPE_F32;
}

/* [out, in] of a linear layer, or the other way round. */
static void set_shape(OutTensor *tensor, const int64_t *shape, int32_t dims, int64_t out_dims) {
  int64_t out = 1, in = 1;
  tensor->rank = dims;
  memcpy(tensor->shape, shape, (size_t)dims * sizeof *shape);
  if (out_dims == 0) return;
  for (int32_t i = 0; i < dims; i++)
    *(i < out_dims ? &out : &in) *= shape[i];
  tensor->rank = out_dims < dims ? 2 : 1;
  tensor->shape[0] = tensor->is_transposed ? in : out;
  tensor->shape[1] = tensor->is_transposed ? out : in;
}

/* Writes one layer of a parameter. False when reported: the checkpoint lacks it. */
static bool add_layer(Export *e, const State *state, const json_t *entry, const char *name,
                      int32_t layer, SafeDtype dtype) {
  char source[WEIGHTS_NAME_BYTES];
  int64_t shape[STATE_DIMS_MAX];
  uint32_t item = state_find(state, name, BUFFER_MASTER);
  if (item == state->item_count) item = state_find(state, name, BUFFER_PARAM);
  if (item == state->item_count) return false;
  OutTensor tensor = {.item = item,
                      .from = state_saved_dtype(state_tensor(state, &state->item[item])),
                      .elements = saved_elements(state, item),
                      .is_transposed = json_is_true(json_object_get(entry, "transposed"))};
  const char *came = json_text(entry, "dtype");
  SafeDtype own = came != NULL ? safe_dtype_of(came) : SafeDtype_COUNT;
  DType param = read_dtype(state->plan, "precision.param");
  if (own == SafeDtype_COUNT) own = safe_dtype_of(state_dtype_name(param));
  tensor.to = dtype != SafeDtype_COUNT ? dtype : own;
  if (!weights_name(source, json_text(entry, "source"), layer)) return false;
  tensor.name = arena_copy(e->c->arena, source);
  set_shape(&tensor, shape, saved_shape(state, item, shape), json_whole(entry, "out_dims", 0));
  VEC_PUSH(e->c->arena, &e->tensors, tensor);
  return true;
}

/* All layers of a parameter. */
static bool add_parameter(Export *e, const State *state, const json_t *entry, SafeDtype dtype) {
  const char *parameter = json_text(entry, "parameter"), *source = json_text(entry, "source");
  char name[WEIGHTS_NAME_BYTES];
  if (parameter == NULL || source == NULL) return false;
  if (strchr(parameter, '*') == NULL) return add_layer(e, state, entry, parameter, -1, dtype);
  for (int32_t layer = 0; weights_name(name, parameter, layer); layer++)
    if (!add_layer(e, state, entry, name, layer, dtype)) return layer > 0;
  return false;
}

static ExitCode add_parameters(Export *e, const State *state, const char *model, SafeDtype dtype) {
  ExitCode code = EXIT_DONE;
  const char *path = arena_printf(e->c->arena, "%s/tensors.json", model);
  json_t *root = read_json(path, &code);
  const json_t *list = json_object_get(root, "tensors"), *entry;
  size_t i;
  json_array_foreach((json_t *)list, i, entry) {
    if (code == EXIT_DONE && !add_parameter(e, state, entry, dtype))
      code = complain(EXIT_USER, "%s: parameter %s is not in the checkpoint", path,
                      json_text(entry, "parameter") ? json_text(entry, "parameter") : "?");
  }
  if (code == EXIT_DONE && e->tensors.count == 0)
    code = complain(EXIT_USER, "%s lists no tensors", path);
  json_decref(root);
  return code;
}

/* The folder `model` of the run that a checkpoint is of; NULL: reported. */
static const char *model_of(Export *e, const char *checkpoint, const Plan *plan) {
  Arena *arena = e->c->arena;
  const char *log = saved_setting(plan, "log.dir");
  const char *places[] = {arena_printf(arena, "%s/../../model", checkpoint),
                          arena_printf(arena, "%s/model", log != NULL ? log : "."),
                          arena_printf(arena, "%s/model", e->options->words.at[0])};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (is_there(arena, places[i], "tensors.json")) return places[i];
  complain(
      EXIT_USER,
      "%s: its run has no folder model with config.json and tensors.json: the model file has no "
      "table huggingface, or the run is of an earlier program, which did not keep them",
      checkpoint);
  return NULL;
}

/* ---- the files beside the tensors */

static ExitCode copy_file(const char *from, const char *to) {
  char bytes[1 << 16];
  FILE *in = fopen(from, "rb"), *out = in != NULL ? fopen(to, "wb") : NULL;
  bool good = out != NULL;
  for (size_t count; good && (count = fread(bytes, 1, sizeof bytes, in)) > 0;)
    good = fwrite(bytes, 1, count, out) == count;
  good = good && !ferror(in) && fflush(out) == 0 && fsync(fileno(out)) == 0;
  int failure = errno;
  if (in != NULL) fclose(in);
  if (out != NULL && fclose(out) != 0) good = false;
  return good ? EXIT_DONE
              : complain(EXIT_WORLD, "%s: cannot be copied: %s", from, strerror(failure));
}

/* An export holds the lock of this file in its folder until it is over. */
static const char lock_file[] = "lock";

/* Files of tensors are written anew, and a lock is not copied. */
static bool is_not_copied(const char *name) {
  size_t length = strlen(name);
  return strcmp(name, "tensors.json") == 0 || strcmp(name, lock_file) == 0 ||
         strstr(name, ".safetensors") != NULL ||
         (length > 4 && strcmp(name + length - 4, ".bin") == 0);
}

/* config.json, the tokenizer, and what else is no tensor. */
static ExitCode copy_others(const Export *e, const char *from) {
  ExitCode code = EXIT_DONE;
  DIR *items = opendir(from);
  if (items == NULL) return complain(EXIT_WORLD, "%s: %s", from, strerror(errno));
  for (struct dirent *item; code == EXIT_DONE && (item = readdir(items)) != NULL;) {
    struct stat about;
    const char *path = arena_printf(e->c->arena, "%s/%s", from, item->d_name);
    if (is_not_copied(item->d_name) || strcmp(item->d_name, "config.json") == 0 ||
        stat(path, &about) != 0 || !S_ISREG(about.st_mode))
      continue;
    code = copy_file(path, arena_printf(e->c->arena, "%s/%s", e->folder, item->d_name));
  }
  (void)closedir(items);
  return code;
}

static const char *torch_name(SafeDtype dtype) {
  return dtype == SAFE_F32 ? "float32" : dtype == SAFE_BF16 ? "bfloat16" : "float16";
}

/* Copies config.json unchanged, unless another dtype is asked for, or it names no dtype. */
static ExitCode write_config(const Export *e, const char *from, SafeDtype asked) {
  ExitCode code = EXIT_DONE;
  const char *path = arena_printf(e->c->arena, "%s/config.json", from);
  const char *to = arena_printf(e->c->arena, "%s/config.json", e->folder);
  json_t *root = read_json(path, &code);
  if (root == NULL) return code;
  bool has = json_object_get(root, "dtype") != NULL || json_object_get(root, "torch_dtype") != NULL;
  const char *name = torch_name(e->tensors.at[0].to);
  if (asked == SafeDtype_COUNT && has) {
    json_decref(root);
    return copy_file(path, to);
  }
  (void)json_object_set_new(root, "dtype", json_string(name));
  (void)json_object_set_new(root, "torch_dtype", json_string(name));
  char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
  FILE *out = text != NULL ? fopen(to, "w") : NULL;
  bool good =
      out != NULL && fprintf(out, "%s\n", text) > 0 && fflush(out) == 0 && fsync(fileno(out)) == 0;
  if (out != NULL && fclose(out) != 0) good = false;
  free(text);
  json_decref(root);
  return good ? EXIT_DONE : cannot_write(to, errno);
}

/* ---- the folder */

static bool is_item(const struct dirent *item) {
  return strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0;
}

/* Removes the files but the lock. False: something else stays. */
static bool clear_folder(const Export *e) {
  bool is_clear = true;
  DIR *items = opendir(e->folder);
  for (struct dirent *item; items != NULL && (item = readdir(items)) != NULL;)
    if (is_item(item) && strcmp(item->d_name, lock_file) != 0)
      is_clear =
          unlink(arena_printf(e->c->arena, "%s/%s", e->folder, item->d_name)) == 0 && is_clear;
  if (items == NULL) return false;
  (void)closedir(items);
  return is_clear;
}

static void drop_folder(Export *e) {
  (void)clear_folder(e);
  (void)unlink(arena_printf(e->c->arena, "%s/%s", e->folder, lock_file));
  (void)rmdir(e->folder);
  lock_give_back(&e->lock);
}

/* An export that was killed has left a lock there, or nothing at all. */
static bool is_left(const Export *e) {
  bool is_empty = true;
  DIR *items = opendir(e->folder);
  for (struct dirent *item; items != NULL && (item = readdir(items)) != NULL;)
    is_empty = is_empty && !is_item(item);
  if (items == NULL) return false;
  (void)closedir(items);
  return is_empty || is_there(e->c->arena, e->folder, lock_file);
}

/* Makes the folder, or takes over what an export that was killed has left. */
static ExitCode take_folder(Export *e) {
  char why[LOCK_WHY_BYTES];
  const bool is_fresh = mkdir(e->folder, 0777) == 0;
  if (!is_fresh && errno != EEXIST) return cannot_write(e->folder, errno);
  if (!is_fresh && !is_left(e))
    return complain(EXIT_USER,
                    "%s is there already, and no export has left it: remove it, or name another "
                    "folder",
                    e->folder);
  const LockResult result = lock_take(&e->lock, e->folder, why);
  if (result == LOCK_HELD)
    return complain(EXIT_USER,
                    "%s: another export is writing it: wait until it has ended, or name another "
                    "folder",
                    e->folder);
  if (result == LOCK_FAILED) return complain(EXIT_WORLD, "%s", why);
  if (is_fresh || clear_folder(e)) return EXIT_DONE;
  lock_give_back(&e->lock);
  return complain(EXIT_USER,
                  "%s holds more than an export leaves: remove it, or name another folder",
                  e->folder);
}

/* The lock goes last: a folder without it is whole. */
static ExitCode finish(Export *e) {
  const char *out = e->options->out;
  int descriptor = open(e->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool good = descriptor >= 0 && fsync(descriptor) == 0;
  if (descriptor >= 0) (void)close(descriptor);
  if (!good || rename(e->folder, out) != 0) return cannot_write(out, errno);
  (void)unlink(arena_printf(e->c->arena, "%s/%s", out, lock_file));
  lock_give_back(&e->lock);
  if (!e->options->quiet)
    printf("wrote    %s   %d tensors, %s\n", text_plain(e->c->arena, out), (int)e->tensors.count,
           format_bytes(e->c->arena, e->total_bytes));
  return EXIT_DONE;
}

/* `from`: the folder with config.json. */
static ExitCode write_folder(Export *e, const char *from, SafeDtype asked) {
  e->folder = arena_printf(e->c->arena, "%s.new", e->options->out);
  if (e->tensors.at == NULL) return complain(EXIT_USER, "%s: there are no tensors", from);
  qsort(e->tensors.at, (size_t)e->tensors.count, sizeof *e->tensors.at, compare_names);
  ExitCode code = take_folder(e);
  if (code != EXIT_DONE) return code;
  code = write_config(e, from, asked);
  if (code == EXIT_DONE) code = copy_others(e, from);
  if (code == EXIT_DONE) code = export_write(e);
  if (code == EXIT_DONE) code = finish(e);
  if (code != EXIT_DONE) drop_folder(e);
  return code;
}

static ExitCode check_config(Export *e, const char *model) {
  char line[512] = "";
  FILE *file = fopen(arena_printf(e->c->arena, "%s/config.json", model), "r");
  if (file != NULL && fgets(line, sizeof line, file) == NULL) line[0] = '\0';
  if (file != NULL) fclose(file);
  if (line[0] == '{') return EXIT_DONE;
  return complain(EXIT_USER, "this model cannot be written for Hugging Face: %s",
                  line[0] != '\0' ? line : "its config.json is missing");
}

static ExitCode export_checkpoint(Export *e, SafeDtype asked) {
  SavedOpen *saved = ARENA_NEW(e->c->arena, SavedOpen);
  ExitCode code = saved_open_word(e->c, e->options, e->options->words.at[0], saved);
  const char *path = saved->checkpoint.path;
  const State *state = &saved->checkpoint.manifest.state;
  const char *model = code == EXIT_DONE ? model_of(e, path, state->plan) : NULL;
  if (code == EXIT_DONE && model == NULL) code = EXIT_USER;
  if (code == EXIT_DONE) code = check_config(e, model);
  if (code == EXIT_DONE) code = add_parameters(e, state, model, asked);
  e->reader = code == EXIT_DONE ? saved_reader(saved) : NULL;
  if (code == EXIT_DONE && e->reader == NULL) code = complain(EXIT_WORLD, "not enough memory");
  if (code == EXIT_DONE) code = write_folder(e, model, asked);
  saved_reader_free(e->reader);
  saved_close(saved);
  return code;
}

/* ---- a model folder: other dtypes, other shards */

static void report_problem(void *context, const SafeProblem *problem) {
  (void)context;
  complain(EXIT_USER, "%s: %s%s%s", problem->file, problem->tensor ? problem->tensor : "",
           problem->tensor ? ": " : "", problem->why);
}

static ExitCode add_places(Export *e, const SafeSet *set, SafeDtype asked) {
  for (int32_t i = 0; i < set->place_count; i++) {
    const SafeTensor *from = set->place[i].tensor;
    if (from->dtype != SAFE_F32 && from->dtype != SAFE_BF16 && from->dtype != SAFE_F16)
      return complain(EXIT_USER, "tensor %s is %s: F32, BF16 and F16 are written", from->name,
                      safe_dtype_name(from->dtype));
    OutTensor tensor = {.name = from->name,
                        .to = asked != SafeDtype_COUNT ? asked : from->dtype,
                        .from = from->dtype == SAFE_F32    ? DTYPE_F32
                                : from->dtype == SAFE_BF16 ? DTYPE_BF16
                                                           : DTYPE_F16,
                        .rank = from->rank,
                        .elements = from->elements,
                        .place = set->place[i]};
    memcpy(tensor.shape, from->shape, sizeof tensor.shape);
    VEC_PUSH(e->c->arena, &e->tensors, tensor);
  }
  return set->place_count > 0 ? EXIT_DONE : complain(EXIT_USER, "the files have no tensors");
}

static ExitCode export_folder(Export *e, const char *folder, SafeDtype asked) {
  char path[WEIGHTS_PATH_BYTES], why[SAFE_WHY_BYTES];
  Status status = {0};
  SafeSet set = {0};
  const SafeSink sink = {report_problem, NULL};
  if (weights_find(folder, path, why) == WEIGHTS_NONE)
    return complain(EXIT_USER, "%s %s", folder, why);
  SafeResult result = safe_set_open(&set, path, &sink, &status);
  ExitCode code = result == SAFE_WHOLE    ? EXIT_DONE
                  : result == SAFE_UNREAD ? complain(EXIT_WORLD, "%s", status.text)
                                          : EXIT_USER;
  if (code == EXIT_DONE) code = add_places(e, &set, asked);
  if (code == EXIT_DONE) code = write_folder(e, folder, asked);
  safe_set_close(&set);
  return code;
}

ExitCode verb_export(const Options *options) {
  const char *what = options->words.at[0];
  Compile *c = open_compile();
  SafeDtype asked = SafeDtype_COUNT;
  if (c == NULL) return EXIT_WORLD;
  Export e = {.c = c, .options = options, .lock = {-1}};
  ExitCode code = check_options(&e, &asked);
  if (code == EXIT_DONE)
    code = is_there(c->arena, what, "config.json") ? export_folder(&e, what, asked)
                                                   : export_checkpoint(&e, asked);
  compile_free(c);
  return code;
}
