/* export.h -- a job as a file of another tool, to run the same training there as a baseline.
 *
 *   job, degrees  ->  entries {their key, value}    export_deepspeed.c export_megatron.c ...
 *   entries       ->  JSON, YAML, TOML, a script    export_write.c
 *   what has no entry  ->  untold {our key, what happens there instead}   export.c
 *
 * Names and words are those of pairs.def, which import reads, too. */
#ifndef LOCKSTEP_EXPORT_H
#define LOCKSTEP_EXPORT_H

#include "compiler/job/import/pairs.h"
#include "compiler/job/job.h"

/* Sizes of a model of the family gpt2 or llama. */
typedef struct ExportModel {
  const char *family; /* "gpt2", "llama", or NULL: another */
  double layers, width, heads, kv_heads, ffn, vocab, positions, rope_base, norm_eps, dropout;
  bool is_tied;
} ExportModel;

typedef struct ExportAsk {
  const Job *job; /* complete: compile has read it */
  const Derived *derived;
  int64_t nodes, devices;
  RecomputeChoice recompute; /* as compile chose it */
  int64_t recompute_blocks;  /* of CHOICE_RECOMPUTE_EVERY */
  const ExportModel *model;
} ExportAsk;

typedef struct ConfigEntry {
  const char *key, *value; /* "optimizer.params.lr", a literal of JSON */
} ConfigEntry;

typedef struct Untold {
  const char *key, *value; /* of the job; value NULL: a section, or nothing that one value says */
  const char *why;         /* the other tool's behaviour instead */
} Untold;

typedef struct Config {
  Arena *arena;
  const ExportAsk *ask;
  const Job *job;
  const Derived *derived;
  const char *tool, *title;
  VEC(ConfigEntry)
  entries;
  VEC(Untold)
  untold;
  Texts told;          /* keys of the job that entries, or what follows from them, say */
  const char *launch;  /* the line that starts the ranks there */
  const char *formula; /* of its learning rate, of rates.c; NULL: as here */
} Config;

bool export_takes(const char *tool); /* is it one of export_tools? */
/* NULL: no tool that jobs are written for. */
Config *export_config(Arena *arena, const ExportAsk *ask, const char *tool);
const char *export_text(Config *x); /* the file */
void export_tell(const Config *x, FILE *out);
extern const char *const export_tools; /* separated by blanks */

/* ---- for the tools' files */

void entry_put(Config *x, const char *key, const char *value);
void entry_word(Config *x, const char *key, const char *text);
void entry_number(Config *x, const char *key, double number);
/* Their key of ours by pairs.def; told. */
void entry_ours(Config *x, const char *ours, double number);
/* Their word of a value of ours by pairs.def. False: there is none. */
bool entry_ours_word(Config *x, const char *ours, const char *value);
void entry_says(Config *x, const char *ours); /* entries say it */
void untold(Config *x, const char *ours, const char *why);
void untold_of(Config *x, const char *ours, const char *value, const char *why);
bool job_says(const Config *x, int32_t field);
double schedule_over(const Config *x); /* train.steps where the job does not say it */
void entry_training(Config *x);        /* steps, seed, the optimizer with all of its keys */
void entry_adamw(Config *x); /* beta1, beta2, eps of optimizers that have them, decay, clip, lr */
const char *schedule_value(const Config *x); /* as Lua: "\"cosine\"" */

void export_deepspeed(Config *x);
void export_accelerate(Config *x);
void export_trainer(Config *x);
void export_torchtitan(Config *x);
void export_megatron(Config *x);
/* The zero_optimization of ds_config.json, which Trainer takes inside its own file, too. */
void export_zero(Config *x, const char *prefix);

#endif
