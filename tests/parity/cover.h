/* cover.h -- which combinations of options are run: every pair of levels at least once.
 *
 * A case gives each factor one of its levels. Rules, read from refused.txt, are combinations that
 * the program refuses; no case has one. The rest is a covering array, made greedily from a seed:
 * the same on every machine. */
#ifndef LOCKSTEP_TESTS_COVER_H
#define LOCKSTEP_TESTS_COVER_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
#define COVER_FACTORS(F) \
  F(MODEL, "model", "gpt2 llama tied") \
  F(DP, "dp", "1 2 4") \
  F(TP, "tp", "1 2 4") \
  F(PP, "pp", "1 2 4") \
  F(CP, "cp", "1 ring ulysses") /* two ranks */ \
  F(ZERO, "zero", "0 1 2 3 all hybrid1 hybrid2 hybrid3") /* all: 3, small parameters too; hybrid: groups of 2 */ \
  F(PREFETCH, "prefetch", "- 0 2") \
  F(UNIT, "unit", "- some") /* gathered at once: some layers */ \
  F(RESHARD, "reshard", "- chunk step") \
  F(REDUCE, "reduce", "- step") \
  F(BUCKET, "bucket", "- small") \
  F(PIPELINE, "pipeline", "- gpipe 1f1b interleaved zb-h1 zb-v") /* interleaved: two chunks a stage */ \
  F(LAYERS, "layers", "4 7 listed") /* listed: eight, unevenly over the stages */ \
  F(SEQUENCE, "sequence", "- off on regather") \
  F(RECOMPUTE, "recompute", "none selective block sqrt every") /* every: groups of three */ \
  F(CHUNKS, "chunks", "1 4") /* of the loss */ \
  F(ACCUMULATION, "m", "1 2 3 4 6 8") \
  F(MICROBATCH, "micro", "1 2") \
  F(KV_HEADS, "kv", "- 2 1") /* -: eight, as heads */ \
  F(DROPOUT, "dropout", "- on") \
  F(CLIP, "clip", "on off") \
  F(OPTIMIZER, "optimizer", "sgd adamw") \
  F(VALID, "valid", "- on") /* a validation after the last step */
/* clang-format on */

#define COVER_F(id, name, levels) FACTOR_##id,
typedef enum Factor { COVER_FACTORS(COVER_F) FACTOR_COUNT } Factor;
#undef COVER_F

enum { LEVELS_MAX = 8, TUPLE_MAX = 4, CASE_TEXT_BYTES = 400, COVER_WORD_BYTES = 16 };

typedef struct Case {
  int8_t level[FACTOR_COUNT]; /* -1: not decided */
} Case;

const char *case_word(const Case *c, Factor factor); /* of its level: "interleaved" */
bool case_is(const Case *c, Factor factor, const char *word);
int64_t case_number(const Case *c, Factor factor); /* of a level that is one, else 0 */
int64_t case_ranks(const Case *c);

/* "model=gpt2 dp=2 ...": all factors but those that are at their first level. */
void case_print(const Case *c, char text[CASE_TEXT_BYTES]);
/* The other way; what is not named is at its first level. False: printed. */
bool case_parse(Case *c, const char *text);

/* Levels of two to four factors that are refused together, and the name of the error. */
typedef struct Rule {
  Factor factor[TUPLE_MAX];
  int8_t level[TUPLE_MAX];
  int32_t count;
  char error[32];
  int32_t line; /* of the file */
} Rule;

typedef struct Cover {
  Rule *rules;
  int32_t rule_count;
  int64_t ranks_max;
  uint64_t random; /* state */
} Cover;

/* Reads the rules; see the head of refused.txt. False: printed. */
bool cover_open(Cover *cover, const char *path, int64_t ranks_max, uint64_t seed);
void cover_close(Cover *cover);

/* Decides the rest of a case at random. With `broken`, that rule and no other is broken. False:
 * there is none, as far as was tried. */
bool cover_complete(Cover *cover, Case *c, const Rule *broken);

/* Cases that together have every possible tuple of `strength` (1 or 2) levels; at most `count_max`,
 * returns how many. */
int32_t cover_make(Cover *cover, int32_t strength, Case *cases, int32_t count_max);

/* A case with a random triple of levels that is possible. */
Case cover_triple(Cover *cover);

#endif
