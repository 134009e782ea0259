/* words_test.c -- names of other tools. LINK: job tokens plan base */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/hints/help.h"
#include "compiler/job/hints/words.h"
#include "compiler/job/job_room.h"
#include "tests/unit/check.h"

static Arena *arena;

static const char *next_name(const char **list) {
  *list += strspn(*list, " ");
  size_t width = strcspn(*list, " ");
  const char *name = width > 0 ? arena_copy_n(arena, *list, width) : NULL;
  *list += width;
  return name;
}

/* Every line of a list of names, after its first, which says the release. */
static TextList read_names(const char *tool) {
  TextList names = {0};
  char line[256];
  FILE *file = fopen(arena_printf(arena, SOURCE_FOLDER "/tests/unit/words/%s.txt", tool), "r");
  CHECK(file != NULL);
  while (file && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (*line && *line != '#') VEC_PUSH(arena, &names, arena_copy(arena, line));
  }
  if (file) fclose(file);
  return names;
}

static void test_paths(void) {
  TEST("a row's key exists, or is declared as later") {
    for (int32_t i = 0; i < word_row_count(); i++) {
      const WordRow *row = word_row(i);
      if (row->answer != WORD_RENAMED && row->answer != WORD_VALUE) continue;
      const char *dot = strchr(row->ours, '.');
      const char *name =
          dot ? arena_copy_n(arena, row->ours, (size_t)(dot - row->ours)) : row->ours;
      int32_t section = strcmp(name, "job") == 0 ? SECTION_job : section_find(name);
      bool is_there = section >= 0 && (!dot || field_find((SectionId)section, dot + 1) >= 0);
      bool is_later = later_instead(name, dot ? dot + 1 : "") || later_instead(name, "");
      if (is_there == is_later) fprintf(stderr, "%s: %s\n", row->names, row->ours);
      CHECK(is_there != is_later);
    }
  }
}

static void test_unique(void) {
  TEST("no name is twice in a tool") {
    for (int32_t i = 0; i < word_row_count(); i++) {
      const char *list = word_row(i)->names;
      if (word_row(i)->tool == word_tool_find("nccl")) break;
      for (const char *name; (name = next_name(&list)) != NULL;) {
        WordHits hits = words_find(arena, word_row(i)->tool, name);
        int32_t same = 0;
        for (int32_t k = 0; k < hits.list.count; k++)
          same += hits.list.at[k].fit == FIT_SAME &&
                  strcmp(hits.list.at[k].row->ours, word_row(i)->ours) == 0;
        if (same != 1)
          fprintf(stderr, "%s: %s: %d\n", word_tools[word_row(i)->tool].id, name, same);
        CHECK_INT(same, 1);
      }
    }
  }
}

static bool is_wrong_value(const Diag *diag) {
  static const char *const names[] = {"wrong-type",  "unknown-word",   "unit",           "range",
                                      "unknown-key", "not-built",      "declined",       "syntax",
                                      "lua-error",   "unknown-preset", "unknown-section"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(diag->name, names[i]) == 0) return true;
  return false;
}

static bool accepts(const char *folder, const char *line) {
  Compile *c = compile_new("specs");
  const char *path = arena_printf(arena, "%s/a.lua", folder);
  FILE *file = fopen(path, "w");
  fprintf(file, "return job { \"./base.lua\", %s }\n", line);
  fclose(file);
  spec_load(c, path, NULL, 0);
  bool is_right = true;
  for (int32_t i = 0; i < c->diags.list.count; i++)
    if (is_wrong_value(&c->diags.list.at[i])) {
      fprintf(stderr, "%s: %s\n", line, c->diags.list.at[i].message);
      is_right = false;
    }
  compile_free(c);
  return is_right;
}

static void test_lines(void) {
  TEST("the line of each row is a value that the key takes") {
    char folder[] = "/tmp/words_test_XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    const char *base = arena_printf(arena, "%s/base.lua", folder);
    FILE *file = fopen(base, "w");
    fputs("return job { model = { \"gpt2\", layers = 2 }, data = \"synthetic\",\n"
          "  train = { batch = \"64 sequences\", steps = 10 }, optimizer = { \"adamw\", lr = 1e-3 "
          "} }\n",
          file);
    fclose(file);
    TextList seen = {0};
    for (int32_t i = 0; i < word_row_count(); i++) {
      const char *line = word_line(arena, word_row(i));
      bool is_new = line != NULL;
      for (int32_t k = 0; is_new && k < seen.count; k++)
        is_new = strcmp(seen.at[k], line) != 0;
      if (!is_new) continue;
      VEC_PUSH(arena, &seen, line);
      CHECK(accepts(folder, line));
    }
    CHECK(seen.count > 60);
    unlink(base);
    unlink(arena_printf(arena, "%s/a.lua", folder));
    rmdir(folder);
  }
}

static const char *const tools[] = {"deepspeed", "accelerate", "trainer",
                                    "megatron",  "torchtitan", "torch"};

static void test_collected(void) {
  TEST("every collected name, and every name of the texts that people learn from, is answered") {
    for (size_t t = 0; t < sizeof tools / sizeof *tools; t++) {
      TextList names = read_names(tools[t]);
      int32_t tool = word_tool_find(tools[t]);
      for (int32_t i = 0; i < names.count; i++) {
        int32_t count = words_find(arena, tool, names.at[i]).list.count;
        if (strcmp(tools[t], "torch") == 0)
          count += words_find(arena, word_tool_find("calls"), names.at[i]).list.count;
        if (count == 0) fprintf(stderr, "%s: %s\n", tools[t], names.at[i]);
        CHECK(count > 0);
      }
    }
    TextList others = read_names("frameworks");
    for (int32_t i = 0; i < others.count; i++)
      CHECK(words_find(arena, word_tool_find("frameworks"), others.at[i]).list.count > 0);
    TextList names = read_names("guides");
    for (int32_t i = 0; i < names.count; i++) {
      Compile *c = compile_new("specs");
      FILE *out = fopen("/dev/null", "w");
      bool is_known =
          help_word(c, names.at[i], out) || words_find(arena, -1, names.at[i]).list.count > 0;
      if (!is_known) fprintf(stderr, "guides: %s\n", names.at[i]);
      CHECK(is_known);
      fclose(out);
      compile_free(c);
    }
  }
}

static void test_spellings(void) {
  TEST("a name is found in any spelling") {
    static const char *const spelled[][2] = {
        {"--micro-batch-size=4", "micro_batch_size"},
        {"MICRO_BATCH_SIZE", "micro_batch_size"},
        {"zero_optimization.stage", "zero_optimization.stage"},
        {"stage", "zero_optimization.stage"},
        {"torch.distributed.fsdp.fully_shard", "fully_shard"},
        {"torch.distributed.fsdp.BackwardPrefetch.BACKWARD_PRE", "BackwardPrefetch.BACKWARD_PRE"},
        {"fsdp_sharding_strategy", "fsdp_sharding_strategy"},
        {"megatron_lm_tp_degree", "megatron_lm_tp_degree"},
        {"--no-save-optim", "no_save_optim"},
        {"clip_grad_norm_(", "clip_grad_norm_"},
        {"nccl_ib_hca", "NCCL_IB_HCA"},
        {"UCX_RNDV_THRESH", "UCX_RNDV_THRESH"},
    };
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++) {
      WordHits hits = words_find(arena, -1, spelled[i][0]);
      CHECK(hits.list.count > 0 && word_is_same(hits.list.at[0].name, spelled[i][1]));
    }
    CHECK_INT(words_find(arena, -1, "zzzz").list.count, 0);
    CHECK_INT(words_find(arena, -1, "--").list.count, 0);
  }
}

/* One letter left out, doubled, changed or swapped with the next. */
static const char *slip_of(const char *name, uint32_t random) {
  size_t length = strlen(name), at = 1 + random / 4 % (length - 2);
  switch (random % 4) {
  case 0: return arena_printf(arena, "%.*s%s", (int)at, name, name + at + 1);
  case 1: return arena_printf(arena, "%.*s%c%s", (int)at, name, name[at], name + at);
  case 2: return arena_printf(arena, "%.*s%c%s", (int)at, name, 'q', name + at + 1);
  default:
    return arena_printf(arena, "%.*s%c%c%s", (int)at, name, name[at + 1], name[at], name + at + 2);
  }
}

static void test_slips(void) {
  TEST("of 500 names with a slip of one letter the right one is the first of the nearest in 90 %") {
    TextList names = {0};
    for (size_t t = 0; t < sizeof tools / sizeof *tools; t++) {
      TextList some = read_names(tools[t]);
      for (int32_t i = 0; i < some.count; i++)
        if (strlen(some.at[i]) >= 6) VEC_PUSH(arena, &names, some.at[i]);
    }
    int32_t first = 0, among = 0, tried = 0;
    uint32_t random = 12345;
    while (tried < 500) {
      random = random * 1664525u + 1013904223u;
      const char *name = names.at[(random >> 8) % (uint32_t)names.count];
      random = random * 1664525u + 1013904223u;
      WordHits near = words_near(arena, -1, slip_of(name, random >> 8), 4);
      bool is_found = false;
      for (int32_t i = 0; i < near.list.count && !is_found; i++) {
        const char *found = near.list.at[i].name, *last = strrchr(found, '.');
        is_found = word_is_same(found, name) || (last && word_is_same(last + 1, name));
        first += is_found && i == 0;
      }
      among += is_found;
      tried++;
    }
    printf("slips: first %d, among %d of 500\n", first, among);
    CHECK(first >= 450);
    CHECK(among >= 485);
  }
}

int main(void) {
  arena = arena_new();
  test_paths();
  test_unique();
  test_lines();
  test_collected();
  test_spellings();
  test_slips();
  arena_free(arena);
  return check_failures != 0;
}
