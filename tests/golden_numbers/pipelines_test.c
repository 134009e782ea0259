/* pipelines_test.c -- idle time and memory of pipelines: formulas of the papers that
 * compiler/job/pipelines/pipeline.h names, asked of explain, of lints and of the ledgers of plans.
 */
#include <stdlib.h>

#include "compiler/job/pipelines/pipeline.h"
#include "compiler/show/explain/explain.h"
#include "tests/golden_numbers/golden.h"
#include "tests/unit/check.h"

#define LLAMA                                                                                      \
  "model = { \"llama\", layers = %d, width = 128, heads = 4, ffn = 256, vocab = 256 }, "           \
  "memory = { recompute = \"none\" }, "

enum { TEXT_BYTES = 1 << 16 };

/* The output of `lockstep explain --schedule`. */
static void schedule_text(const Golden *g, char text[TEXT_BYTES]) {
  FILE *out = fmemopen(text, TEXT_BYTES, "w");
  CHECK(out != NULL);
  explain_schedule(&g->compiled, out);
  (void)fclose(out);
}

/* ---- idle time */

typedef struct Bubble {
  int stages, microbatches;
  const char *explained;
  bool is_linted;
} Bubble;

static void check_bubble(const Bubble *b) {
  Golden g;
  golden_open(&g,
              LLAMA "train = { batch = \"%d sequences\", context = 64, steps = 1 }, "
                    "parallel = { pp = %d }, cluster = { \"dgx-h100\", devices = %d },",
              b->stages, b->microbatches, b->stages, b->stages);
  CHECK(g.is_compiled);
  if (g.is_compiled) {
    char text[TEXT_BYTES];
    schedule_text(&g, text);
    char want[64];
    (void)snprintf(want, sizeof want, "a stage is idle %s %% of the time", b->explained);
    if (!strstr(text, want)) CHECK_TEXT(text, want);
    CHECK_INT(golden_diagnostic(&g, "bubble", NULL) > 0, b->is_linted);
  }
  golden_close(&g);
}

static void test_bubbles(void) {
  TEST("four stages idle 75, 37.5 and 9.1 % with 1, 5 and 30 micro-batches") {
    check_bubble(&(Bubble){4, 1, "75.0", true});
    check_bubble(&(Bubble){4, 5, "37.5", true});
    check_bubble(&(Bubble){4, 30, "9.1", false});
  }
  TEST("8 stages: 28 micro-batches for 20 %, 63 for 10 %, 112 for 6 %") {
    check_bubble(&(Bubble){8, 27, "20.6", true});
    check_bubble(&(Bubble){8, 28, "20.0", true});
    check_bubble(&(Bubble){8, 63, "10.0", false});
    check_bubble(&(Bubble){8, 112, "5.9", false});
  }
}

/* The lint says how many micro-batches are enough. */
static void check_advice(int stages, const char *fair, const char *good) {
  Golden g;
  golden_open(&g,
              LLAMA "train = { batch = \"2 sequences\", context = 64, steps = 1 }, "
                    "parallel = { pp = %d }, cluster = { \"dgx-h100\", devices = %d },",
              stages, stages, stages);
  bool is_fair = false, is_good = false;
  char want_fair[64], want_good[64];
  (void)snprintf(want_fair, sizeof want_fair, "m = %s: at most 20 %%", fair);
  (void)snprintf(want_good, sizeof want_good, "m = %s: at most 10 %%", good);
  const Diags *diags = &g.compile->diags;
  for (int32_t i = 0; i < diags->list.count; i++) {
    is_fair |= strstr(diags->list.at[i].message, want_fair) != NULL;
    is_good |= strstr(diags->list.at[i].message, want_good) != NULL;
  }
  CHECK(is_fair);
  CHECK(is_good);
  golden_close(&g);
}

static void test_advice(void) {
  TEST("m = 4 (p-1) is advised for 20 %, 9 (p-1) for 10 %") {
    check_advice(4, "12", "27");
    check_advice(8, "28", "63");
  }
}

/* ---- memory */

typedef struct Flight {
  const char *pipeline;
  PipeKind kind;
  int chunks;
} Flight;

/* Micro-batches, or chunks of them, that have run forward and not yet backward on stage i of p. */
static int32_t papers_in_flight(const Flight *f, int32_t i, int32_t p, int32_t m) {
  switch (f->kind) {
  case PIPE_GPIPE: return m;
  case PIPE_INTERLEAVED: return 2 * (p - i - 1) + (f->chunks - 1) * p + 1;
  case PIPE_ZB_V: return 2 * p;
  default: return m < p - i ? m : p - i;
  }
}

/* Second column of explain's table of stages: the line begins with the stage. */
static int32_t explained_in_flight(const char *text, int32_t stage) {
  for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
    char *end;
    long number = strtol(line + 1, &end, 10);
    if (end > line + 1 && line[1] != ' ' && number == stage) return (int32_t)strtol(end, NULL, 10);
  }
  return -1;
}

/* zb-h1 keeps a micro-batch's frame until its weight gradients are made: at most p (its paper), and
 * zb-v p on every stage, of halves. */
static int32_t frames_kept(const Golden *g, const Flight *f, int32_t stage, int32_t in_flight) {
  if (f->kind != PIPE_ZB_H1) return in_flight;
  int32_t kept = draft_pipeline(g->compiled.draft)->stages[stage].kept;
  CHECK(kept >= in_flight && kept <= g->compiled.derived.pp);
  return kept;
}

/* Every stage has `layers` layers a chunk. */
static void check_stage(const Golden *g, const Flight *f, const char *text, int32_t stage,
                        int32_t layers) {
  int32_t p = (int32_t)g->compiled.derived.pp, m = (int32_t)g->compiled.derived.accumulation;
  int32_t in_flight = papers_in_flight(f, stage, p, m);
  CHECK_INT(explained_in_flight(text, stage), in_flight);
  uint32_t class = (uint32_t)stage;
  int64_t frame = golden_buffer_bytes(g->plan, class, "model.layers kept for backward");
  CHECK(frame > 0);
  int64_t alive = golden_most_alive(g->plan, class, "model.layers kept for backward");
  int64_t kept = frames_kept(g, f, stage, in_flight) * layers * frame;
  if (f->kind == PIPE_ZB_V && alive != kept) /* in a loop each of the chunks has a frame to spare */
    kept += layers * frame;
  CHECK_INT(alive, kept);
  /* Received values are kept beside the frames, and the next one's are there before its forward. */
  int32_t received = in_flight < m ? in_flight + 1 : m;
  if (stage > 0 && f->chunks == 1)
    CHECK_INT(golden_most_alive(g->plan, class, "activation of a stage"),
              received * golden_buffer_bytes(g->plan, class, "activation of a stage"));
}

static void check_flight(const Flight *f, int32_t p) {
  enum { LAYERS = 8, MICROBATCHES = 16 };
  Golden g;
  golden_open(&g,
              LLAMA "train = { batch = \"%d sequences\", context = 64, steps = 1 }, "
                    "parallel = { pp = %d, pipeline = %s, stages = { %s } }, "
                    "cluster = { \"dgx-h100\", devices = %d },",
              LAYERS, MICROBATCHES, p, f->pipeline,
              LAYERS / (p * f->chunks) == 4   ? "4, 4"
              : LAYERS / (p * f->chunks) == 2 ? "2, 2, 2, 2"
                                              : "1, 1, 1, 1, 1, 1, 1, 1",
              p);
  CHECK(g.is_compiled);
  if (g.is_compiled) {
    char text[TEXT_BYTES];
    schedule_text(&g, text);
    for (int32_t stage = 0; stage < p; stage++)
      check_stage(&g, f, text, stage, LAYERS / (p * f->chunks));
  }
  golden_close(&g);
}

static void test_memory(void) {
  static const Flight flights[] = {
      {"\"gpipe\"", PIPE_GPIPE, 1},
      {"\"1f1b\"", PIPE_1F1B, 1},
      {"{ \"interleaved\", chunks = 2 }", PIPE_INTERLEAVED, 2},
      {"\"zb-h1\"", PIPE_ZB_H1, 1},
      {"\"zb-v\"", PIPE_ZB_V, 2},
  };
  for (size_t i = 0; i < sizeof flights / sizeof *flights; i++) {
    TEST(flights[i].pipeline) {
      check_flight(&flights[i], 2);
      check_flight(&flights[i], 4);
    }
  }
}

int main(void) {
  test_bubbles();
  test_advice();
  test_memory();
  CHECK_DONE();
}
