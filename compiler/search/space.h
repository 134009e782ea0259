/* space.h -- the settings of a job that tune may choose, and all that are legal.
 *
 * Keys that the job's file or -D sets are kept. */
#ifndef LOCKSTEP_SPACE_H
#define LOCKSTEP_SPACE_H

#include "compiler/compile.h"

/* A choice of all keys that tune may set. */
typedef struct Setting {
  int64_t tp, cp, pp, chunks, microbatch, zero;
  int32_t pipeline;      /* PipeKind */
  bool groups_are_nodes; /* parallel.zero_group = "node" */
  bool regather;
  Recompute recompute;
} Setting;

/* Why settings are left out, in the order in which they are looked at. */
typedef enum CutRule {
  CUT_DIVIDES,
  CUT_MODEL,
  CUT_DOMAIN,
  CUT_DOMINATED,
  CUT_MEMORY,
  CUT_TIME,
  CUT_FORECAST,
  CUT_LIMIT,
  CUT_ESTIMATE,
  CUT_RULES
} CutRule;
extern const char *const cut_texts[CUT_RULES], *const cut_words[CUT_RULES]; /* words: for JSON */

/* The keys that one layer's code depends on: all settings with equal ones share it. */
typedef struct PartsKey {
  int64_t tp, cp, microbatch;
  bool is_split; /* backward, for the orders that defer weight gradients */
  bool regather;
  Recompute recompute;
} PartsKey;

/* A stage keeps this at one moment of an order that defers weight gradients: chunks of
 * micro-batches whose forward frames are needed, and of these those that wait for their weight
 * gradients only. */
typedef struct KeptAt {
  int32_t frames, deferred;
} KeptAt;

/* The moments of each stage at which it keeps more than at others: [first[s], first[s + 1]). More
 * micro-batches than these keep no less. */
typedef struct Kept {
  int32_t kind, stages, microbatches;
  const int32_t *first;
  const KeptAt *at;
} Kept;

typedef struct PartsKeys {
  PartsKey *at;
  int32_t count;
  Kept *kept; /* of each split order and number of stages */
  int32_t kept_count;
  int64_t cut[CUT_RULES]; /* combinations that were left out */
} PartsKeys;

/* All combinations of the keys that the job leaves open. `model` is open, `derived` known. */
PartsKeys parts_keys(Arena *arena, const Job *job, const Compiled *known);

bool setting_equals(const Setting *a, const Setting *b);

/* Sets the keys in a copy of a job that has been read. */
void setting_apply(const Setting *setting, Job *job);

/* True if the job itself sets the key. */
bool setting_is_kept(const Job *job, int32_t field);

/* The keys that tune has chosen, as options of the command line take them: "parallel.tp=8". Keys
 * that the job sets, and those that have their default, are left out. */
TextList setting_options(Arena *arena, const Job *job, const Setting *setting);

/* The same as sections of a job file. */
const char *setting_section(Arena *arena, const Job *job, const Setting *setting);

/* "tp 8, pp 4, dp 16, 1f1b, micro-batch 2, zero 1, recompute none" */
const char *setting_words(Arena *arena, const Setting *setting, int64_t dp);

/* The same as a row of a table, below setting_head; zero with n: its groups are nodes. */
extern const char setting_head[];
const char *setting_text(Arena *arena, const Setting *setting, int64_t dp);

const char *recompute_word(Arena *arena, Recompute recompute);

#endif
