/* data.c -- the data files that a job names: whether they exist, their format, how much they hold.
 */
#include "compiler/job/data.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/job/job_room.h"
#include "runtime/plan/plan_text.h"
#include "runtime/tokens/tokens.h"

enum { REPORTED_FILES = 3 };

typedef struct Shards {
  Compile *c;
  Job *job;
  int32_t field;
  Span at;
  int32_t reported; /* at most three errors for a folder of a thousand wrong files */
} Shards;

/* ---- names to files */

static bool is_file(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_megatron_prefix(Arena *arena, const char *path) {
  return is_file(arena_printf(arena, "%s.idx", path)) &&
         is_file(arena_printf(arena, "%s.bin", path));
}

/* "data/" and a star find both files of a Megatron pair: it is read once. */
static bool is_index_of_pair(Arena *arena, const char *path) {
  size_t length = strlen(path);
  return length > 4 && strcmp(path + length - 4, ".idx") == 0 &&
         is_megatron_prefix(arena, arena_copy_n(arena, path, length - 4));
}

static bool refuse_absent(Shards *s, const char *path) {
  Compile *c = s->c;
  if (is_folder(path)) {
    error_at(c, s->at, "data", "%s is a folder; name its files", path);
    fix_last(c, "%s = \"%s/*\"", spec_fields[s->field].key, path);
    return false;
  }
  bool is_pattern = strpbrk(path, "*?[") != NULL;
  if (!is_pattern && access(path, F_OK) == 0)
    return error_at(c, s->at, "data",
                    "%s is no file: samples are read from all over it, which a "
                    "pipe or a device does not allow",
                    path);
  s->job->is_data_absent = true;
  const char *key = field_name(c->arena, s->field);
  if (is_pattern)
    error_at(c, s->at, "data", "%s: no file matches %s", key, path);
  else
    error_at(c, s->at, "data", "%s: there is no file %s", key, path);
  if (s->job->data.head == CHOICE_TOKENS)
    note_at(c, (Span){0}, "lockstep tokenize TEXT -o FOLDER makes token files");
  return false;
}

static bool add_matches(Shards *s, const char *pattern, TextList *files) {
  glob_t found;
  if (glob(pattern, 0, NULL, &found) != 0) return refuse_absent(s, pattern);
  for (size_t i = 0; i < found.gl_pathc; i++) /* glob sorts */
    if (is_file(found.gl_pathv[i]) && !is_index_of_pair(s->c->arena, found.gl_pathv[i]))
      VEC_PUSH(s->c->arena, files, arena_copy(s->c->arena, found.gl_pathv[i]));
  globfree(&found);
  return true;
}

/* Patterns become files, and sources count theirs. */
static bool expand(Shards *s, TextList *list) {
  TextList files = {0};
  Job *job = s->job;
  bool is_good = true;
  int32_t source = 0, left = job->mix.count > 0 ? job->mix.at[0].files : 0, before = 0;
  const bool is_mix = s->field == FIELD_data_train && job->mix.count > 0;
  for (int32_t i = 0; i < list->count; i++) {
    const char *path = list->at[i];
    if (is_file(path) || is_megatron_prefix(s->c->arena, path))
      VEC_PUSH(s->c->arena, &files, path);
    else if (strpbrk(path, "*?["))
      is_good = add_matches(s, path, &files) && is_good;
    else
      is_good = refuse_absent(s, path);
    if (!is_mix || --left > 0) continue;
    job->mix.at[source++].files = files.count - before;
    before = files.count;
    left = source < job->mix.count ? job->mix.at[source].files : 0;
  }
  if (is_good && list->count > 0 && files.count == 0) is_good = refuse_absent(s, list->at[0]);
  *list = files;
  return is_good;
}

static bool refuse_twice(Compile *c, const Job *job) {
  const TextList *train = &job->data.train, *valid = &job->data.valid;
  for (int32_t i = 1; i < train->count; i++)
    for (int32_t j = 0; j < i && train->count < 4096; j++)
      if (strcmp(train->at[i], train->at[j]) == 0)
        return error_at(c, job->origin[FIELD_data_train].span, "data", "%s is listed twice",
                        train->at[i]);
  for (int32_t i = 0; i < valid->count && train->count < 4096; i++)
    for (int32_t j = 0; j < train->count; j++)
      if (strcmp(valid->at[i], train->at[j]) == 0)
        return error_at(c, job->origin[FIELD_data_valid].span, "data",
                        "%s is in both train and valid:\n    validation would measure what was "
                        "trained on",
                        valid->at[i]);
  return true;
}

/* ---- token files */

static const char *guess_format(const char *path) {
  static const char *const words[] = {"u8", "u16", "u32"};
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof words / sizeof *words; i++)
    if (strcmp(dot + 1, words[i]) == 0) return words[i];
  return "u16";
}

/* A file without a header: what it might be instead of raw tokens, else which width it might have.
 */
static bool refuse_raw(Shards *s, const char *path, const char *why) {
  Compile *c = s->c;
  TokensForeign foreign;
  const char *dot = strrchr(path, '.');
  bool is_raw_name = dot && (strcmp(dot, ".u8") == 0 || strcmp(dot, ".bin") == 0);
  struct stat status;
  if (access(path, R_OK) != 0) return error_at(c, s->at, "data", "%s", why);
  if (stat(path, &status) == 0 && status.st_size == 0)
    return error_at(c, s->at, "data", "%s is empty", path);
  if (tokens_foreign(path, &foreign))
    return error_at(c, s->at, "format", "%s is %s, not tokens: %s", path, foreign.what,
                    foreign.for_tokens);
  if (tokens_is_text(path) && !is_raw_name) {
    error_at(c, s->at, "format", "%s is text; a run reads tokens, which are made of it first",
             path);
    fix_last(c, "lockstep tokenize %s -o tokens, then train = \"tokens/train.u8\", format = \"u8\"",
             path);
    return false;
  }
  error_at(c, s->at, "format", "%s has no header: data.format says what it holds", path);
  fix_last(c, "format = \"%s\"", guess_format(path));
  return false;
}

static bool detect(Shards *s, const char *path) {
  char why[TOKENS_WHY_BYTES] = "";
  DataFormat format = FORMAT_U8;
  Compile *c = s->c;
  if (!tokens_detect(path, &format, why)) {
    if (s->reported++ > 0) return false;
    return refuse_raw(s, path, why);
  }
  int32_t choice = (int32_t)format + 1;
  if (s->job->data.format != 0 && s->job->data.format != choice) {
    error_at(c, s->at, "format", "%s has another format than the files before it", path);
    return false;
  }
  s->job->data.format = choice;
  s->job->origin[FIELD_data_format] = (Origin){ORIGIN_DERIVED, {0}, "the files' header"};
  return true;
}

/* Larger files are read once anyway, and a wrong id in them is found then. */
static bool check_sum(Shards *s, const char *path, const TokenFile *file) {
  enum { SUMMED_BYTES_MOST = 1 << 28 };
  if (file->mapped_bytes > SUMMED_BYTES_MOST || tokens_sum_matches(file)) return true;
  if (s->reported++ < REPORTED_FILES)
    error_at(s->c, s->at, "data", "%s: is damaged: its content does not match its sum", path);
  return false;
}

static bool check_documents(Shards *s, const char *path, const TokenFile *file) {
  const bool is_apart = job_is_apart(s->job);
  if ((!is_apart && !job_is_packed(s->job)) || file->document_count > 0) return true;
  if (s->reported++ >= REPORTED_FILES) return false;
  error_at(s->c, field_place(s->job, is_apart ? FIELD_data_documents : FIELD_data_fill), "data",
           "%s needs to know where documents begin, and %s does not say it",
           is_apart ? "documents = \"apart\"" : "fill = \"pack\"", path);
  note_at(s->c, (Span){0},
          "lockstep tokenize --tokenizer PATH makes .tok files of texts, and of .jsonl files with "
          "the ids of documents");
  return false;
}

/* source: NULL where the file is of none. */
static bool count_tokens(Shards *s, const char *path, int64_t *total, MixSource *source) {
  char why[TOKENS_WHY_BYTES] = "";
  TokenFile file = {0};
  bool is_good = tokens_open(&file, path, data_format(s->job), why);
  if (is_good) {
    *total += file.count;
    if (source != NULL) source->tokens += file.count;
    s->job->is_train_masked |= s->field == FIELD_data_train && file.mask != NULL;
    is_good = check_sum(s, path, &file) && check_documents(s, path, &file);
  } else if (s->reported++ < REPORTED_FILES) {
    error_at(s->c, s->at, "data", "%s", why);
    DataFormat format = FORMAT_U8;
    if (tokens_detect(path, &format, why) && (int32_t)format + 1 != s->job->data.format)
      fix_last(s->c, "format = \"%s\"", DataFormat_names[format]);
  }
  tokens_close(&file);
  return is_good;
}

/* The source of file `number`; NULL: there is no mix. */
static MixSource *source_of(const Shards *s, int32_t number) {
  if (s->field != FIELD_data_train) return NULL;
  for (int32_t i = 0; i < s->job->mix.count; number -= s->job->mix.at[i++].files)
    if (number < s->job->mix.at[i].files) return &s->job->mix.at[i];
  return NULL;
}

static bool read_tokens(Shards *s, const TextList *list, int64_t *total) {
  bool is_auto =
      s->job->data.format == 0 || s->job->origin[FIELD_data_format].kind == ORIGIN_DERIVED;
  bool is_good = true;
  for (int32_t i = 0; is_auto && i < list->count; i++)
    is_good = detect(s, list->at[i]) && is_good;
  for (int32_t i = 0; is_good && i < list->count; i++)
    if (!count_tokens(s, list->at[i], total, source_of(s, i)) && s->reported >= REPORTED_FILES)
      break;
  return is_good && s->reported == 0;
}

/* ---- packing */

static int64_t count_windows(const Job *job, const char *const *path, int32_t count,
                             int64_t context) {
  char why[TOKENS_WHY_BYTES];
  TokPacking packing = {0};
  TokenFile *file = calloc((size_t)count + 1, sizeof *file);
  const TokenFile **files = calloc((size_t)count + 1, sizeof *files);
  int32_t opened = 0;
  for (; file && files && opened < count; opened++) {
    files[opened] = &file[opened];
    if (!tokens_open(&file[opened], path[opened], data_format(job), why)) break;
  }
  bool is_packed = opened == count && tokens_pack(files, count, context, &packing);
  const int64_t windows = is_packed ? packing.windows : 0;
  tokens_free_packing(&packing);
  for (int32_t i = 0; file && i < count; i++)
    tokens_close(&file[i]);
  free(file), free(files);
  return windows;
}

void spec_data_pack(Job *job, int64_t context) {
  const TextList *train = &job->data.train, *valid = &job->data.valid;
  if (!job_is_packed(job) || job->packed_context == context) return;
  job->packed_context = context;
  job->train_windows = 0;
  for (int32_t i = 0, at = 0; job->train_tokens > 0 && i < job->mix.count; i++) {
    job->train_windows += count_windows(job, train->at + at, job->mix.at[i].files, context);
    at += job->mix.at[i].files;
  }
  if (job->train_tokens > 0 && job->mix.count == 0)
    job->train_windows = count_windows(job, train->at, train->count, context);
  if (job->valid_tokens > 0)
    job->valid_windows = count_windows(job, valid->at, valid->count, context);
}

/* ---- entry points */

static bool read_shards(Compile *c, Job *job, int32_t field, int64_t *total) {
  TextList *list = field_at(job, field);
  Shards s = {c, job, field, job->origin[field].span, 0};
  *total = 0;
  if (!expand(&s, list)) return false;
  bool is_good = true;
  if (job->data.head == CHOICE_TOKENS) return read_tokens(&s, list, total);
  for (int32_t i = 0; i < list->count && is_good; i++)
    is_good = table_check(c, job, s.at, list->at[i], total);
  return is_good;
}

/* Sources are streams of tokens. */
static bool check_sources(Compile *c, const Job *job) {
  if (job->mix.count == 0 || job->data.head == CHOICE_TOKENS) return true;
  error_at(c, job->origin[FIELD_data_train].span, "not-built",
           "weights of sources are for files of tokens; rows of tables have none yet");
  fix_last(c, "train = { \"a.csv\", \"b.csv\" }");
  return false;
}

bool spec_data(Compile *c, Job *job) {
  if (job->data.head == CHOICE_SYNTHETIC) return true;
  if (!check_sources(c, job)) return false;
  bool is_good = read_shards(c, job, FIELD_data_train, &job->train_tokens);
  if (job->set[FIELD_data_valid] && job->data.valid.count > 0)
    is_good = read_shards(c, job, FIELD_data_valid, &job->valid_tokens) && is_good;
  return is_good && refuse_twice(c, job);
}

void spec_data_assume(Job *job) {
  if (job->data.head == CHOICE_TOKENS && job->data.format == 0)
    job->data.format = (int32_t)FORMAT_LLMC + 1;
}
