/* job_room.h -- what the files of spec/ share: the table of keys, values as they were written, and
 * the result of merging them. Private to the room. */
#ifndef LOCKSTEP_JOB_ROOM_H
#define LOCKSTEP_JOB_ROOM_H

#include <lua.h>

#include "compiler/job/data.h"
#include "compiler/job/lua/span.h"
#include "compiler/job/paths.h"
#include "compiler/job/pipelines/pipeline.h"

/* ---- the table of keys (fields.c) */

#define SECTION(section, head, default_head, doc) SECTION_##section,
#define END(section)
#define FIELD(section, key, KIND, values, default_text, doc)
typedef enum SectionId {
#include "compiler/job/fields.def"
  SECTION_COUNT
} SectionId;
#undef SECTION
#undef END
#undef FIELD

typedef enum Kind {
  KIND_TEXT,
  KIND_PATH,
  KIND_COUNT,
  KIND_COUNT_OR,
  KIND_COUNTS,
  KIND_NUMBER,
  KIND_FLAG,
  KIND_CHOICE,
  KIND_SCALE,
  KIND_AMOUNT,
  KIND_BYTES,
  KIND_BYTES_OR,
  KIND_RATE,
  KIND_LIST,
  KIND_COLUMNS,
  KIND_WORDS,
  KIND_PAIRS
} Kind;

typedef struct FieldInfo {
  SectionId section;
  const char *key;
  Kind kind;
  const char *values, *initial, *doc; /* initial: the default as written */
  size_t offset;                      /* in Job */
} FieldInfo;

typedef struct SectionInfo {
  const char *name, *head, *initial, *doc;
  size_t head_offset, text_offset, origin_offset; /* in Job */
} SectionInfo;

extern const FieldInfo spec_fields[FIELD_COUNT];
extern const SectionInfo spec_sections[SECTION_COUNT];

int32_t field_find(SectionId section, const char *key); /* -1: none */
int32_t section_find(const char *name);
const char *kind_example(const FieldInfo *field,
                         Arena *arena); /* the expected value, with an example */

/* Index of `word` in words separated by blanks, or -1; and the other way. */
int32_t word_index(const char *words, const char *word);
const char *word_at(Arena *arena, const char *words, int32_t index);
const char *nearest_of(Arena *arena, const char *words, const char *word);

/* The key that a wrong name was probably meant for, which is then not missing as well; -1: none. */
typedef struct Meant {
  int32_t section, field;
} Meant;

typedef struct Raw Raw;

/* Refuses a key or section that does not exist: renamed, declined, not built, misspelt. section -1:
 * a section. `raw`: the value given to it, for the fix; NULL: none. */
Meant refuse_name(Compile *c, Span at, int32_t section, const char *name, const Raw *raw);

/* The one of `words` that `word` means in other tools ("fp16", "AdamW"); NULL: none. `where`: the
 * section or key that takes it. meant_word takes the nearest of them too. */
const char *translated_word(Arena *arena, const char *where, const char *words, const char *word);
const char *meant_word(Arena *arena, const char *where, const char *words, const char *word);
/* Why the word is none here, of a word that words/ translates; NULL: it says nothing. */
const char *word_reason(const char *where, const char *words, const char *word);

/* Refuses a word that a section, or one of its keys, does not take so far: parallel = "auto".
 * False: it is not known. */
bool refuse_later_word(Compile *c, Span at, int32_t section, const char *word);

/* ---- values as written (raw.c) */

typedef enum RawKind { RAW_NUMBER, RAW_FLAG, RAW_TEXT, RAW_TABLE, RAW_OTHER } RawKind;
typedef struct RawEntry {
  const char *key;
  Raw *value;
} RawEntry;
struct Raw {
  RawKind kind;
  bool is_typed;    /* of -D: a text, which may become any type */
  double number;    /* also 0 / 1 of a flag */
  const char *text; /* RAW_OTHER: what it is */
  VEC(Raw *) list;
  VEC(RawEntry) named; /* sorted by key */
  const char *bad_key; /* a key that is neither a word nor the next number */
};

/* The value at `index` of the Lua stack; the stack is left as it was. */
Raw *raw_read(Arena *arena, lua_State *L, int index);
Raw *raw_typed(Arena *arena, const char *text);
const char *raw_show(Arena *arena, const Raw *raw);  /* for messages: short, printable */
const char *raw_write(Arena *arena, const Raw *raw); /* as Lua; NULL: too long, or a function */

/* ---- the values after files and -D are merged (load.c) and before types are checked (check.c) */

typedef struct JobValue {
  const char *key;
  const Raw *raw; /* NULL: absent */
  Origin origin;
  Span key_span;
  const char *directory; /* of the file that says it: paths are relative to it */
} JobValue;

typedef struct Merged {
  struct {
    JobValue head;
    VEC(JobValue) keys;
    Span span;
    bool is_broken; /* an error in it is reported: missing keys are not reported as well */
  } sections[SECTION_COUNT];
  bool is_meant[FIELD_COUNT]; /* a wrong name was reported that was meant for this key */
} Merged;

/* A file of plain tables: run, checked for repeated keys. raw NULL when reported. */
typedef struct SpecFile {
  Raw *raw;
  SpanMap *spans;
  const char *path, *directory;
} SpecFile;
SpecFile spec_file_read(Compile *c, lua_State *L, const char *path, const char *constructor,
                        Span at);

/* Refuses keys that are twice in one table. */
void refuse_repeated(Compile *c, const SpanMap *spans);

void override_apply(Compile *c, Merged *merged, const char *text);
void override_apply_from(Compile *c, Merged *merged, const char *text, Origin origin);
void merged_refuse(Compile *c, Merged *merged, const JobValue *value, int32_t section,
                   const char *name);
void merged_set(Compile *c, Merged *merged, int32_t section, JobValue value);
void merged_set_section(Compile *c, Merged *merged, int32_t section, JobValue value,
                        const SpanMap *spans);

bool merged_check(Compile *c, Merged *merged, Job *job);   /* types, units, ranges, required keys */
bool job_rules(Compile *c, Job *job);                      /* keys that contradict each other */
void job_lints(Compile *c, const Job *job);                /* right, but hardly meant (lints.c) */
void parallel_rules(Compile *c, Job *job);                 /* those of section parallel */
void schedule_rules(Compile *c, Job *job);                 /* those of section schedule */
void loss_scale_rules(Compile *c, Job *job);               /* those of precision.loss_scale */
bool derive_schedule(Compile *c, Job *job, int64_t steps); /* its keys beside the run's steps */

/* "chunks", of a field that may be { "interleaved", chunks = 8 }; NULL: it takes no such table. */
const char *numbered_key(int32_t field);
int64_t numbered_count(const Job *job, int32_t field); /* 8; 0: the job has another word there */
const char *loss_scale_text(Arena *arena, const Job *job); /* its word, or its number */

/* Checks one value and sets its field of the job; false when reported. */
bool value_check(Compile *c, const JobValue *value, int32_t field, Job *job);

/* Three of the kinds that value_check knows; and the refusal of a value of another kind. */
bool check_words(Compile *c, const JobValue *value, int32_t field, Job *job);
bool check_pairs(Compile *c, const JobValue *value, int32_t field, Job *job);
bool check_loss_scale(Compile *c, const JobValue *value, Job *job);
bool refuse_type(Compile *c, const JobValue *value, int32_t field);

/* Fills in keys that the job leaves open from the site of slurm = "SITE" (site.c). */
bool site_apply(Compile *c, lua_State *L, Job *job);

/* Why a text of the allocation cannot be part of a script, or NULL. */
const char *launch_text_fault(const char *text);

/* 2^53: beyond it a double skips whole numbers. */
#define COUNT_MOST 9007199254740992.0

/* True of a word or number by which people mean "never", where the key knows never: 0, false,
 * "none". */
bool is_off(int32_t field, const Raw *raw);

/* The value that was probably meant, as Lua, by one that the key does not take; NULL: unknown. */
const char *mended_value(Arena *arena, int32_t field, const Raw *raw);

/* ---- origins (fields.c) */

void field_derive(Job *job, int32_t field, const char *rule);

/* "conflict": the key is written where it changes nothing. `owner`: what it is for; `state`: the
 * value that makes it useless. */
void refuse_useless(Compile *c, const Job *job, int32_t field, const char *owner,
                    const char *state);

/* ---- degrees (degrees.c, shards.c): parts of spec_derive */

int64_t chunks_of(const Job *job); /* model chunks of a pipeline stage */

/* tp, cp, pp and dp, whose product is the cluster's ranks. */
bool derive_degrees(Compile *c, Job *job, const Cluster *cluster, Derived *out);

/* Which ranks share states: zero and shard_ranks. After derive_degrees. */
bool derive_shards(Compile *c, Job *job, const Cluster *cluster, Derived *out);

/* True if cp and tp can cut sequences of sample_tokens; has_seq false: there are none. */
bool derive_cuts(Compile *c, Job *job, const ModelFacts *model, bool has_seq, Derived *out);

/* Numbers that divide n, ascending; "1 2 4 8" of those around `value`; the nearest one, of two
 * the larger: more ranks share the model. */
CountList divisors(Arena *arena, int64_t n);
const char *counts_text(Arena *arena, const CountList *list, int64_t value);
int64_t counts_nearest(const CountList *list, int64_t value);

/* ---- data files (data.c) */

/* data.format is a word; the reader's formats follow "auto" in the same order. */
static inline DataFormat data_format(const Job *job) {
  return (DataFormat)(job->data.format - 1);
}

/* ---- tables (table.c) */

/* Adds the file's rows; every number of data.columns is read, as a run will. False when reported.
 */
bool table_check(Compile *c, const Job *job, Span at, const char *path, int64_t *rows);

/* ---- paths (paths.c) */

char *path_directory(Arena *arena, const char *path);
/* A name stays; "./x.lua" of a file in `directory` becomes "./directory/x.lua", so that it can
 * be read from the folder of the command. */
const char *path_located(Arena *arena, const char *directory, const char *name);
const char *path_stem(Arena *arena, const char *path);  /* "examples/tiny.lua" -> "tiny" */
bool path_check(Compile *c, const char *path, Span at); /* refuses ~ and $ */

static inline void *field_at(Job *job, int32_t field) {
  return (char *)job + spec_fields[field].offset;
}

#endif
