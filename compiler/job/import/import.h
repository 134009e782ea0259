/* import.h -- configuration of other tools becomes a job: readers make leaves of files, a file a
 * tool turns leaves into settings, write.c prints the job and the list of what was not used.
 *
 *   files, --command   ->  leaves {key, value, place}      json.c yaml.c toml.c shell.c python.c
 *   leaves             ->  settings {section.key, value}   deepspeed.c accelerate.c megatron.c ...
 *   settings, leaves   ->  job.lua, or JSON                write.c
 *
 * Every leaf of every file ends either in a setting or in the list. Nothing of a script is
 * executed. */
#ifndef LOCKSTEP_IMPORT_H
#define LOCKSTEP_IMPORT_H

#include "compiler/base/base.h"
#include "compiler/job/hints/words.h"

enum {
  FILE_MOST = 1 << 20, /* bytes */
  DEPTH_MOST = 64,     /* tables in tables */
  KEYS_MOST = 10000,   /* of one import */
  PATH_MOST = 1024     /* bytes of a key with its tables, such as a.b.c */
};

typedef enum LeafKind {
  LEAF_TEXT,
  LEAF_NUMBER,
  LEAF_FLAG,
  LEAF_NULL,
  LEAF_LIST,
  LEAF_EMPTY,
  LEAF_UNREAD
} LeafKind;

/* The fate of a leaf. */
typedef enum How {
  HOW_OPEN, /* not yet decided */
  HOW_USED,
  HOW_DERIVED,
  HOW_DECLINED,
  HOW_IMPOSSIBLE,
  HOW_NOT_BUILT,
  HOW_UNKNOWN,
  HOW_UNREAD
} How;

typedef struct Texts {
  VEC(const char *)
  list;
} Texts;

typedef struct Leaf {
  int32_t tool;      /* of words.h */
  const char *key;   /* "optimizer.params.lr"; of an option "micro_batch_size" */
  const char *shown; /* as the file has it */
  Span at;
  LeafKind kind;
  const char *text; /* the value as it was written, without quotes */
  double number;    /* also of a flag */
  Texts items;      /* LEAF_LIST: of its scalars */
  How how;
  Texts as; /* keys of the job */
  const char *why;
  bool changes_training;
} Leaf;

typedef struct JobSetting {
  const char *section, *key; /* key NULL: the section's word, "adamw"; or a size of the model */
  const char *value;         /* as Lua */
  const char *note;          /* the comment of its line */
  const Leaf *leaf;          /* NULL: a default, or -D */
} JobSetting;

typedef struct Import {
  Compile *c;
  VEC(Leaf)
  leaves;
  VEC(JobSetting)
  settings;
  Texts titles;     /* "ds.json (DeepSpeed)" */
  Texts files;      /* the files that were read, with links resolved */
  Texts open_lines; /* lines that the user fills in */
  Texts rates;      /* the comment on learning rates */
  Texts lost;       /* defaults of theirs that change training and have no counterpart */
  bool has_tool[32];
  uint64_t *seen; /* hashes of keys, to find keys that are given twice */
  Span *seen_at;
  int32_t seen_room, seen_count;
  const char *formula, *formula_tool; /* of a schedule that differs from ours; NULL */
  int32_t tool;                       /* of the file that is read */
  const char *file;                   /* its name, as the user wrote it */
  const char *out;                    /* the file that the job goes to, or NULL */
} Import;

/* ---- leaves (leaves.c) */

/* Adds a leaf; NULL when that was refused: too many, too long, or twice. */
Leaf *leaf_add(Import *im, const char *key, LeafKind kind, const char *text, Span at);
bool key_once(Import *im, const char *key, Span at); /* refuses a key that the file has already */
void leaf_guess(Leaf *leaf); /* text that is a number or a flag becomes one */
bool text_number(const char *text, double *number);
Leaf *leaf_find(Import *im, int32_t tool, const char *key); /* not yet decided or used; NULL */
bool leaf_is_auto(const Leaf *leaf);                        /* "auto", or null */
bool leaf_true(const Leaf *leaf);
const char *leaf_file(const Leaf *leaf); /* for comments: without folders */

/* The file's text with a NUL at its end; NULL: refused. */
char *import_text(Import *im, const char *path, size_t *size);

/* ---- readers: false when something was reported */

bool read_json(Import *im, const char *text, size_t size);
bool read_yaml(Import *im, const char *text, size_t size);
bool read_toml(Import *im, const char *text, size_t size);
bool read_python(Import *im, const char *text, size_t size);
bool read_shell(Import *im, const char *text, size_t size);

/* ---- settings (settings.c) */

/* The leaf says it: value as Lua. `note`: the conversion, or "". Two leaves that disagree are an
 * error. */
void take(Import *im, Leaf *leaf, const char *path, const char *value, const char *note);
/* counts the leaf as used for `path`, beside another leaf */
void take_as(Import *im, Leaf *leaf, const char *path);
void drop(Leaf *leaf, How how, const char *why, bool changes_training);
/* Their default, where the job says nothing yet. */
void take_default(Import *im, const char *path, const char *value, const char *note);
void take_define(Import *im, const char *define); /* "section.key=value" */
const JobSetting *setting_find(const Import *im, const char *path);
bool setting_number(const Import *im, const char *path, double *number);
const char *lua_text(Arena *arena, const char *text);
const char *lua_number(Arena *arena, double number);
double decimal_near(double number); /* 2.9999999999999997e-5 is 3e-5 */

/* A leaf as the value of a key: number, text or flag. False: refused, or not of this kind. */
bool leaf_number(Import *im, Leaf *leaf, double *number);
bool leaf_count(Import *im, Leaf *leaf, int64_t *count);
void take_number(Import *im, int32_t tool, const char *key, const char *path);
void take_count(Import *im, int32_t tool, const char *key, const char *path);
void take_sequences(Import *im, Leaf *leaf, double count, const char *note);

/* ---- what tools share (shared.c) */

int64_t import_ranks(Import *im); /* nodes x devices; 0: not known */
int64_t import_dp(Import *im);    /* ranks / (tp x pp x cp); 0 */
void take_precision(Import *im, Leaf *leaf, const char *word);
void take_devices(Import *im, Leaf *leaf, double total, double nodes);
void open_line(Import *im, const char *line);      /* "cluster.devices = ...   GPUs of a node" */
bool is_asked(const Import *im, const char *path); /* a line begins with it */
/* A line for a key whose value the file makes when it runs, unless the job has one. */
void ask_if_unread(Import *im, const Leaf *leaf, const char *path);
void take_sharding(Import *im, Leaf *leaf, const char *word); /* FULL_SHARD ... (accelerate.c) */
void convert_fsdp_config(Import *im); /* keys fsdp_NAME, of Trainer's fsdp_config too */
bool key_takes(Import *im, const char *path,
               const char *word); /* is the key built, has it the word? */
void take_offload(Import *im, Leaf *leaf, const char *path);
void take_states_too(Import *im);               /* where weights are offloaded alone */
const char *bytes_of(Import *im, double bytes); /* as Lua: "25MB" */
double precision_bytes(const Import *im,
                       const char *path); /* of a number in precision.grad or .param */

/* ---- tools: leaves of `tool` become settings */

void convert_deepspeed(Import *im);
void convert_accelerate(Import *im);
void convert_trainer(Import *im);
void convert_torchtitan(Import *im);
void convert_megatron(Import *im);
void convert_nanogpt(Import *im);
void convert_llmc(Import *im);
void convert_launchers(Import *im);
void convert_rest(Import *im); /* leaves that no tool took: by words.h */
/* The tool's formula, for a comment with both rates at five steps: log, deepspeed (warm-up
 * is linear), torch, nanogpt, llmc, titan. */
void import_rates(Import *im, const char *tool, const char *formula);
void rates_write(Import *im);
/* The rate that section schedule says; warm-up and floor are shares of lr. */
typedef struct RateCurve {
  const char *schedule;
  double lr, warmup, over, start, floor;
} RateCurve;
/* Both rates at five steps, a line each. */
void rates_lines(Arena *arena, const char *title, const char *formula, const RateCurve *c,
                 Texts *out);
double rate_theirs(const char *formula, const char *schedule, double step, double warmup,
                   double over, double start, double floor);
double rate_ours(const char *schedule, double step, double warmup, double over, double start,
                 double floor);

/* ---- the whole (import.c, write.c) */

typedef struct ImportAsk {
  const char *const *files;
  int32_t file_count;
  const char *command; /* or NULL */
  const char *as;      /* or NULL */
  const char *const *defines;
  int32_t define_count;
  const char *out; /* or NULL */
} ImportAsk;

Import *import_read(Compile *c, const ImportAsk *ask); /* NULL: reported */
int32_t import_lost(const Import *im);                 /* leaves that change training */
int32_t import_unknown(const Import *im);
void import_tell_lost(Import *im, FILE *out); /* both kinds, a line each with its place */
const char *import_job(Import *im);
void import_json(Import *im, FILE *out);

#endif
