/* communicators.c -- the communicators that ranks on GPUs open, and what NCCL keeps for them. */
#include "compiler/show/explain/communicators.h"

#include <string.h>

#include "runtime/plan/plan_job.h"

static bool is_shown(const Compiled *compiled) {
  return job_target(&compiled->plan) == TARGET_CUDA && compiled->plan.comms_count > 0;
}

/* 0 for a plan for processors, or of one rank. */
static Communicators all_of(const Compiled *compiled, uint32_t class) {
  if (!is_shown(compiled)) return (Communicators){0};
  return communicators_of(compiled->draft->compile->arena, &compiled->plan, class);
}

/* "gathers, sums", "3 sent to, 1 received from" */
static const char *use_text(Arena *arena, const Communicator *use) {
  const char *text = use->gathers ? "gathers" : "";
  if (use->sums) text = arena_printf(arena, "%s%ssums", text, *text ? ", " : "");
  if (use->sends + use->receives > 0)
    text = arena_printf(arena, "%s%sto %u, from %u", text, *text ? ", " : "", use->sends,
                        use->receives);
  return *text ? text : "not used";
}

/* Those of the class that needs most memory for them. */
static const Communicator *largest(const Communicators *of, uint32_t classes, int32_t i) {
  const Communicator *most = &of[0].at[i];
  for (uint32_t class = 1; class < classes; class ++)
    if (of[class].at[i].size_bytes > most->size_bytes) most = &of[class].at[i];
  return most;
}

/* "dp+cp" without the lane, which has its own column. */
static int axes_length(const char *name) {
  return (int)strcspn(name, "@");
}

void explain_communicators(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  Arena *arena = compiled->draft->compile->arena;
  if (!is_shown(compiled)) return;
  Communicators *of = ARENA_ARRAY(arena, Communicators, plan->classes_count);
  for (uint32_t class = 0; class < plan->classes_count; class ++)
    of[class] = communicators_of(arena, plan, class);
  fprintf(out,
          "\nNCCL's communicators, of each lane its own; buffers outside the arena are\n"
          "estimated from NCCL 2.30's sizes%s, not measured\n",
          plan->classes_count > 1 ? ", on the stage that needs most" : "");
  fprintf(out, " %-17s %8s  %-12s %-26s %9s\n", "over", "ranks", "lane", "used for", "buffers");
  for (int32_t i = 0; i < of[0].count; i++) {
    const Communicator *use = largest(of, plan->classes_count, i);
    const char *name = plan_string(plan, plan->comms[use->comm].name);
    fprintf(out, " %-17.*s %8u  %-12s %-26s %9s\n", axes_length(name), name, use->ranks,
            plan_lane_name(plan, use->lane), use_text(arena, use),
            bytes_text(compiled, use->size_bytes));
  }
}

void explain_communicators_json(const Compiled *compiled, uint32_t class, FILE *out) {
  const Plan *plan = &compiled->plan;
  Communicators all = all_of(compiled, class);
  fputs("\"communicators\":[", out);
  for (int32_t i = 0; i < all.count; i++) {
    const Communicator *use = &all.at[i];
    const char *name = plan_string(plan, plan->comms[use->comm].name);
    fprintf(out,
            "%s{\"over\":\"%.*s\",\"ranks\":%u,\"lane\":\"%s\",\"in_node\":%s,\"estimated\":%lld}",
            i > 0 ? "," : "", axes_length(name), name, use->ranks, plan_lane_name(plan, use->lane),
            use->is_in_node ? "true" : "false", (long long)use->size_bytes);
  }
  fputc(']', out);
}
