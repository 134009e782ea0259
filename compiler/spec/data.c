/* data.c -- the data files a job names: do they exist, what is in them, how much. */
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/spec/spec_room.h"
#include "runtime/tokens/tokens.h"

enum { REPORTED_FILES = 3 };

typedef struct Shards {
  Compile *c;
  Job *job;
  int32_t field;
  Span at;
  int32_t reported; /* a folder of a thousand wrong files is said three times */
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

static bool refuse_absent(Shards *s, const char *path) {
  Compile *c = s->c;
  if (is_folder(path)) {
    error_at(c, s->at, "data", "%s is a folder; name its files", path);
    fix_last(c, "%s = \"%s/*\"", spec_fields[s->field].key, path);
    return false;
  }
  bool is_pattern = strpbrk(path, "*?[") != NULL;
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
    if (is_file(found.gl_pathv[i]))
      VEC_PUSH(s->c->arena, files, arena_copy(s->c->arena, found.gl_pathv[i]));
  globfree(&found);
  return true;
}

static bool expand(Shards *s, TextList *list) {
  TextList files = {0};
  bool is_good = true;
  for (int32_t i = 0; i < list->count; i++) {
    const char *path = list->at[i];
    if (is_file(path) || is_megatron_prefix(s->c->arena, path))
      VEC_PUSH(s->c->arena, &files, path);
    else if (strpbrk(path, "*?["))
      is_good = add_matches(s, path, &files) && is_good;
    else
      is_good = refuse_absent(s, path);
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

/* data.format is a word; the reader's formats are in the same order behind "auto". */
static DataFormat format_of(const Job *job) {
  return (DataFormat)(job->data.format - 1);
}

static const char *guess_format(const char *path) {
  static const char *const words[] = {"u8", "u16", "u32"};
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof words / sizeof *words; i++)
    if (strcmp(dot + 1, words[i]) == 0) return words[i];
  return "u16";
}

static bool detect(Shards *s, const char *path) {
  char why[TOKENS_WHY_BYTES] = "";
  DataFormat format = FORMAT_U8;
  Compile *c = s->c;
  if (!tokens_detect(path, &format, why)) {
    if (s->reported++ > 0) return false;
    error_at(c, s->at, "format", "%s has no header: data.format says what it holds", path);
    fix_last(c, "format = \"%s\"", guess_format(path));
    return false;
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

static bool count_tokens(Shards *s, const char *path, int64_t *total) {
  char why[TOKENS_WHY_BYTES] = "";
  TokenFile file = {0};
  bool is_good = tokens_open(&file, path, format_of(s->job), why);
  if (is_good)
    *total += file.count;
  else if (s->reported++ < REPORTED_FILES)
    error_at(s->c, s->at, "data", "%s", why);
  tokens_close(&file);
  return is_good;
}

static bool read_tokens(Shards *s, const TextList *list, int64_t *total) {
  bool is_auto =
      s->job->data.format == 0 || s->job->origin[FIELD_data_format].kind == ORIGIN_DERIVED;
  bool is_good = true;
  for (int32_t i = 0; is_auto && i < list->count; i++)
    is_good = detect(s, list->at[i]) && is_good;
  for (int32_t i = 0; is_good && i < list->count; i++)
    if (!count_tokens(s, list->at[i], total) && s->reported >= REPORTED_FILES) break;
  return is_good && s->reported == 0;
}

/* ---- tables */

/* The fields of one line of CSV, blanks and quotes around them removed. */
static TextList split_line(Arena *arena, const char *line) {
  TextList fields = {0};
  for (const char *p = line;;) {
    size_t width = strcspn(p, ",\r\n");
    const char *start = p, *end = p + width;
    while (start < end && strchr(" \t\"", *start))
      start++;
    while (end > start && strchr(" \t\"", end[-1]))
      end--;
    VEC_PUSH(arena, &fields, arena_copy_n(arena, start, (size_t)(end - start)));
    if (p[width] != ',') return fields;
    p += width + 1;
  }
}

static bool check_names(Shards *s, const char *path, const TextList *header) {
  bool is_good = true;
  Span at = s->job->origin[FIELD_data_columns].span;
  for (int32_t i = 0; i < s->job->data.columns.count; i++) {
    const TextList *names = &s->job->data.columns.at[i].names;
    for (int32_t j = 0; j < names->count; j++) {
      bool is_known = false;
      for (int32_t k = 0; k < header->count; k++)
        is_known = is_known || strcmp(header->at[k], names->at[j]) == 0;
      if (is_known) continue;
      const char *near = nearest_word(names->at[j], header->at, header->count);
      const char *all = "";
      for (int32_t k = 0; k < header->count && k < 12; k++)
        all = arena_printf(s->c->arena, "%s %s", all, header->at[k]);
      is_good = error_at(s->c, at, "data", "%s has no column '%s'; it has%s", path,
                         text_show(s->c->arena, names->at[j]), all);
      if (near) fix_last(s->c, "\"%s\"", near);
    }
  }
  return is_good;
}

static bool read_table(Shards *s, const char *path, int64_t *rows) {
  FILE *file = fopen(path, "r");
  if (!file) return error_at(s->c, s->at, "data", "%s: cannot be read: %s", path, strerror(errno));
  char line[1 << 14];
  bool is_good = fgets(line, sizeof line, file) != NULL;
  if (is_good) {
    TextList header = split_line(s->c->arena, line);
    is_good = check_names(s, path, &header);
  } else {
    error_at(s->c, s->at, "data", "%s is empty; its first line names the columns", path);
  }
  while (is_good && fgets(line, sizeof line, file)) {
    size_t length = strlen(line);
    bool is_end = length > 0 && line[length - 1] == '\n';
    if (line[strspn(line, " \t\r\n")] && (is_end || feof(file))) ++*rows;
  }
  fclose(file);
  if (is_good && *rows == 0)
    is_good = error_at(s->c, s->at, "data", "%s has a header and no rows", path);
  return is_good;
}

/* ---- the room's functions */

static bool read_shards(Compile *c, Job *job, int32_t field, int64_t *total) {
  TextList *list = field_at(job, field);
  Shards s = {c, job, field, job->origin[field].span, 0};
  *total = 0;
  if (!expand(&s, list)) return false;
  bool is_good = true;
  if (job->data.head == CHOICE_TOKENS) return read_tokens(&s, list, total);
  for (int32_t i = 0; i < list->count && is_good; i++)
    is_good = read_table(&s, list->at[i], total);
  return is_good;
}

bool spec_data(Compile *c, Job *job) {
  if (job->data.head == CHOICE_SYNTHETIC) return true;
  bool is_good = read_shards(c, job, FIELD_data_train, &job->train_tokens);
  if (job->set[FIELD_data_valid] && job->data.valid.count > 0)
    is_good = read_shards(c, job, FIELD_data_valid, &job->valid_tokens) && is_good;
  return is_good && refuse_twice(c, job);
}

void spec_data_assume(Job *job) {
  if (job->data.head == CHOICE_TOKENS && job->data.format == 0)
    job->data.format = (int32_t)FORMAT_LLMC + 1;
}

static bool check_ids(Compile *c, const Job *job, Span at, const char *path, int64_t vocab) {
  enum { WINDOW = 1 << 16, WINDOWS = 16 };
  char why[TOKENS_WHY_BYTES] = "";
  TokenFile file = {0};
  bool is_good = tokens_open(&file, path, format_of(job), why);
  int64_t bad = -1;
  for (int64_t i = 0; is_good && bad < 0 && i < WINDOWS; i++) {
    int64_t window = file.count < WINDOW ? file.count : WINDOW;
    int64_t first = (file.count - window) / (WINDOWS - 1) * i;
    if (i == WINDOWS - 1) first = file.count - window;
    bad = tokens_find_bad(&file, first, window, (uint32_t)vocab);
  }
  if (!is_good) error_at(c, at, "data", "%s", why);
  if (bad >= 0) {
    error_at(c, at, "data", "%s: token %u at %s, but vocab = %s", path, tokens_id(&file, bad),
             format_count(c->arena, bad), format_count(c->arena, vocab));
    note_at(c, (Span){0}, "another model's tokens, or another data.format than the file's");
  }
  tokens_close(&file);
  return is_good && bad < 0;
}

bool spec_data_ids(Compile *c, const Job *job, int64_t vocab) {
  if (job->data.head != CHOICE_TOKENS || vocab <= 0 || vocab > UINT32_MAX) return true;
  static const int32_t lists[] = {FIELD_data_train, FIELD_data_valid};
  for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
    const TextList *list = field_at((Job *)job, lists[l]);
    for (int32_t i = 0; i < list->count; i++) {
      int32_t file = list->count <= 64 ? i : i * 7 % list->count; /* any few of very many */
      if (i >= 64) break;
      if (!check_ids(c, job, job->origin[lists[l]].span, list->at[file], vocab)) return false;
    }
  }
  return true;
}
