/* Pictures of a plan's train step.   LINK: explain plan_builder plan base */
#include <stdlib.h>

#include "compiler/job/pipelines/pipeline.h"
#include "compiler/show/explain/timeline.h"
#include "compiler/show/explain/timeline_boxes.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

/* ---- a plan that does what a pipeline schedule says, and nothing else */

typedef struct Costs {
  int64_t ns, flops; /* of one tick of a step; 0: not known */
  int64_t wire_ns;   /* of an exchange */
  Lane wire_lane;
  bool updates; /* of all layers of a stage, at the end */
} Costs;

static PlanRecord record_of(PlanBuilder *b, RecordKind kind) {
  return (PlanRecord){.kind = kind,
                      .operands_first = b->operands_count,
                      .dims_first = b->ints_count,
                      .attrs_first = b->reals_count,
                      .varies_first = b->varies_count,
                      .comm = PLAN_NONE,
                      .meaning = PLAN_NONE,
                      .kernel = PLAN_NONE,
                      .node = PLAN_NONE,
                      .value = PLAN_NONE};
}

static uint32_t segment_of(PlanBuilder *b, const char *name) {
  PlanSegment segment = {.bases_first = b->bases_count,
                         .records_first = b->records_count,
                         .records_count = 1,
                         .name = build_string(b, name)};
  return build_segments(b, segment);
}

static uint32_t step_segment(PlanBuilder *b, const char *name, int64_t ticks, Costs costs) {
  uint32_t segment = segment_of(b, name);
  PlanRecord record = record_of(b, RECORD_KERNEL);
  record.predicted_ns = ticks * costs.ns;
  record.flops = ticks * costs.flops;
  build_records(b, record);
  return segment;
}

static uint32_t exchange_segment(PlanBuilder *b, const PipeStage *stage,
                                 const PipeExchange *exchange, Costs costs) {
  uint32_t segment = segment_of(b, "pipeline.exchange");
  PlanRecord record = record_of(b, RECORD_EXCHANGE);
  record.lane = costs.wire_lane;
  record.comm = 0;
  for (int32_t i = 0; i < exchange->transfer_count; i++) {
    const PipeTransfer *t = &stage->transfers.at[exchange->transfer_first + i];
    build_operands(b, (PlanOperand){.size_bytes = i == 0 ? (uint64_t)costs.wire_ns : 0,
                                    .by = PLAN_NONE,
                                    .dtype = DTYPE_F32,
                                    .access = t->is_send ? ACCESS_READ : ACCESS_WRITE});
    build_ints(b, t->distance);
  }
  record.operands_count = record.dims_count = (uint32_t)exchange->transfer_count;
  build_records(b, record);
  return segment;
}

static void add_call(PlanBuilder *b, uint32_t segment, int32_t layer, int32_t microbatch) {
  build_calls(b, (PlanCall){.segment = segment, .layer = layer, .microbatch = microbatch});
}

static int32_t model_chunk(const Pipeline *pipeline, int32_t stage, int32_t k) {
  return pipeline_chunk_of(pipeline->shape.kind, pipeline->shape.stages, stage, k);
}

static void add_stage(PlanBuilder *b, const Pipeline *pipeline, int32_t number,
                      const uint32_t *steps, Costs costs) {
  const PipeStage *stage = &pipeline->stages[number];
  PlanProgram program = {.calls_first = b->calls_count, .kind = PROGRAM_TRAIN_STEP};
  int32_t e = 0;
  for (int32_t i = 0; i <= stage->step_count; i++) {
    for (; e < stage->exchanges.count && stage->exchanges.at[e].steps_before == i; e++)
      add_call(b, exchange_segment(b, stage, &stage->exchanges.at[e], costs), -1, -1);
    if (i == stage->step_count) break;
    const PipeStep *step = &stage->steps[i];
    int32_t layer = model_chunk(pipeline, number, step->chunk); /* one for each */
    add_call(b, steps[step->action], layer, step->microbatch);
  }
  for (int32_t c = 0; costs.updates && c < pipeline->shape.chunks; c++)
    add_call(b, steps[PIPE_ACTION_COUNT], model_chunk(pipeline, number, c), -1);
  program.calls_count = b->calls_count - program.calls_first;
  char name[32];
  snprintf(name, sizeof name, "stage %d", number);
  PlanClass class = {.bounds_first = b->bounds_count,
                     .bounds_count = 1,
                     .programs_first = build_programs(b, program),
                     .programs_count = 1,
                     .rank_count = 1,
                     .name = build_string(b, name)};
  build_bounds(b, (PlanBound){(uint32_t)number, (uint32_t)number + 1});
  build_classes(b, class);
}

static void build_pipeline(PlanBuilder *b, const Pipeline *pipeline, Costs costs) {
  const PipeCosts *ticks = &pipeline->shape.costs;
  bool split = pipe_rules[pipeline->shape.kind].is_split;
  build_device(b);
  build_axes(b, build_axis_named(b, "pp", (uint32_t)pipeline->shape.stages));
  build_comms(b, (PlanComm){1, build_string(b, "pp")});
  uint32_t steps[PIPE_ACTION_COUNT + 1] = {
      step_segment(b, "norm.forward", ticks->forward, costs),
      step_segment(b, "h.backward", split ? ticks->backward : ticks->backward + ticks->weight,
                   costs),
      step_segment(b, "h.weight", ticks->weight, costs), step_segment(b, "h.update", 1, costs)};
  for (int32_t i = 0; i < pipeline->shape.stages; i++)
    add_stage(b, pipeline, i, steps, costs);
  build_one_node(b, 0, 1e9); /* a byte a nanosecond */
}

/* ---- checks */

static void check_rows(const Timeline *t) {
  for (int32_t r = 0; r < t->row_count; r++)
    for (int32_t l = 0; l < PLAN_LANES_MAX; l++) {
      const TimelineLane *lane = &t->rows[r].lanes[l];
      int64_t before = 0, busy = 0;
      for (int32_t i = 0; i < lane->boxes.count; i++) {
        const Box *box = &lane->boxes.at[i];
        CHECK(box->start >= before && box->end > box->start && box->end <= t->span);
        before = box->end;
        busy += box->end - box->start;
      }
      CHECK_INT(lane->busy, busy);
    }
}

/* Tags open and close in pairs, attributes are quoted, & and < only begin what they should. */
static bool is_well_formed(const char *at) {
  const char *open[16];
  int depth = 0, elements = 0;
  while ((at = strpbrk(at, "<&")) != NULL) {
    if (*at == '&') {
      if (strncmp(at, "&amp;", 5) != 0 && strncmp(at, "&lt;", 4) != 0) return false;
      at++;
      continue;
    }
    const char *end = at + 1;
    for (bool quoted = false; quoted || *end != '>'; end++) {
      if (*end == '\0' || (*end == '<' && !quoted)) return false;
      quoted ^= *end == '"';
    }
    size_t length = strcspn(at + 1, " />");
    if (at[1] == '/') {
      if (depth-- == 0 || strncmp(open[depth], at + 2, (size_t)(end - at - 2)) != 0) return false;
    } else if (end[-1] != '/') {
      if (depth == 16 || length == 0 || (depth == 0 && elements > 0)) return false;
      open[depth++] = at + 1;
    }
    elements++;
    at = end + 1;
  }
  return depth == 0 && elements > 0;
}

/* The output of a function as text; the caller frees it. */
static char *svg_of(const Plan *plan) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  CHECK(timeline_svg(plan, out));
  fclose(out);
  return text;
}

static char *text_of(const Plan *plan) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  timeline_text(plan, out);
  fclose(out);
  return text;
}

static int count_of(const char *text, const char *word) {
  int count = 0;
  for (; (text = strstr(text, word)) != NULL; text++)
    count++;
  return count;
}

static void check_text(const Plan *plan, int32_t lines) {
  char *text = text_of(plan);
  CHECK_INT(count_of(text, "\n"), lines);
  for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
    CHECK(strcspn(line, "\n") <= 100);
  free(text);
}

/* The boxes' last right edge less that of the rows: 0 when the picture ends where the step does. */
static double svg_rest(const char *svg) {
  double right = 0, last = 0;
  for (const char *at = svg; (at = strstr(at, "<rect x=")) != NULL; at++) {
    double x = 0, y = 0, width = 0;
    CHECK_INT(sscanf(at, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\"", &x, &y, &width), 3);
    bool is_box = at - svg > 3 && strncmp(at - 3, "<g>", 3) == 0;
    if (is_box) last = fmax(last, x + width);
    if (right == 0) right = x + width; /* the first row's background */
  }
  return right - last;
}

/* The plan of a schedule takes exactly the time that the schedule said, and its bubble. */
static void check_schedule(PipeShape shape) {
  Arena *arena = arena_new();
  const Pipeline *pipeline = pipeline_make(arena, shape);
  PlanBuilder b = {0};
  build_pipeline(&b, pipeline, (Costs){.ns = 1000000});
  Plan plan = build_view(&b);
  const Timeline *t = timeline_make(arena, &plan);
  CHECK(!t->is_stuck);
  check_rows(t);
  CHECK_INT(t->span, pipeline->meeting_ticks * 1000000);
  double idle = (double)(pipeline->meeting_ticks - pipeline->span_ticks + pipeline->bubble_ticks);
  CHECK_NEAR(timeline_idle_share(t), idle / (double)pipeline->meeting_ticks, 1e-12);
  char *svg = svg_of(&plan);
  CHECK(is_well_formed(svg));
  int boxes = 0;
  for (int32_t i = 0; i < shape.stages; i++)
    boxes += t->rows[i].lanes[LANE_COMPUTE].boxes.count;
  CHECK_INT(count_of(svg, "<g>"), boxes);
  CHECK_INT(count_of(svg, "<title>"), boxes);
  CHECK_NEAR(svg_rest(svg), 0, 0.02);
  free(svg);
  check_text(&plan, shape.stages + 2);
  build_free(&b);
  arena_free(arena);
}

static const PipeShape shapes[PIPE_KIND_COUNT] = {{PIPE_GPIPE, 4, 1, 8, {1, 1, 1}},
                                                  {PIPE_1F1B, 4, 1, 8, {1, 1, 1}},
                                                  {PIPE_INTERLEAVED, 4, 2, 8, {1, 1, 1}},
                                                  {PIPE_ZB_H1, 4, 1, 8, {1, 1, 1}},
                                                  {PIPE_ZB_V, 4, 2, 8, {1, 1, 1}}};

static void check_units(void) {
  static const Costs costs[] = {{.flops = 5000000000}, {.ns = 0}, {.ns = 2000, .wire_ns = 1000}};
  static const char *const titles[] = {
      "train step: 165 GFLOP on 4 stages, idle 27.3 % (no predicted times)",
      "train step: 22 kernels on 4 stages, idle 27.3 % (no predicted times)",
      "train step: 86.0 us on 4 stages, idle 26.5 %"};
  Arena *arena = arena_new();
  const Pipeline *pipeline = pipeline_make(arena, shapes[PIPE_1F1B]);
  for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
    PlanBuilder b = {0};
    build_pipeline(&b, pipeline, costs[i]);
    Plan plan = build_view(&b);
    const Timeline *t = timeline_make(arena, &plan);
    check_rows(t);
    CHECK_TEXT(timeline_title(arena, t), titles[i]);
    CHECK(timeline_has(t, BOX_COMMUNICATION) == (costs[i].wire_ns > 0));
    build_free(&b);
  }
  arena_free(arena);
}

static void check_lengths(void) {
  Arena *arena = arena_new();
  Timeline t = {.unit = UNIT_NS};
  CHECK_TEXT(timeline_length(arena, &t, 345e3), "345 us");
  CHECK_TEXT(timeline_length(arena, &t, 999e6), "999 ms");
  CHECK_TEXT(timeline_length(arena, &t, 23.04e9), "23.0 s");
  t.unit = UNIT_FLOPS;
  CHECK_TEXT(timeline_length(arena, &t, 165e9), "165 GFLOP");
  CHECK_TEXT(timeline_length(arena, &t, 1650e9), "1.65 TFLOP");
  t.unit = UNIT_KERNELS;
  CHECK_TEXT(timeline_length(arena, &t, 12345), "12345 kernels");
  arena_free(arena);
}

static void check_drawn(void) {
  Arena *arena = arena_new();
  PipeShape shape = {PIPE_ZB_H1, 2, 1, 3, {1, 1, 1}};
  PlanBuilder b = {0};
  build_pipeline(&b, pipeline_make(arena, shape), (Costs){0});
  Plan plan = build_view(&b);
  char *text = text_of(&plan);
  CHECK_TEXT(text, "train step: 10 kernels on 2 stages, idle 10.0 % (no predicted times)\n"
                   "  stage 0 0011..aaAA22bbBBccCC\n"
                   "  stage 1 ..00aa11bbAA22ccBBCC\n"
                   "  0-9 forward  a-j backward  A-J weights  . idle\n");
  free(text);
  build_free(&b);
  arena_free(arena);
}

/* Sends of 0.6 ms beside steps of 1 ms, for which nothing waits. */
static void check_lanes(void) {
  Arena *arena = arena_new();
  PipeShape shape = {PIPE_GPIPE, 2, 1, 2, {1, 1, 1}};
  PlanBuilder b = {0};
  build_pipeline(&b, pipeline_make(arena, shape),
                 (Costs){.ns = 1000000, .wire_ns = 600000, .wire_lane = LANE_PP});
  Plan plan = build_view(&b);
  const Timeline *t = timeline_make(arena, &plan);
  check_rows(t);
  CHECK_INT(t->beside_count, 1);
  CHECK_INT(t->beside[0], LANE_PP);
  CHECK_INT(t->span, 6000000);
  CHECK_NEAR(timeline_idle_share(t), 0, 1e-12);
  CHECK_INT(t->rows[0].lanes[LANE_PP].busy, t->rows[1].lanes[LANE_PP].busy);
  CHECK_INT(t->rows[0].lanes[LANE_PP].boxes.at[0].kind, BOX_COMMUNICATION);
  char *text = text_of(&plan), *svg = svg_of(&plan);
  CHECK_TEXT(text, "train step: 6.00 ms on 2 stages, idle 0.0 %\n"
                   "  stage 0 00000000001111111111aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb\n"
                   "       pp ~~~~~~~~~~~~~~~~~~~~~~~~....................................\n"
                   "  stage 1 00000000001111111111aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb\n"
                   "       pp ~~~~~~~~~~~~~~~~~~~~~~~~....................................\n"
                   "  0-9 forward  a-j backward  ~ communication  . idle\n"
                   "  under each: its lanes beside computation, - less than half of a column\n");
  CHECK(is_well_formed(svg));
  CHECK_INT(count_of(svg, ">pp</text>"), 2);
  CHECK_INT(count_of(svg, "<title>communication: pipeline.exchange, 600 us"), 8);
  CHECK_NEAR(svg_rest(svg), 0, 0.02);
  free(text);
  free(svg);
  build_free(&b);
  arena_free(arena);
}

/* Where stages have several chunks, boxes of the later ones are paler, and the picture says so; on
 * the last stage of a folded chain, too, where the two chunks meet. */
static void check_paler(void) {
  for (int kind = 0; kind < PIPE_KIND_COUNT; kind++) {
    Arena *arena = arena_new();
    PlanBuilder b = {0};
    build_pipeline(&b, pipeline_make(arena, shapes[kind]), (Costs){.ns = 1000, .updates = true});
    Plan plan = build_view(&b);
    char *svg = svg_of(&plan);
    bool has_chunks = shapes[kind].chunks > 1;
    int actions = 2 + pipe_rules[kind].is_split;
    /* A box for each action of 8 micro-batches on 4 stages, and one of the legend. */
    CHECK_INT(count_of(svg, "fill-opacity=\"0.60\""), has_chunks ? 8 * 4 * actions + 1 : 0);
    CHECK_INT(count_of(svg, "paler: a later chunk"), has_chunks);
    free(svg);
    build_free(&b);
    arena_free(arena);
  }
}

static void check_stuck(void) {
  Arena *arena = arena_new();
  PlanBuilder b = {0};
  build_pipeline(&b, pipeline_make(arena, shapes[PIPE_1F1B]), (Costs){.ns = 1000});
  b.programs[1].calls_count /= 2; /* the second stage stops half-way */
  Plan plan = build_view(&b);
  const Timeline *t = timeline_make(arena, &plan);
  CHECK(t->is_stuck);
  CHECK(strstr(timeline_title(arena, t), "wait for each other for ever") != NULL);
  check_rows(t);
  build_free(&b);
  arena_free(arena);
}

/* Collectives over two classes, loops, calls of several layers, names that XML would not like. */
static void check_example(void) {
  Arena *arena = arena_new();
  PlanBuilder b = {0};
  build_example(&b, (ExampleOptions){3, 5, 2, 2, true});
  for (uint32_t i = 0; i < b.records_count; i++)
    if (b.records[i].kind == RECORD_KERNEL) b.records[i].predicted_ns = 1000 * (1 + i % 3);
  build_one_node(&b, 0, 1e9);
  b.classes[1].name = build_string(&b, "<a & b>");
  Plan plan = build_view(&b);
  const Timeline *t = timeline_make(arena, &plan);
  CHECK(!t->is_stuck);
  CHECK_INT(t->row_count, 2);
  check_rows(t);
  int32_t seen = 0;
  for (int32_t i = 0; i < t->rows[0].lanes[LANE_COMPUTE].boxes.count; i++) {
    const Box *box = &t->rows[0].lanes[LANE_COMPUTE].boxes.at[i];
    if (box->kind != BOX_FORWARD) continue;
    CHECK(box->microbatch == seen || box->microbatch == seen - 1);
    if (box->microbatch == seen) seen++;
  }
  CHECK_INT(seen, 5); /* those inside the loop too */
  CHECK(timeline_has(t, BOX_BACKWARD) && timeline_has(t, BOX_UPDATE));
  CHECK_INT(t->rows[0].lanes[LANE_COMPUTE].busy,
            t->rows[1].lanes[LANE_COMPUTE].busy); /* equal lists: nobody waits */
  CHECK_NEAR(timeline_idle_share(t), 0, 1e-12);
  char *svg = svg_of(&plan);
  CHECK(is_well_formed(svg));
  CHECK(strstr(svg, "&lt;a &amp; b>") != NULL);
  free(svg);
  check_text(&plan, 7); /* each class has a lane beside, the legend a line about them */
  build_free(&b);
  arena_free(arena);
}

static void check_nothing(void) {
  Plan plan = {0};
  char *text = text_of(&plan);
  CHECK_TEXT(text, "this plan has no train step\n");
  free(text);
  FILE *out = tmpfile();
  CHECK(!timeline_svg(&plan, out));
  CHECK_INT(ftell(out), 0);
  fclose(out);
}

/* `timeline_test KIND svg|text`: the picture of one schedule, for docs and for looking at it. A
 * stage has the same work in all of them: chunks are half of one. */
static int draw(const char *kind, const char *form) {
  Arena *arena = arena_new();
  PlanBuilder b = {0};
  for (int i = 0; i < PIPE_KIND_COUNT; i++)
    if (strcmp(pipe_rules[i].word, kind) == 0)
      build_pipeline(&b, pipeline_make(arena, shapes[i]),
                     (Costs){.ns = 1000000 * 2 / shapes[i].chunks});
  Plan plan = build_view(&b);
  if (strcmp(form, "svg") == 0)
    timeline_svg(&plan, stdout);
  else
    timeline_text(&plan, stdout);
  build_free(&b);
  arena_free(arena);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3) return draw(argv[1], argv[2]);
  TEST("a plan takes the time of its schedule, row by row without overlap, as well-formed XML") {
    for (int i = 0; i < PIPE_KIND_COUNT; i++)
      check_schedule(shapes[i]);
    check_schedule((PipeShape){PIPE_INTERLEAVED, 8, 4, 16, {2, 3, 1}});
    check_schedule((PipeShape){PIPE_1F1B, 1, 1, 4, {1, 2, 0}});
  }
  TEST("without predictions records take FLOPs, without those one each; exchanges take time")
  check_units();
  TEST("lengths in units of their size")
  check_lengths();
  TEST("text shows what each column goes to")
  check_drawn();
  TEST("what runs beside computation has a strip of its own")
  check_lanes();
  TEST("later chunks are paler")
  check_paler();
  TEST("a plan whose stages wait for ever says so")
  check_stuck();
  TEST("collectives, loops and layers of a complete plan")
  check_example();
  TEST("no train step, no picture")
  check_nothing();
  CHECK_DONE();
}
