/* ids.c -- the ids in token files: below the model's vocabulary, and of the width and byte order
 * that data.format says. Raw files have no header, so both are judged by the ids themselves. */
#include <string.h>

#include "compiler/job/data.h"
#include "compiler/job/job_room.h"
#include "runtime/tokens/tokens.h"

enum { FILES_MOST = 64, BYTE_IDS = 256, LARGE_VOCAB = 1024 };

typedef struct Ids {
  Compile *c;
  const Job *job;
  Span at;
  int64_t vocab;
  int64_t budget;  /* ids that may still be read, so that small files are read whole */
  bool is_doubted; /* one lint for a list of files, because all are written alike */
} Ids;

static bool is_raw(const TokenFile *file) {
  return file->format <= FORMAT_U32;
}

static int32_t said_bits(const char *path) {
  const char *dot = strrchr(path, '.');
  if (dot == NULL) return 0;
  return strcmp(dot, ".u8") == 0    ? 8
         : strcmp(dot, ".u16") == 0 ? 16
         : strcmp(dot, ".u32") == 0 ? 32
                                    : 0;
}

/* Names the width or byte order that fits the ids, if there is one. */
static bool fix_reading(const Ids *s, const char *path, const TokenFile *file) {
  TokensReading other = {0};
  if (!is_raw(file)) return false;
  if (tokens_other_reading(file, (uint32_t)s->vocab, &other)) {
    if (other.id_bytes <= 4 && !other.is_big_endian)
      fix_last(s->c, "format = \"u%d\"", 8 * other.id_bytes);
    else
      note_at(s->c, (Span){0},
              "they fit as %s-endian numbers of %d bytes: numpy.fromfile(FILE, \"%su%d\")"
              ".astype(\"<u4\").tofile(\"train.u32\") rewrites them for format = \"u32\"",
              other.is_big_endian ? "big" : "little", other.id_bytes,
              other.is_big_endian ? ">" : "<", other.id_bytes);
    return true;
  }
  int32_t bits = said_bits(path);
  if (bits == 0 || bits == 8 * file->id_bytes) return false;
  fix_last(s->c, "format = \"u%d\"", bits);
  return true;
}

/* ---- refusals */

static bool check_width(const Ids *s, const char *path, const TokenFile *file) {
  if (tokens_has_room(file->id_bytes, s->vocab)) return true;
  error_at(s->c, s->at, "data", "%s: its ids have 16 bits and end at 65,535, but vocab = %s", path,
           format_count(s->c->arena, s->vocab));
  if (!fix_reading(s, path, file))
    note_at(s->c, (Span){0},
            "ids of this vocabulary are stored in 32 bits: the file is of another "
            "tokenizer, or has lost their high halves");
  return false;
}

/* How many ids a header takes: up to the last bad id of the first few, most of them bad, and none
 * bad after it. 0: there is none. */
static int64_t header_ids(const Ids *s, const TokenFile *file) {
  enum { HEADER_MOST = 512, IDS_LEAST = 256, IDS_LOOKED_AT = 1 << 16 };
  int64_t ids = 0, bad = 0;
  for (int64_t i = 0; i < HEADER_MOST && i < file->count; i++)
    if (tokens_id(file, i) >= s->vocab) ids = i + 1, bad++;
  int64_t after = file->count - ids < IDS_LOOKED_AT ? file->count - ids : IDS_LOOKED_AT;
  bool is_header = 2 * bad > ids && after >= IDS_LEAST &&
                   tokens_find_bad(file, ids, after, (uint32_t)s->vocab) < 0;
  return is_header ? ids : 0;
}

static void explain_bad(const Ids *s, const char *path, const TokenFile *file) {
  int64_t header = is_raw(file) ? header_ids(s, file) : 0;
  if (header > 0)
    note_at(s->c, (Span){0},
            "the ids after the first %lld bytes are below it: a raw file has no header",
            (long long)header * file->id_bytes);
  else if (!fix_reading(s, path, file))
    note_at(s->c, (Span){0}, "another model's tokens, or another data.format than the file's");
}

static bool check_below(Ids *s, const char *path, const TokenFile *file, const TokensLook *look) {
  int64_t bad = look->bad;
  if (bad < 0 && file->count <= s->budget) {
    s->budget -= file->count;
    bad = tokens_find_bad(file, 0, file->count, (uint32_t)s->vocab);
  }
  if (bad < 0) return true;
  error_at(s->c, s->at, "data", "%s: token %u at %s, but vocab = %s", path, tokens_id(file, bad),
           format_count(s->c->arena, bad), format_count(s->c->arena, s->vocab));
  explain_bad(s, path, file);
  return false;
}

/* ---- doubts */

static void doubt_bytes(const Ids *s, const char *path, const TokenFile *file,
                        const TokensLook *look) {
  Arena *arena = s->c->arena;
  if (file->id_bytes == 1)
    lint_at(s->c, s->at, "token-ids", "%s: ids of 8 bits end at 255, but vocab = %s", path,
            format_count(arena, s->vocab));
  else
    lint_at(s->c, s->at, "token-ids",
            "%s: all %s ids that were looked at are below 256, but vocab = %s", path,
            format_count(arena, look->looked), format_count(arena, s->vocab));
  if (file->id_bytes > 1 || !fix_reading(s, path, file))
    note_at(s->c, (Span){0}, "bytes as tokens have vocab = 256; the other rows never train");
}

static void doubt(Ids *s, const char *path, const TokenFile *file, const TokensLook *look) {
  static const char *const empty[] = {"", "one id of four is 0", "every other id is 0",
                                      "three ids of four are 0"};
  int32_t bits = 8 * file->id_bytes;
  const char *looked = format_count(s->c->arena, look->looked);
  if (s->is_doubted) return;
  s->is_doubted = true;
  if (look->is_one_id) {
    lint_at(s->c, s->at, "token-ids", "%s: all %s ids that were looked at are %u", path, looked,
            look->most);
    if (look->most == 0)
      note_at(s->c, (Span){0}, "a file that was allocated and never written holds zeros");
  } else if (look->empty_places > 0)
    lint_at(s->c, s->at, "token-ids", "%s: %s, as in a file of wider ids that is read as u%d", path,
            empty[look->empty_places], bits);
  else if (look->is_swapped)
    lint_at(s->c, s->at, "token-ids",
            "%s: all ids are multiples of 256, as in a file with the other byte order", path);
  else {
    bool is_bytes = file->id_bytes == 1 || (look->looked >= LARGE_VOCAB && look->most < BYTE_IDS);
    s->is_doubted = is_bytes && s->vocab >= LARGE_VOCAB;
    if (s->is_doubted) doubt_bytes(s, path, file, look);
    return;
  }
  (void)fix_reading(s, path, file);
}

/* ---- files */

static bool check_file(Ids *s, const char *path) {
  char why[TOKENS_WHY_BYTES] = "";
  TokenFile file = {0};
  bool is_good = tokens_open(&file, path, data_format(s->job), why);
  if (!is_good) error_at(s->c, s->at, "data", "%s", why);
  is_good = is_good && check_width(s, path, &file);
  if (is_good) {
    TokensLook look = tokens_look(&file, (uint32_t)s->vocab);
    is_good = check_below(s, path, &file, &look);
    if (is_good) doubt(s, path, &file, &look);
  }
  tokens_close(&file);
  return is_good;
}

static bool check_said_width(Compile *c, const Job *job, int64_t vocab) {
  if (data_format(job) != FORMAT_U16 || tokens_has_room(2, vocab)) return true;
  error_at(c, field_place(job, FIELD_data_format), "data",
           "ids of u16 end at 65,535, but vocab = %s: they need u32",
           format_count(c->arena, vocab));
  fix_last(c, "format = \"u32\"");
  return false;
}

/* ---- tokenizers */

/* The first file that names its tokenizer, and the hash of that. */
typedef struct Tokenizers {
  const char *path; /* a token file, or the model's tokenizer.json; NULL: none yet */
  uint64_t hash;
  bool is_model;
} Tokenizers;

static bool check_tokenizer(Compile *c, Span at, const char *path, Tokenizers *first) {
  char why[TOKENS_WHY_BYTES] = "";
  TokenFile file = {0};
  uint64_t hash = tokens_open(&file, path, FORMAT_TOK, why) ? file.tokenizer : 0;
  tokens_close(&file);
  if (hash == 0) return true; /* ids from elsewhere */
  if (first->path == NULL) *first = (Tokenizers){path, hash, false};
  if (hash == first->hash) return true;
  if (first->is_model)
    error_at(c, at, "data", "%s: its ids are of another tokenizer than the model's, %s", path,
             first->path);
  else
    error_at(c, at, "data", "%s: its ids are of another tokenizer than those of %s", path,
             first->path);
  fix_last(c, "lockstep tokenize TEXT... -o FOLDER --tokenizer %s",
           first->is_model ? first->path : "PATH");
  return false;
}

bool spec_data_tokenizer(Compile *c, const Job *job, const char *folder) {
  static const int32_t lists[] = {FIELD_data_train, FIELD_data_valid};
  Tokenizers first = {0};
  if (job->data.head != CHOICE_TOKENS || data_format(job) != FORMAT_TOK || job->train_tokens == 0)
    return true;
  const char *json = folder && *folder ? path_join(c->arena, folder, "tokenizer.json") : NULL;
  if (json && tokens_hash_file(json, &first.hash)) first.path = json, first.is_model = true;
  for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
    const TextList *list = field_at((Job *)job, lists[l]);
    for (int32_t i = 0; i < list->count && i < FILES_MOST; i++)
      if (!check_tokenizer(c, job->origin[lists[l]].span, list->at[i], &first)) return false;
  }
  return true;
}

bool spec_data_ids(Compile *c, const Job *job, int64_t vocab) {
  static const int32_t lists[] = {FIELD_data_train, FIELD_data_valid};
  if (job->data.head != CHOICE_TOKENS || vocab <= 0 || vocab > UINT32_MAX) return true;
  bool is_read = job->train_tokens > 0; /* not with --no-data */
  if (!is_read) return check_said_width(c, job, vocab);
  int64_t budget = (int64_t)1 << 27; /* a tenth of a second or two */
  for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
    const TextList *list = field_at((Job *)job, lists[l]);
    Ids s = {c, job, job->origin[lists[l]].span, vocab, budget, false};
    for (int32_t i = 0; i < list->count && i < FILES_MOST; i++) {
      int32_t file = list->count <= FILES_MOST ? i : i * 7 % list->count; /* any few of very many */
      if (!check_file(&s, list->at[file])) return false;
    }
    budget = s.budget;
  }
  return true;
}
