/* launch_memory.c -- a limit of memory that the job or its site sets holds what the plan puts into
 * a node's memory. Without one sbatch is asked for all memory of each node. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/draft/cost/nodes.h"
#include "compiler/show/explain/explain.h"
#include "slurm/launch_lines.h"

/* Bytes of a size as Slurm reads it: MiB without a letter. -1: it is none. */
static int64_t slurm_size_bytes(const char *text) {
  static const char letters[] = "KMGT";
  char *end;
  const double number = (double)strtoull(text, &end, 10);
  if (end == text || !isdigit((unsigned char)*text)) return -1;
  const char *letter = *end == '\0' ? letters + 1 : strchr(letters, toupper((unsigned char)*end));
  if (letter == NULL || (*end != '\0' && end[1] != '\0' && strcasecmp(end + 1, "B") != 0))
    return -1;
  double bytes = number;
  for (const char *power = letters; power <= letter; power++)
    bytes *= 1024;
  return bytes < (double)INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

/* Bytes that the ranks of a node take of its memory: on processors all of them. */
static int64_t node_bytes(Compile *c, const Compiled *compiled, uint32_t *ranks) {
  const bool is_shared = compiled->cluster.target == TARGET_CPU;
  const NodeNeeds needs = node_needs(c->arena, &compiled->plan);
  int64_t most_bytes = 0;
  Saves saves = {0};
  if (!explain_saves(compiled, &saves)) saves = (Saves){0};
  for (int32_t i = 0; i < needs.count; i++) {
    const NodeNeed *node = &needs.at[i];
    const int64_t bytes =
        (is_shared ? node->all_bytes : node->host_bytes) + saves.kept_bytes * (int64_t)node->ranks;
    if (bytes > most_bytes) most_bytes = bytes, *ranks = node->ranks;
  }
  return most_bytes;
}

/* How many times a node gets the size of the option; 0: that is not known, because a node that is
 * taken whole gives all its processors and GPUs to the job. */
static int64_t times_of(const Compiled *compiled, const char *option) {
  const Job *job = compiled->job;
  const PairList *own = &job->slurm.sbatch;
  const Pair *exclusive = launch_pair(own, "exclusive");
  const bool is_whole = exclusive ? !exclusive->is_off : !launch_pair(own, "oversubscribe");
  if (strcmp(option, "mem") == 0) return 1;
  if (is_whole) return 0;
  if (strcmp(option, "mem-per-gpu") == 0) return compiled->cluster.devices;
  return compiled->cluster.target == TARGET_CPU
             ? compiled->cluster.threads * compiled->cluster.devices
             : job->cluster.cores;
}

/* A size that is none. */
static bool refuse_size(Compile *c, const Pair *pair, const char *section) {
  error_at(c, pair->origin.span, "wrong-type",
           "%s: --%s is a whole number with K, M, G or T (MiB without); got \"%s\"", section,
           pair->name, text_plain(c->arena, pair->text));
  const bool is_word = strchr(pair->name, '-') == NULL;
  fix_last(c, "%s = { %s%s%s = \"64G\" }", section, is_word ? "" : "[\"", pair->name,
           is_word ? "" : "\"]");
  return false;
}

/* False when reported. */
static bool check_pair(Compile *c, const Compiled *compiled, const Pair *pair, bool is_step) {
  const char *section = is_step ? "slurm.srun" : "slurm.sbatch";
  uint32_t ranks = 0;
  const int64_t said_bytes = slurm_size_bytes(pair->text);
  if (said_bytes < 0) return refuse_size(c, pair, section);
  const int64_t times = times_of(compiled, pair->name);
  if (said_bytes == 0 || times == 0 || said_bytes > INT64_MAX / times) return true;
  const int64_t need_bytes = node_bytes(c, compiled, &ranks), limit_bytes = said_bytes * times;
  if (limit_bytes >= need_bytes) return true;
  error_at(c, pair->origin.span, "does-not-fit",
           "%s: --%s=%s limits a node to %s of memory, and the plan puts %s there for %u rank%s",
           section, pair->name, pair->text, format_bytes_beside(c->arena, limit_bytes, need_bytes),
           format_bytes_beside(c->arena, need_bytes, limit_bytes), ranks, plural(ranks));
  if (is_step)
    fix_last(c, "leave %s out: the step gets the job's memory", pair->name);
  else
    fix_last(c, "slurm.sbatch = { mem = \"0\" }");
  note_at(c, (Span){0},
          "without a limit, or with 0, the job gets all memory of its nodes; a limit must also "
          "hold programs and libraries");
  return false;
}

bool launch_check_memory(Compile *c, const Compiled *compiled) {
  static const char *const options[] = {"mem", "mem-per-cpu", "mem-per-gpu"};
  const PairList *lists[] = {&compiled->job->slurm.sbatch, &compiled->job->slurm.srun};
  bool is_good = true;
  for (int32_t l = 0; l < 2; l++)
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
      const Pair *pair = launch_pair(lists[l], options[i]);
      if (pair != NULL && !pair->is_off) is_good &= check_pair(c, compiled, pair, l == 1);
    }
  return is_good;
}
