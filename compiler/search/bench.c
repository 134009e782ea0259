/* bench.c -- a compile for one thread, and the parts of a key in it. */
#include "compiler/draft/stages/stages.h"
#include "compiler/job/batch.h"
#include "compiler/machine/place/place.h"
#include "compiler/search/bounds.h"

/* As spec_derive has them, without degrees that would have to divide them. */
static void measure_batch(Bench *bench) {
  const Job *job = &bench->job;
  Derived *out = &bench->known.derived;
  const int64_t positions = compile_facts(&bench->known).positions;
  const bool has_context = job->set[FIELD_train_context];
  const bool is_table = job->data.head == CHOICE_TABLE ||
                        (job->data.head == CHOICE_SYNTHETIC && positions <= 0 && !has_context);
  out->sample_tokens = is_table ? 1 : has_context ? job->train.context : positions;
  out->batch_samples = (int64_t)job->train.batch.value;
  if (job->train.batch.unit == UNIT_TOKENS && out->sample_tokens > 0)
    out->batch_samples /= out->sample_tokens;
}

bool bench_meet(Compile *c, Job *job, const Machine *machine, Compiled *known) {
  if (!compile_meet(c, job, machine, known)) return false;
  const ModelFacts facts = compile_facts(known);
  return job->use != USE_TRAIN || spec_check_batch(c, job, &facts, known->cluster.ranks);
}

bool bench_open(Bench *bench, const Subject *subject) {
  *bench = (Bench){.uses = 1};
  bench->compile = compile_new(subject->specs_dir);
  bench->job = *subject->job;
  /* so that the copy grows in other memory than the original */
  bench->job.sizes.capacity = bench->job.sizes.count;
  if (!bench_meet(bench->compile, &bench->job, subject->machine, &bench->known)) return false;
  bench->known.budget_share = TIGHT_SHARE;
  bench->known.budget_bytes =
      compile_budget_of(&bench->job, &bench->known, NULL, &bench->known.outside);
  measure_batch(bench);
  bench->met = bench->job;
  bench->met_known = bench->known;
  return true;
}

bool bench_again(Bench *bench, const Subject *subject) {
  enum { USES_MOST = 16 };
  if (bench->uses > 0 && (bench->uses >= USES_MOST || compile_failed(bench->compile)))
    bench_close(bench);
  if (bench->uses == 0) return bench_open(bench, subject);
  bench->uses++;
  bench->job = bench->met;
  bench->known = bench->met_known;
  return true;
}

void bench_close(Bench *bench) {
  compile_close(&bench->known);
  compile_free(bench->compile);
  bench->uses = 0;
}

/* The parts, as ranks of the smallest pipeline have them: with zero 0, which shares nothing. */
const Draft *parts_of(Bench *bench, const PartsKey *key, CutRule *why) {
  Compiled *known = &bench->known;
  Job *job = &bench->job;
  Derived *derived = &known->derived;
  int64_t rest = known->cluster.ranks / (key->tp * key->cp), pp = 1, units = 0;
  const bool has_seq = derived->sample_tokens > 1;
  const int64_t pieces = key->cp == 1                           ? 1
                         : job->parallel.cp_kind == CHOICE_RING ? 2 * key->cp
                                                                : key->cp;
  for (int64_t i = 2; key->is_split && pp == 1 && i <= rest; i++)
    if (rest % i == 0) pp = i;
  derived->sequence = setting_is_kept(job, FIELD_parallel_sequence) ? job->parallel.sequence
                                                                    : key->tp > 1 && has_seq;
  *why = CUT_DIVIDES;
  const int64_t cut = derived->sequence ? key->cp * key->tp : 1;
  if (derived->sample_tokens % pieces != 0 || derived->sample_tokens % cut != 0) return NULL;
  derived->tp = key->tp, derived->cp = key->cp, derived->pp = pp;
  derived->dp = rest / pp;
  derived->chunks = derived->shard_ranks = derived->accumulation = 1;
  derived->zero = 0;
  job->train.microbatch = key->microbatch;
  job->parallel.regather = key->regather;
  job->parallel.pipeline = key->is_split ? PIPE_ZB_H1 : PIPE_1F1B;
  *why = CUT_MODEL;
  Draft *d = compile_segments(bench->compile, job, known, key->recompute);
  if (d == NULL) return NULL;
  for (RegionId r = 0; r < d->train->regions.count; r++)
    units += d->train->regions.at[r].repeat;
  d->known_cuts = ARENA_NEW(d->compile->arena, KnownCuts);
  *d->known_cuts =
      (KnownCuts){d->compile->arena, ARENA_ARRAY(d->compile->arena, int32_t *, units + 1)};
  *why = CUT_DOMAIN;
  return place_check_tp(bench->compile, job, known->fabric, d->usual) ? d : NULL;
}
