/* place.c -- how long ranks take to be placed, and how many placements are priced for it.
 *   bench_place [JOB.lua]     examples/llama3_405b_cluster.lua
 *
 * 16,384 ranks on 2,048 nodes of eight, under a tree of three levels that is written for it, and a
 * few kinds of nodes. Processor time. Compiled once; then the choice is made again, best of five.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "compiler/draft/cost/demand.h"
#include "compiler/job/data.h"
#include "compiler/search/fit.h"

enum { ROUNDS = 5, LEAVES = 128, LEAF_NODES = 16, GROUPS = 16 };

static const struct {
  const char *name, *table; /* of the cluster file */
} rows[] = {
    {"dgx-h100", "\"dgx-h100\""},
    {"dgx-h100, network half as wide", "\"dgx-h100\", taper = 2"},
    {"frontier-like", "\"frontier-like\", taper = 2"},
    {"two types", "types = { { \"dgx-h100\", hosts = \"n[0000-0799]\" }, { \"dgx-a100\", nodes = "
                  "1248 } }"},
};

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static bool write_file(const char *folder, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *out = fopen(path, "w");
  return out && fputs(text, out) >= 0 && fclose(out) == 0;
}

static bool write_tree(Arena *arena, const char *folder) {
  const char *text = "";
  for (int leaf = 0; leaf < LEAVES; leaf++)
    text = arena_printf(arena, "%sSwitchName=leaf%d Nodes=n[%04d-%04d]\n", text, leaf,
                        leaf * LEAF_NODES, (leaf + 1) * LEAF_NODES - 1);
  for (int group = 0; group < GROUPS; group++)
    text = arena_printf(arena, "%sSwitchName=group%d Switches=leaf[%d-%d]\n", text, group,
                        group * LEAVES / GROUPS, (group + 1) * LEAVES / GROUPS - 1);
  text = arena_printf(arena, "%sSwitchName=root Switches=group[0-%d]\n", text, GROUPS - 1);
  return write_file(folder, "tree.conf", text);
}

static bool compile_row(Compile *c, const char *path, const char *folder, int32_t row,
                        Compiled *out) {
  char table[512], change[512];
  snprintf(table, sizeof table, "return { %s, switches = \"./tree.conf\" }\n", rows[row].table);
  snprintf(change, sizeof change, "cluster=%s/cluster.lua", folder);
  const char *changes[] = {change, "memory.budget=99999GB"};
  if (!write_tree(c->arena, folder) || !write_file(folder, "cluster.lua", table)) return false;
  Job *job = spec_load(c, path, changes, sizeof changes / sizeof *changes);
  return job && spec_data(c, job) &&
         fit_plan(c, job, &(Machine){.memory_bytes = (int64_t)1 << 33, .cores = 2}, out);
}

static void measure(const Compiled *compiled, int32_t row) {
  const Draft *d = compiled->draft;
  Demands demands = demands_of(d->compile->arena, &compiled->plan);
  Choice choice = {0};
  double least_ms = 0;
  for (int round = 0; round < ROUNDS; round++) {
    double start_ms = now_ms();
    choice = place_choose(d->fabric, &d->mesh, &demands, (Wish){NULL, true});
    double took_ms = now_ms() - start_ms;
    if (round == 0 || took_ms < least_ms) least_ms = took_ms;
  }
  printf("%-32s %8lld %7d %8lld %9.2f\n", rows[row].name, (long long)d->fabric->slot_count,
         choice.orders, (long long)choice.priced, least_ms);
}

int main(int count, char **words) {
  const char *path = count > 1 ? words[1] : SOURCE_FOLDER "/examples/llama3_405b_cluster.lua";
  char folder[] = "/tmp/bench_place.XXXXXX";
  if (!mkdtemp(folder)) return 2;
  printf("%-32s %8s %7s %8s %9s\n", "nodes", "ranks", "orders", "priced", "ms");
  for (int32_t row = 0; row < (int32_t)(sizeof rows / sizeof *rows); row++) {
    Compile *c = compile_new(SOURCE_FOLDER "/specs");
    Compiled compiled;
    if (compile_row(c, path, folder, row, &compiled))
      measure(&compiled, row);
    else
      diags_print(&c->diags, stderr, false);
    compile_free(c);
  }
  return 0;
}
