/* launchers.c -- ranks and variables that a script gives its launcher. */
#include <string.h>

#include "compiler/job/import/import.h"

static Leaf *find_any(Import *im, int32_t tool, const char *const *keys, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Leaf *leaf = leaf_find(im, tool, keys[i]);
    if (leaf) return leaf;
  }
  return NULL;
}

/* NCCL_DEBUG=INFO and the like: slurm.env. */
static void convert_variables(Import *im) {
  Arena *arena = im->c->arena;
  const char *text = "";
  const Leaf *first = NULL;
  int32_t tool = word_tool_find("variables"), library = word_tool_find("nccl");
  for (int32_t i = 0; i < im->leaves.count; i++) {
    Leaf *leaf = &im->leaves.at[i];
    if (leaf->tool != tool || leaf->how != HOW_OPEN || leaf->kind == LEAF_UNREAD) continue;
    WordHits hits = words_find(arena, tool, leaf->key);
    bool is_theirs = words_find(arena, library, leaf->key).list.count > 0;
    if (hits.list.count == 0) hits = words_find(arena, library, leaf->key);
    bool is_library = strncmp(leaf->key, "NCCL_", 5) == 0 || strncmp(leaf->key, "FI_", 3) == 0 ||
                      strncmp(leaf->key, "UCX_", 4) == 0;
    if (!is_library || !is_theirs || hits.list.at[0].row->answer != WORD_SETTING) continue;
    text = arena_printf(arena, "%s%s%s = %s", text, *text ? ", " : "", leaf->key,
                        lua_text(arena, leaf->text));
    take_as(im, leaf, "slurm.env");
    if (!first) first = leaf;
  }
  if (first)
    take_default(im, "slurm.env", arena_printf(arena, "{ %s }", text),
                 arena_printf(arena, "%s:%d %s", leaf_file(first), first->at.line, first->key));
}

static void take_text_count(Import *im, Leaf *leaf, const char *path) {
  double number = 0;
  if (leaf) ask_if_unread(im, leaf, path);
  if (leaf && leaf_number(im, leaf, &number) && number >= 1)
    take(im, leaf, path, lua_number(im->c->arena, number), "");
}

void convert_launchers(Import *im) {
  static const char *const nodes[] = {"nnodes", "num_nodes", "nodes", "-N"}, *const devices[] = {
                                                                                 "nproc_per_node",
                                                                                 "num_gpus",
                                                                                 "ntasks_per_node",
                                                                                 "gpus_per_node"};
  static const char *const totals[] = {"-np", "-n", "ntasks"};
  static const char *const tools[] = {"torch", "deepspeed", "launch"};
  double count = 1;
  for (int i = 0; i < 3; i++) {
    int32_t tool = word_tool_find(tools[i]);
    take_text_count(im, find_any(im, tool, nodes, 4), "cluster.nodes");
    Leaf *each = find_any(im, tool, devices, 4);
    double number = 0;
    if (each) ask_if_unread(im, each, "cluster.devices");
    if (each && text_number(each->text, &number)) take_text_count(im, each, "cluster.devices");
  }
  setting_number(im, "cluster.nodes", &count);
  Leaf *total = find_any(im, word_tool_find("launch"), totals, 3);
  double number = 0;
  if (total) ask_if_unread(im, total, "cluster.devices");
  if (total && !setting_find(im, "cluster.devices") && leaf_number(im, total, &number))
    take_devices(im, total, number, count);
  convert_variables(im);
}
