#include "compiler/search/space.h"

#include <math.h>

#include "compiler/draft/draft.h"

const char *const cut_texts[CUT_RULES] = {
    [CUT_DIVIDES] = "ranks, batch, layers or sequence do not divide so",
    [CUT_MODEL] = "the model cannot be cut so",
    [CUT_DOMAIN] = "tp would leave the links of its domain",
    [CUT_DOMINATED] = "another does the same work and keeps or sends less",
    [CUT_MEMORY] = "weights, states and kept activations alone are more than a rank has",
    [CUT_TIME] = "their computation alone takes longer than the best",
    [CUT_FORECAST] = "forecast from their parts to take longer than the best",
    [CUT_LIMIT] = "not decided when the search ended at its limit",
    [CUT_ESTIMATE] = "estimated in full: rows below, slower or too large ones"};

const char *const cut_words[CUT_RULES] = {
    [CUT_DIVIDES] = "divides",     [CUT_MODEL] = "model",   [CUT_DOMAIN] = "domain",
    [CUT_DOMINATED] = "dominated", [CUT_MEMORY] = "memory", [CUT_TIME] = "time",
    [CUT_FORECAST] = "forecast",   [CUT_LIMIT] = "limit",   [CUT_ESTIMATE] = "estimate"};

/* Above this, more samples at once make no kernel faster and only take memory. */
enum { MICROBATCH_MOST = 64, CP_MOST = 64 };

bool setting_is_kept(const Job *job, int32_t field) {
  return field_is_said(job, field);
}

/* ---- combinations */

typedef struct Keys {
  Arena *arena;
  PartsKeys *out;
  int32_t capacity;
} Keys;

static void add_key(Keys *keys, PartsKey key) {
  PartsKeys *out = keys->out;
  out->at = vec_grow(keys->arena, out->at, out->count, &keys->capacity, sizeof *out->at);
  out->at[out->count++] = key;
}

typedef VEC(Recompute) Recomputes;

static Recomputes recomputes_of(Arena *arena, const Job *job, const Compiled *known) {
  const int64_t root = (int64_t)lround(sqrt(model_size(known->model, "layers", 1)));
  const Recompute all[] = {{CHOICE_RECOMPUTE_NONE, 0},
                           {CHOICE_RECOMPUTE_SELECTIVE, 1},
                           {CHOICE_RECOMPUTE_BLOCK, 1},
                           {CHOICE_RECOMPUTE_EVERY, root > 1 ? root : 2}};
  Recomputes list = {0};
  const int32_t wanted = job->memory.recompute;
  const bool is_open = wanted == CHOICE_RECOMPUTE_AUTO;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (is_open || all[i].choice == (RecomputeChoice)wanted ||
        (wanted == CHOICE_RECOMPUTE_SQRT && i + 1 == sizeof all / sizeof *all))
      VEC_PUSH(arena, &list,
               wanted == CHOICE_RECOMPUTE_EVERY
                   ? (Recompute){CHOICE_RECOMPUTE_EVERY, job->recompute_blocks}
                   : all[i]);
  return list;
}

static bool may_split(const Job *job, bool is_split) {
  return !setting_is_kept(job, FIELD_parallel_pipeline) ||
         pipe_rules[job->parallel.pipeline].is_split == is_split;
}

/* The values that a key may take: its own if the job sets it, else the divisors of `n`. */
static CountList values_of(Arena *arena, const Job *job, int32_t field, int64_t said, int64_t n,
                           int64_t most) {
  CountList list = {0};
  if (setting_is_kept(job, field)) {
    VEC_PUSH(arena, &list, said);
    return list;
  }
  for (int64_t i = 1; i <= n && i <= most; i++)
    if (n % i == 0) VEC_PUSH(arena, &list, i);
  return list;
}

static void add_variants(Keys *keys, const Job *job, const Compiled *known, PartsKey key) {
  const Recomputes recomputes = recomputes_of(keys->arena, job, known);
  for (int32_t r = 0; r < recomputes.count; r++)
    for (int32_t split = 0; split <= 1; split++) {
      key.recompute = recomputes.at[r];
      key.is_split = split != 0;
      key.regather = job->parallel.regather;
      if (!may_split(job, key.is_split)) continue;
      add_key(keys, key);
      /* Without sequence ranks send as much and keep more. */
      if (key.tp > 1 && known->derived.sample_tokens > 1 &&
          !setting_is_kept(job, FIELD_parallel_sequence))
        keys->out->cut[CUT_DOMINATED]++;
      const bool has_choice =
          key.tp > 1 && key.recompute.choice <= CHOICE_RECOMPUTE_SELECTIVE &&
          !setting_is_kept(job, FIELD_parallel_regather) &&
          (!setting_is_kept(job, FIELD_parallel_sequence) || job->parallel.sequence);
      if (!has_choice) continue;
      key.regather = true;
      add_key(keys, key);
    }
}

/* ---- what split orders keep */

typedef VEC(KeptAt) KeptList;

/* Leaves out moments at which less is kept than at another. */
static void note_moment(Arena *arena, KeptList *list, int32_t first, KeptAt now) {
  for (int32_t i = first; i < list->count; i++)
    if (list->at[i].frames >= now.frames && list->at[i].deferred >= now.deferred) return;
  VEC_PUSH(arena, list, now);
}

static Kept kept_of(Arena *arena, int32_t kind, int32_t stages) {
  const int32_t chunks = pipe_rules[kind].chunks, microbatches = 3 * stages;
  Arena *scratch = arena_new();
  const Pipeline *pipeline = pipeline_make(scratch, (PipeShape){.kind = (PipeKind)kind,
                                                                .stages = stages,
                                                                .chunks = chunks,
                                                                .microbatches = microbatches,
                                                                .costs = pipe_costs_even});
  KeptList list = {0};
  int32_t *first = ARENA_ARRAY(arena, int32_t, stages + 1);
  for (int32_t s = 0; s < stages; s++) {
    const PipeStage *stage = &pipeline->stages[s];
    KeptAt now = {0};
    first[s] = list.count;
    for (int32_t i = 0; i < stage->step_count; i++) {
      const PipeAction action = stage->steps[i].action;
      now.frames += action == PIPE_FORWARD ? 1 : action == PIPE_WEIGHT ? -1 : 0;
      now.deferred += action == PIPE_BACKWARD ? 1 : action == PIPE_WEIGHT ? -1 : 0;
      note_moment(arena, &list, first[s], now);
    }
  }
  first[stages] = list.count;
  arena_free(scratch);
  return (Kept){kind, stages, microbatches, first, list.at};
}

static void keep_orders(Arena *arena, const Job *job, int64_t ranks, PartsKeys *out) {
  enum { STAGES_MOST = 64 };
  const bool is_kept = setting_is_kept(job, FIELD_parallel_pp);
  out->kept = ARENA_ARRAY(arena, Kept, STAGES_MOST * PIPE_KIND_COUNT);
  for (int32_t kind = 0; kind < PIPE_KIND_COUNT; kind++)
    for (int32_t pp = 2; pp <= STAGES_MOST && may_split(job, true); pp++)
      if (pipe_rules[kind].is_split && ranks % pp == 0 && (!is_kept || pp == job->parallel.pp))
        out->kept[out->kept_count++] = kept_of(arena, kind, pp);
}

PartsKeys parts_keys(Arena *arena, const Job *job, const Compiled *known) {
  const Derived *derived = &known->derived;
  const int64_t ranks = known->cluster.ranks;
  PartsKeys out = {0};
  Keys keys = {.arena = arena, .out = &out};
  keep_orders(arena, job, ranks, &out);
  const CountList tps = values_of(arena, job, FIELD_parallel_tp, job->parallel.tp, ranks,
                                  job->parallel.tp_across ? ranks : 4 * known->cluster.devices);
  const bool has_seq = derived->sample_tokens > 1;
  for (int32_t t = 0; t < tps.count; t++) {
    const CountList cps = values_of(arena, job, FIELD_parallel_cp, job->parallel.cp,
                                    has_seq ? ranks / tps.at[t] : 1, CP_MOST);
    const CountList micros = values_of(arena, job, FIELD_train_microbatch, job->train.microbatch,
                                       derived->batch_samples, MICROBATCH_MOST);
    for (int32_t k = 0; k < cps.count; k++)
      for (int32_t m = 0; m < micros.count; m++) {
        const int64_t cp = cps.at[k], micro = micros.at[m];
        const bool is_open = !setting_is_kept(job, FIELD_parallel_cp) &&
                             !setting_is_kept(job, FIELD_train_microbatch);
        if (ranks % tps.at[t] != 0 || ranks / tps.at[t] % cp != 0)
          out.cut[CUT_DIVIDES]++;
        else if (is_open && cp > 1 && micro > 1) /* half of both, and twice the replicas */
          out.cut[CUT_DOMINATED]++;
        else
          add_variants(&keys, job, known,
                       (PartsKey){.tp = tps.at[t], .cp = cp, .microbatch = micro});
      }
  }
  return out;
}

/* ---- a setting in a job */

bool setting_equals(const Setting *a, const Setting *b) {
  return a->tp == b->tp && a->cp == b->cp && a->pp == b->pp && a->chunks == b->chunks &&
         a->microbatch == b->microbatch && a->zero == b->zero && a->pipeline == b->pipeline &&
         a->groups_are_nodes == b->groups_are_nodes && a->regather == b->regather &&
         a->recompute.choice == b->recompute.choice &&
         a->recompute.group_layers == b->recompute.group_layers;
}

static const char by_auto[] = "parallel = \"auto\"";

static void choose(Job *job, int32_t field) {
  if (field_is_said(job, field)) return;
  job->set[field] = true;
  job->origin[field] = (Origin){.kind = ORIGIN_DERIVED, .rule = by_auto};
}

/* Marks the key as set by the job, so that it is not derived again. */
static void say(Job *job, int32_t field) {
  if (field_is_said(job, field)) return;
  job->set[field] = true;
  job->origin[field] = (Origin){.kind = ORIGIN_OVERRIDE, .span = {.file = by_auto}};
}

void setting_apply(const Setting *s, Job *job) {
  static const int32_t fields[] = {FIELD_parallel_tp,      FIELD_parallel_cp,
                                   FIELD_parallel_pp,      FIELD_parallel_regather,
                                   FIELD_train_microbatch, FIELD_memory_recompute};
  /* so that the copy grows in other memory than the original */
  job->sizes.capacity = job->sizes.count;
  job->parallel.tp = s->tp;
  job->parallel.cp = s->cp;
  job->parallel.pp = s->pp;
  job->parallel.pipeline = s->pipeline;
  job->pipeline_chunks = s->chunks;
  job->parallel.regather = s->regather;
  job->train.microbatch = s->microbatch;
  job->memory.recompute = (int32_t)s->recompute.choice;
  if (s->recompute.choice == CHOICE_RECOMPUTE_EVERY)
    job->recompute_blocks = s->recompute.group_layers;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    choose(job, fields[i]);
  if (s->pp > 1) choose(job, FIELD_parallel_pipeline);
  if (!setting_is_kept(job, FIELD_parallel_zero) && !setting_is_kept(job, FIELD_parallel_shard)) {
    job->parallel.zero = s->zero;
    say(job, FIELD_parallel_zero);
  }
  if (s->groups_are_nodes) {
    job->parallel.zero_group = ZERO_GROUP_NODE;
    say(job, FIELD_parallel_zero_group);
  }
}

/* ---- as text */

const char *recompute_word(Arena *arena, Recompute recompute) {
  switch (recompute.choice) {
  case CHOICE_RECOMPUTE_NONE: return "none";
  case CHOICE_RECOMPUTE_SELECTIVE: return "selective";
  case CHOICE_RECOMPUTE_BLOCK: return "block";
  default: return arena_printf(arena, "every %lld", (long long)recompute.group_layers);
  }
}

/* A key that tune has chosen; text is a value of Lua. */
typedef struct Chosen {
  const char *section, *key, *text;
} Chosen;
typedef VEC(Chosen) ChosenList;

/* A key of -D is not in the file that the section is pasted into. */
static bool is_in_file(const Job *job, int32_t field) {
  return field_is_said(job, field) && job->origin[field].kind != ORIGIN_OVERRIDE;
}

static void add_count(Arena *arena, ChosenList *list, const Job *job, int32_t field,
                      const char *section, const char *key, int64_t value, int64_t usual) {
  if (is_in_file(job, field) || value == usual) return;
  VEC_PUSH(arena, list, (Chosen){section, key, arena_printf(arena, "%lld", (long long)value)});
}

static const char *pipeline_value(Arena *arena, const Setting *s) {
  const char *word = pipe_rules[s->pipeline].word;
  return pipe_rules[s->pipeline].chunks == 0
             ? arena_printf(arena, "{ \"%s\", chunks = %lld }", word, (long long)s->chunks)
             : arena_printf(arena, "\"%s\"", word);
}

static const char *recompute_value(Arena *arena, const Setting *s) {
  if (s->recompute.choice != CHOICE_RECOMPUTE_EVERY)
    return arena_printf(arena, "\"%s\"", recompute_word(arena, s->recompute));
  return arena_printf(arena, "{ \"every\", blocks = %lld }", (long long)s->recompute.group_layers);
}

static ChosenList chosen_of(Arena *arena, const Job *job, const Setting *s) {
  ChosenList list = {0};
  const bool keeps_zero =
      is_in_file(job, FIELD_parallel_zero) || setting_is_kept(job, FIELD_parallel_shard);
  /* A job with parallel = "auto" would look for the keys that are left out. */
  const int64_t usual = job->parallel.head == CHOICE_PARALLEL_AUTO ? -1 : 1;
  add_count(arena, &list, job, FIELD_train_microbatch, "train", "microbatch", s->microbatch, -1);
  add_count(arena, &list, job, FIELD_parallel_tp, "parallel", "tp", s->tp, usual);
  add_count(arena, &list, job, FIELD_parallel_cp, "parallel", "cp", s->cp, usual);
  add_count(arena, &list, job, FIELD_parallel_pp, "parallel", "pp", s->pp, usual);
  if (s->pp > 1 && !is_in_file(job, FIELD_parallel_pipeline))
    VEC_PUSH(arena, &list, (Chosen){"parallel", "pipeline", pipeline_value(arena, s)});
  if (!keeps_zero)
    add_count(arena, &list, job, FIELD_parallel_zero, "parallel", "zero", s->zero, -1);
  if (s->groups_are_nodes) VEC_PUSH(arena, &list, (Chosen){"parallel", "zero_group", "\"node\""});
  if (s->regather && !is_in_file(job, FIELD_parallel_regather))
    VEC_PUSH(arena, &list, (Chosen){"parallel", "regather", "true"});
  if (job->memory.recompute == CHOICE_RECOMPUTE_AUTO)
    VEC_PUSH(arena, &list, (Chosen){"memory", "recompute", recompute_value(arena, s)});
  return list;
}

TextList setting_options(Arena *arena, const Job *job, const Setting *setting) {
  const ChosenList list = chosen_of(arena, job, setting);
  TextList options = {0};
  for (int32_t i = 0; i < list.count; i++)
    VEC_PUSH(arena, &options,
             arena_printf(arena, "%s.%s=%s", list.at[i].section, list.at[i].key, list.at[i].text));
  return options;
}

const char *setting_section(Arena *arena, const Job *job, const Setting *setting) {
  const ChosenList list = chosen_of(arena, job, setting);
  const char *text = "", *section = NULL;
  for (int32_t i = 0; i < list.count; i++) {
    const Chosen *at = &list.at[i];
    if (section == NULL || section[0] != at->section[0])
      text =
          arena_printf(arena, "%s%s  %-8s = { ", text, section == NULL ? "" : " },\n", at->section);
    else
      text = arena_printf(arena, "%s, ", text);
    section = at->section;
    text = arena_printf(arena, "%s%s = %s", text, at->key, at->text);
  }
  return section == NULL ? "" : arena_printf(arena, "%s },\n", text);
}

static const char *order_word(Arena *arena, const Setting *s) {
  const char *word = pipe_rules[s->pipeline].word;
  if (s->pp == 1) return "-";
  return pipe_rules[s->pipeline].chunks == 0
             ? arena_printf(arena, "%s x%lld", word, (long long)s->chunks)
             : word;
}

const char *setting_words(Arena *arena, const Setting *s, int64_t dp) {
  const char *cp = s->cp > 1 ? arena_printf(arena, "cp %lld, ", (long long)s->cp) : "";
  const char *order = s->pp > 1 ? arena_printf(arena, "%s, ", order_word(arena, s)) : "";
  return arena_printf(
      arena, "tp %lld, %spp %lld, dp %lld, %smicro-batch %lld, zero %lld%s, recompute %s%s",
      (long long)s->tp, cp, (long long)s->pp, (long long)dp, order, (long long)s->microbatch,
      (long long)s->zero, s->groups_are_nodes ? " in nodes" : "",
      recompute_word(arena, s->recompute), s->regather ? ", regather" : "");
}

const char setting_head[] = " tp cp pp    dp order           mb z  recompute         ";

const char *setting_text(Arena *arena, const Setting *s, int64_t dp) {
  const char *recompute = arena_printf(arena, "%s%s", recompute_word(arena, s->recompute),
                                       s->regather ? "+regather" : "");
  return arena_printf(arena, "%3lld%3lld%3lld%6lld %-15s%3lld %lld%s %-18s", (long long)s->tp,
                      (long long)s->cp, (long long)s->pp, (long long)dp, order_word(arena, s),
                      (long long)s->microbatch, (long long)s->zero, s->groups_are_nodes ? "n" : " ",
                      recompute);
}
