/* shards.c -- which ranks share states: the ZeRO level, and the size of groups within dp x cp. */
#include "compiler/job/job_room.h"

/* zero as it was written: 0 to 3, or FSDP's word for it. */
static int32_t zero_field(const Job *job) {
  return field_is_said(job, FIELD_parallel_shard) ? FIELD_parallel_shard : FIELD_parallel_zero;
}

static const char *sharing_text(Arena *arena, const Derived *out) {
  return arena_printf(arena, "dp %lld x cp %lld", (long long)out->dp, (long long)out->cp);
}

static bool derive_zero(Compile *c, Job *job, Derived *out) {
  int64_t sharing = out->dp * out->cp;
  bool is_said =
      field_is_said(job, FIELD_parallel_zero) || field_is_said(job, FIELD_parallel_shard);
  const char *rule =
      arena_printf(c->arena, "%s is %s1", sharing_text(c->arena, out), sharing > 1 ? "above " : "");
  if (!is_said) {
    job->parallel.zero = sharing > 1;
    field_derive(job, FIELD_parallel_zero, rule);
  }
  out->zero = job->parallel.zero;
  if (out->zero == 0 || sharing > 1) return true;
  int32_t field = zero_field(job);
  error_at(c, field_place(job, field), "conflict",
           "zero %lld shares states between the ranks of %s, and that is one rank",
           (long long)out->zero, sharing_text(c->arena, out));
  fix_last(c, "remove %s", spec_fields[field].key);
  return false;
}

/* offload = "nvme": weights are in files where the rank that updates one has all that it reads. */
static void derive_weights(Job *job, const Derived *out) {
  if (field_is_said(job, FIELD_offload_weights) || job->offload.head != CHOICE_OFFLOAD_NVME ||
      job->offload.optimizer != CHOICE_OFFLOAD_NVME || (out->zero != 3 && out->dp * out->cp > 1))
    return;
  job->offload.weights = CHOICE_OFFLOAD_NVME;
  field_derive(job, FIELD_offload_weights, "offload = \"nvme\"");
}

static void check_users(Compile *c, const Job *job, const Derived *out) {
  static const int32_t fields[] = {FIELD_parallel_zero_unit, FIELD_parallel_zero_prefetch,
                                   FIELD_parallel_zero_keep};
  const bool is_cast = job->precision.param != job->precision.compute;
  const char *state = arena_printf(c->arena, "zero is %lld", (long long)out->zero);
  for (size_t i = 0; out->zero != 3 && i < sizeof fields / sizeof *fields; i++)
    refuse_useless(c, job, fields[i], "zero 3", state);
  if (out->zero != 3 && !is_cast)
    refuse_useless(c, job, FIELD_parallel_zero_reshard,
                   "zero 3, and for parameters that are cast for kernels", state);
  if (job->offload.weights != CHOICE_OFFLOAD_NONE && out->zero != 3 && out->dp * out->cp > 1) {
    error_at(c, field_place(job, FIELD_offload_weights), "conflict",
             "offload.weights: the ranks of %s each update a piece of the weights; those that go "
             "to host memory are the pieces of zero 3, and %s",
             sharing_text(c->arena, out), state);
    fix_last(c, "parallel = { zero = 3 }");
  }
  if (job->offload.grads != CHOICE_OFFLOAD_NONE && out->pp > 1 &&
      pipe_rules[job->parallel.pipeline].is_split) {
    error_at(c, field_place(job, FIELD_offload_grads), "conflict",
             "offload.grads: a layer's gradients pass through the device once a micro-batch, and "
             "this pipeline makes those of weights later than the others");
    fix_last(c, "parallel = { pipeline = \"1f1b\" }");
  }
  if (out->zero < 2) refuse_useless(c, job, FIELD_parallel_zero_reduce, "zero 2 or 3", state);
  if (out->zero == 0) refuse_useless(c, job, FIELD_parallel_zero_group, "zero 1 to 3", state);
}

/* ---- groups */

/* Sizes a group may have: whole rings of cp, a share of all, and more than one rank. */
static CountList legal_groups(Arena *arena, const Derived *out) {
  CountList dps = divisors(arena, out->dp), list = {0};
  for (int32_t i = 0; i < dps.count; i++)
    if (dps.at[i] * out->cp > 1) VEC_PUSH(arena, &list, dps.at[i] * out->cp);
  return list;
}

static int32_t group_field(const Job *job) {
  return field_is_said(job, FIELD_parallel_zero_group) ? FIELD_parallel_zero_group
                                                       : FIELD_parallel_shard;
}

static bool refuse_group(Compile *c, const Job *job, const Derived *out, int64_t group) {
  CountList legal = legal_groups(c->arena, out);
  const char *what = "shares nothing";
  if (group % out->cp != 0)
    what = arena_printf(c->arena, "is not a multiple of cp %lld", (long long)out->cp);
  else if (group > 1)
    what =
        arena_printf(c->arena, "does not divide %s = %lld rank%s", sharing_text(c->arena, out),
                     (long long)out->dp * (long long)out->cp, plural(out->dp * (long long)out->cp));
  error_at(c, field_place(job, FIELD_parallel_zero_group), "zero-group",
           "zero_group %lld %s; it may be %s", (long long)group, what,
           counts_text(c->arena, &legal, group));
  if (group == 1 && out->cp == 1)
    fix_last(c, "zero = 0");
  else
    fix_last(c, "zero_group = %lld", (long long)counts_nearest(&legal, group));
  return false;
}

static void fix_node(Compile *c, const Job *job, const Derived *out) {
  if (group_field(job) == FIELD_parallel_shard && out->zero == 3)
    fix_last(c, "shard = \"full\"");
  else
    fix_last(c, "remove zero_group");
}

/* A node is a run of ranks and a replica is tp x cp x pp of them, so a node holds whole replicas or
 * a part of one. */
static bool group_of_node(Compile *c, const Job *job, const Cluster *cluster, Derived *out) {
  int64_t replica = out->tp * out->cp * out->pp;
  Span at = field_place(job, group_field(job));
  if (cluster->nodes == 1) {
    error_at(c, at, "zero-group",
             "%s shares states inside a node and repeats them on each node; there is one node",
             group_field(job) == FIELD_parallel_shard ? "shard = \"hybrid\""
                                                      : "zero_group = \"node\"");
    fix_node(c, job, out);
    note_at(c, (Span){0}, "groups inside a node have a size: zero = %lld, zero_group = N",
            (long long)out->zero);
    return false;
  }
  out->shard_ranks = cluster->devices / (out->tp * out->pp);
  if (cluster->devices % replica == 0 && out->shard_ranks > 1) return true;
  const char *sentence =
      cluster->devices % replica != 0
          ? "the devices of a node are not whole replicas"
          : "a node holds one rank of dp x cp, so there is no other to share with";
  error_at(c, at, "zero-group",
           "zero_group = \"node\": %s: %lld device%s, tp %lld x cp %lld x pp %lld", sentence,
           (long long)cluster->devices, plural(cluster->devices), (long long)out->tp,
           (long long)out->cp, (long long)out->pp);
  fix_node(c, job, out);
  CountList legal = legal_groups(c->arena, out);
  note_at(c, (Span){0}, "a group may be %s of the %s ranks",
          counts_text(c->arena, &legal, out->dp * out->cp), sharing_text(c->arena, out));
  return false;
}

bool derive_shards(Compile *c, Job *job, const Cluster *cluster, Derived *out) {
  int32_t errors = c->diags.error_count;
  int64_t sharing = out->dp * out->cp;
  if (!derive_zero(c, job, out)) return false;
  derive_weights(job, out);
  check_users(c, job, out);
  if (c->diags.error_count > errors) return false;
  out->shard_ranks = out->zero > 0 ? sharing : 1;
  bool is_hybrid =
      field_is_said(job, FIELD_parallel_shard) && job->parallel.shard == CHOICE_SHARD_HYBRID;
  if (!is_hybrid && !field_is_said(job, FIELD_parallel_zero_group)) {
    job->parallel.zero_group = out->shard_ranks;
    field_derive(job, FIELD_parallel_zero_group,
                 out->zero > 0 ? sharing_text(c->arena, out) : "zero is 0");
    return true;
  }
  int64_t group = job->parallel.zero_group;
  if (group == ZERO_GROUP_NODE) return group_of_node(c, job, cluster, out);
  bool is_legal = group > 1 && group % out->cp == 0 && sharing % group == 0;
  out->shard_ranks = group;
  return is_legal ? true : refuse_group(c, job, out, group);
}
