/* parallel.c -- keys of section parallel that contradict each other, and FSDP's words for zero.
 * Checks that need the number of ranks are in degrees.c and shards.c. */
#include "compiler/job/job_room.h"

/* Keys that belong to a degree above 1. */
static void check_owners(Compile *c, Job *job) {
  static const struct {
    int32_t field, degree;
    const char *owner;
  } owned[] = {{FIELD_parallel_sequence, FIELD_parallel_tp, "tp above 1"},
               {FIELD_parallel_regather, FIELD_parallel_tp, "tp above 1"},
               {FIELD_parallel_cp_kind, FIELD_parallel_cp, "cp above 1"},
               {FIELD_parallel_pipeline, FIELD_parallel_pp, "pp above 1"},
               {FIELD_parallel_stages, FIELD_parallel_pp, "pp above 1"}};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
    int64_t degree = *(const int64_t *)field_at(job, owned[i].degree);
    const char *state = arena_printf(c->arena, "%s is 1", spec_fields[owned[i].degree].key);
    if (degree == 1) refuse_useless(c, job, owned[i].field, owned[i].owner, state);
  }
  bool is_whole = field_is_said(job, FIELD_parallel_sequence) && !job->parallel.sequence;
  if (job->parallel.tp > 1 && is_whole && job->parallel.regather)
    refuse_useless(c, job, FIELD_parallel_regather, "sequence", "sequence is false");
}

static void check_stages(Compile *c, Job *job) {
  if (job->parallel.pp == 1 || !field_is_said(job, FIELD_parallel_stages)) return;
  int64_t chunks = chunks_of(job);
  int64_t parts = job->parallel.pp * chunks;
  int64_t count = job->parallel.stages.count;
  if (count == parts) return;
  const char *product = chunks > 1 ? arena_printf(c->arena, " x chunks %lld = %lld",
                                                  (long long)chunks, (long long)parts)
                                   : "";
  error_at(c, job->origin[FIELD_parallel_stages].span, "stages",
           "parallel.stages has %lld count%s of layers for pp %lld%s", (long long)count,
           plural(count), (long long)job->parallel.pp, product);
  fix_last(c, "remove stages");
  note_at(c, (Span){0}, "without it layers are spread evenly");
}

/* shard = "full" is zero = 3. */
static void settle_shard(Compile *c, Job *job) {
  static const int64_t zeros[] = {0, 2, 3, 3};
  if (!field_is_said(job, FIELD_parallel_shard)) return;
  const char *word =
      word_at(c->arena, spec_fields[FIELD_parallel_shard].values, job->parallel.shard);
  bool is_hybrid = job->parallel.shard == CHOICE_SHARD_HYBRID;
  const char *rule = arena_printf(c->arena, "shard = \"%s\"", word);
  int64_t zero = zeros[job->parallel.shard];
  Span at = job->origin[FIELD_parallel_shard].span;
  if (field_is_said(job, FIELD_parallel_zero)) {
    error_at(c, at, "conflict", "parallel.shard is another word for zero; zero = %lld is set, too",
             (long long)job->parallel.zero);
    fix_last(c, "remove shard");
    return;
  }
  if (is_hybrid && field_is_said(job, FIELD_parallel_zero_group)) {
    error_at(c, at, "conflict",
             "shard = \"hybrid\" is zero = 3 with zero_group = \"node\"; "
             "zero_group is set, too");
    fix_last(c, "zero = 3");
    return;
  }
  job->parallel.zero = zero;
  field_derive(job, FIELD_parallel_zero, rule);
  if (!is_hybrid) return;
  job->parallel.zero_group = ZERO_GROUP_NODE;
  field_derive(job, FIELD_parallel_zero_group, rule);
}

void parallel_rules(Compile *c, Job *job) {
  if (!job->set[FIELD_parallel_stages])
    job->origin[FIELD_parallel_stages].rule = job->parallel.pp > 1 ? "balanced" : "pp is 1";
  if (!job->set[FIELD_parallel_shard]) job->origin[FIELD_parallel_shard].rule = "zero says it";
  if (job->parallel.head != CHOICE_PARALLEL_AUTO) { /* degrees are not chosen yet */
    check_owners(c, job);
    check_stages(c, job);
  }
  settle_shard(c, job);
}
