/* LINK: job_plan plan_builder plan
 * Plans of every way to divide the work, with one thing wrong: what one rank, or one class, cannot
 * know of itself. The good plans are compiled, which proves them. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_layout.h"
#include "runtime/plan/plan_text.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/findings.h"
#include "tests/unit/plan_builder.h"

static char folder[] = "/tmp/lockstep_prove.XXXXXX";
static PlanBuilder b;
static ProveReport report;

/* The small GPT-2 of tests/parity/jobs, with changes. */
static void begin(const JobChanges *changes) {
  char path[80];
  (void)snprintf(path, sizeof path, "%s/plan", folder);
  Plan plan;
  build_free(&b);
  if (!job_plan("gpt2", changes, path, &plan)) exit(1); /* it has said why */
  build_copy(&b, &plan);
  plan_close(&plan);
  (void)unlink(path);
}

#define BEGIN(...) begin(&(JobChanges){{__VA_ARGS__}})
#define FEW        "train.microbatch=1", "train.batch=12 sequences"

static void expect_finding(const char *words) {
  Plan plan = build_view(&b);
  CHECK(!prove(&plan, &report));
  findings_expect(&report, words);
}

static const char *record_name(const PlanRecord *record) {
  return record->kind == RECORD_KERNEL ? b.strings + b.kernels[record->kernel].name
                                       : RecordKind_names[record->kind];
}

/* Record `n` of that name in the segment, at any place. */
static PlanRecord *record_of(const char *segment, const char *name, uint32_t n) {
  for (uint32_t s = 0; s < b.segments_count; s++) {
    if (strcmp(b.strings + b.segments[s].name, segment) != 0) continue;
    for (uint32_t i = 0; i < b.segments[s].records_count; i++) {
      PlanRecord *record = &b.records[b.segments[s].records_first + i];
      if (strcmp(record_name(record), name) == 0 && n-- == 0) return record;
    }
  }
  printf("no %s in %s\n", name, segment);
  abort();
}

/* The record is there, and no call meets its condition. */
static void drop(PlanRecord *record) {
  record->when_all = record->when_none = CALL_GROUP_LAST;
}

/* A communicator along one axis. */
static uint32_t comm_along(const char *axis) {
  for (uint32_t i = 0; i < b.comms_count; i++)
    for (uint32_t k = 0; k < b.axes_count; k++)
      if (b.comms[i].axes_mask == 1u << k && strcmp(b.strings + b.axes[k].name, axis) == 0)
        return i;
  printf("no communicator along %s\n", axis);
  abort();
}

static bool is_layout(uint32_t layout, const char *want) {
  Plan plan = build_view(&b);
  char text[PLAN_LAYOUT_BYTES];
  return strcmp(plan_layout_text(&plan, layout, plan_layout_axes(&plan, layout), text), want) == 0;
}

/* A meaning whose layout is a sum along that axis. */
static uint32_t meaning_along(const char *layout) {
  for (uint32_t i = 0; i < b.meanings_count; i++)
    if (is_layout(b.meanings[i].before, layout)) return i;
  printf("nothing is %s\n", layout);
  abort();
}

/* Call `n` of the segment, of any program. */
static PlanCall *call_of(const char *segment, uint32_t n) {
  for (uint32_t i = 0; i < b.calls_count; i++)
    if (strcmp(b.strings + b.segments[b.calls[i].segment].name, segment) == 0 && n-- == 0)
      return &b.calls[i];
  abort();
}

/* From here on the call does nothing: its segment is its own, and no record of it runs. */
static void idle_call(PlanCall *call) {
  PlanSegment copy = b.segments[call->segment];
  uint32_t bases = b.bases_count, records = b.records_count;
  for (uint32_t i = 0; i < copy.bases_count; i++)
    build_bases(&b, b.bases[copy.bases_first + i]);
  for (uint32_t i = 0; i < copy.records_count; i++) {
    build_records(&b, b.records[copy.records_first + i]);
    drop(&b.records[records + i]);
  }
  copy.bases_first = bases, copy.records_first = records;
  call->segment = build_segments(&b, copy);
}

/* Takes elements from one piece of a collective and gives them to the next. */
static void shift_pieces(const PlanRecord *record) {
  int64_t *pair = &b.ints[record->dims_first];
  while (pair[1] <= 32)
    pair += 2;
  pair[1] -= 32;
  pair[pair + 2 < &b.ints[record->dims_first + record->dims_count] ? 3 : -1] += 32;
}

static void test_tensor_parallel(void) {
  TEST("gradients that are parts of a sum along tp, and stay so, are found") {
    BEGIN("cluster.devices=2", "parallel.tp=2", "parallel.sequence=true");
    drop(record_of("h.reduce", "all_reduce", 0));
    expect_finding("types: ...square_sum h.*.ln_1.weight): squares of partial sums");
  }
  TEST("so are activations that are") {
    BEGIN("cluster.devices=2", "parallel.tp=2", "parallel.sequence=false");
    drop(record_of("h.forward", "all_reduce", 0));
    expect_finding("types: ...add h.*.attn.c_proj): an operand is a partial sum along tp");
  }
  TEST("a sum over ranks that have the same is found") {
    BEGIN("cluster.devices=4", "parallel.tp=2", "parallel.sequence=false", "parallel.zero=0");
    PlanRecord *sum = record_of("h.forward", "all_reduce", 0);
    sum->comm = comm_along("dp");
    expect_finding("of Partial(sum)@tp, but over dp");
    sum->meaning = meaning_along("Partial(sum)@dp");
    expect_finding(
        "all_reduce h.*.attn.c_proj): it sums values that are not partial sums along dp");
    BEGIN("cluster.devices=4", "parallel.tp=2", "parallel.sequence=false", "parallel.zero=0");
    record_of("h.reduce", "all_reduce", 0)->comm = comm_along("tp");
    expect_finding("communication: ...all_reduce h.reduce): of Partial(sum)@dp, but over tp");
  }
  TEST("squares that stay on their ranks, or count for each of them, are found") {
    BEGIN("cluster.devices=2", "parallel.tp=2");
    drop(record_of("clip", "all_reduce", 0));
    expect_finding(
        "types: ...grad_norm clip): byte 16 of operand 0 is no sum of squares that the others "
        "can be added to; written last by call ...(clip), record 2 (sum clip) "
        "(optimizer.clip, job: ...gpt2.lua:6:45)");
    BEGIN("cluster.devices=4", "parallel.tp=2", "parallel.zero=0");
    uint32_t dp = comm_along("dp");
    record_of("clip", "all_reduce", 0)->comm = dp;
    expect_finding("communication: ...all_reduce clip): of Partial(sum)@tp, but over dp");
  }
}

static void test_zero(void) {
  TEST("parameters that are not gathered after their updates are found") {
    BEGIN("cluster.devices=4", "parallel.zero=1", FEW);
    drop(record_of("h.gather", "all_gather", 0));
    expect_finding("types: replica: after init tensor h.*.ln_1.weight: expected "
                   "parameters (old) h.*.ln_1.weight fp32, found ... only the own piece by dp; "
                   "written last by call ...(h.init), record "
                   "...(init_constant h.*.ln_1.weight) (specs/models/gpt2.lua:9:37)");
  }
  TEST("pieces that lie otherwise than they are moved are found") {
    BEGIN("cluster.devices=4", "parallel.zero=1", FEW);
    shift_pieces(record_of("h.reduce", "reduce_scatter", 0));
    expect_finding("types: ...reduce_scatter h.reduce): bytes 1024 to 12800 hold nothing known");
    BEGIN("cluster.devices=4", "parallel.zero=1", FEW);
    shift_pieces(record_of("h.gather", "all_gather", 0));
    expect_finding("types: ...all_gather h.gather): bytes 1024 to 12800 hold nothing known");
  }
  TEST("an update of another rank's piece is found") {
    BEGIN("cluster.devices=4", "parallel.zero=1", FEW);
    b.operands[record_of("h.update", "adamw", 0)->operands_first].by = PLAN_NONE;
    b.operands[record_of("h.update", "adamw", 0)->operands_first].member_stride = 0;
    expect_finding(
        "types: ...adamw h.*.ln_1.weight): operand 1 param: expected...found ... in pieces by dp; "
        "nothing in train_step writes there before it (specs/models/gpt2.lua:9:37)");
  }
  TEST("a micro-batch whose gradients never reach the shard is found") {
    BEGIN("cluster.devices=4", "parallel.zero=2", FEW);
    drop(record_of("h.reduce", "add", 0));
    expect_finding("ordering: ...embedding wpe): writes bytes");
    BEGIN("cluster.devices=4", "parallel.zero=2", FEW);
    idle_call(call_of("h.reduce", 2)); /* the second micro-batch, last layer first */
    expect_finding("types: ...add h.reduce): sum h.*.ln_1.weight ... cannot be added to...; "
                   "written last by call ... (specs/models/gpt2.lua:9:37)");
  }
  TEST("shards of groups that do not come together are found") {
    BEGIN("cluster.devices=4", "parallel.zero=2", "parallel.zero_group=2", FEW);
    drop(record_of("h.reduce", "all_reduce", 0));
    expect_finding("types: ...square_sum h.*.ln_1.weight): squares of partial sums");
  }
  TEST("shards gathered over other ranks are found") {
    BEGIN("cluster.devices=4", "parallel.zero=3", "parallel.zero_group=2", "parallel.zero_keep=0B",
          FEW);
    record_of("h.gather", "all_gather", 0)->comm = comm_along("dp_replicate");
    expect_finding(
        "communication: ...all_gather h.gather): of Shard(flat)@dp, but over dp_replicate");
  }
}

static void test_context_parallel(void) {
  TEST("blocks that go round the other way than they come are found") {
    BEGIN("cluster.devices=4", "parallel.cp=4");
    b.ints[record_of("h.forward", "exchange", 0)->dims_first] += 1;
    expect_finding("timeline: train_step does not end: ...exchange of ...waits forever");
  }
  TEST("a slice beyond its whole on some rank is found") {
    BEGIN("cluster.devices=2", "parallel.cp=2");
    PlanRecord *slice = record_of("begin.forward", "slice", 0);
    b.varies[slice->varies_first].stride *= 4;
    expect_finding("cut no whole dim into equal parts");
  }
}

static void test_pipeline(void) {
  static const JobChanges stages = {{"cluster.devices=2", "parallel.pp=2", FEW}};
  TEST("an exchange that only one stage runs is found") {
    begin(&stages);
    for (uint32_t i = 0; i < b.calls_count; i++) {
      const char *name = b.strings + b.segments[b.calls[i].segment].name;
      if (strncmp(name, "exchange", 8) != 0) continue;
      idle_call(&b.calls[i]);
      break;
    }
    expect_finding("timeline: train_step does not end");
  }
  TEST("parts of a tied gradient that stay on their stages are found") {
    begin(&stages);
    drop(record_of("tied wte.weight.join.first", "add", 0));
    expect_finding("ordering: stage 0 train_step...and nothing orders the two");
  }
  TEST("a tied gradient that two stages count, or none, is found") {
    begin(&stages);
    drop(record_of("tied wte.weight.square_sum", "square_sum", 0));
    expect_finding("types: stage 0...sum clip): byte 0 of operand 0 is no sum of squares");
  }
  TEST("norms that stages keep to themselves are found") {
    begin(&stages);
    for (uint32_t i = 0; i < 2; i++) /* each stage has its own list */
      drop(record_of("clip", "all_reduce", i));
    expect_finding("types: ...grad_norm clip): the norm lacks the squares of other ranks along pp");
  }
}

/* A copy of the call's segment, of this call alone, whose record `n` of that name never runs. */
static void drop_in_call(PlanCall *call, const char *name, uint32_t n) {
  PlanSegment copy = b.segments[call->segment];
  idle_call(call);
  const PlanSegment *idle = &b.segments[call->segment];
  for (uint32_t i = 0; i < copy.records_count; i++) {
    const PlanRecord record = b.records[copy.records_first + i];
    if (strcmp(record_name(&record), name) != 0 || n-- > 0)
      b.records[idle->records_first + i] = record;
  }
}

static void test_microbatches(void) {
  static const JobChanges one = {{"cluster.devices=1", FEW}};
  TEST("a micro-batch that reads what belongs to another is found") {
    begin(&one);
    call_of("h.forward", 3)->microbatch++; /* of the second micro-batch, neither first nor last */
    expect_finding(
        "types: ...operand 0 x: expected...found value add fp32, layer +1, micro-batch -1");
  }
  TEST("a use of a tied weight that one micro-batch forgets is found") {
    begin(&one);
    drop_in_call(call_of("begin.backward", 2), "embedding_backward", 2);
    expect_finding("types: ...operand 0 x: expected sum wte.weight...found sum wte.weight ... to "
                   "+12...to +13");
  }
}

static PlanOperand *operand(const PlanRecord *record, uint32_t index) {
  return &b.operands[record->operands_first + index];
}

static void move_to(PlanOperand *x, const PlanOperand *y) {
  x->base = y->base, x->offset = y->offset;
}

static void swap_places(PlanOperand *x, PlanOperand *y) {
  PlanOperand z = *x;
  move_to(x, y);
  move_to(y, &z);
}

/* q, k and v are parts of one product: whoever moves them, each arrives once, and its gradient
 * where it came from. */
static void test_moved_parts(void) {
  static const JobChanges halves = {
      {"cluster.devices=2", "parallel.cp=2", "parallel.cp_kind=ulysses"}};
  TEST("a part that is moved instead of another is found") {
    for (uint32_t n = 1; n < 3; n++) {
      begin(&halves);
      drop(record_of("h.forward", "copy", n));
      expect_finding("types: ...attention h.*.attention): operand ... found value h.*.split");
      begin(&halves);
      drop(record_of("h.backward", "all_to_all", 1 + n)); /* the first is the output's */
      expect_finding("types: ...linear_dw h.*.attn.c_attn): operand 1 d_y: expected");
    }
  }
  TEST("so are parts that change places") {
    begin(&halves);
    swap_places(operand(record_of("h.forward", "copy", 0), 0),
                operand(record_of("h.forward", "copy", 2), 0));
    swap_places(operand(record_of("h.backward", "copy", 0), 1),
                operand(record_of("h.backward", "copy", 1), 1));
    expect_finding(
        "types: ...attention h.*.attention): operand 0 q: expected...found value h.*.split.2");
  }
  TEST("gradients of keys that are copied home, around a ring, are each of their block") {
    BEGIN("cluster.devices=2", "parallel.cp=2", "parallel.cp_kind=ring");
    PlanRecord *sum = record_of("h.backward", "add", 2);
    *operand(sum, 1) = *operand(sum, 0);
    expect_finding("types: ...add h.*.attention): ... cannot be joined with");
  }
  TEST("a backward pass that reads another output than attention's is found") {
    BEGIN("cluster.devices=1");
    PlanRecord *back = record_of("h.backward", "attention_backward", 0);
    move_to(operand(back, 4), operand(record_of("h.backward", "layernorm_backward", 0), 1));
    expect_finding(
        "types: ...operand 4 out: expected value h.*.attention...found value h.*.add fp32");
  }
}

/* Where weights are gathered, and their gradients made, in blocks of a layer. */
static void test_blocks(void) {
  static const JobChanges shared = {
      {"cluster.devices=2", "parallel.zero=3", "parallel.zero_keep=0B"}};
  TEST("a gathered parameter read for another is found") {
    begin(&shared);
    PlanRecord *norm = record_of("h.forward", "layernorm", 0);
    swap_places(operand(norm, 1), operand(norm, 2));
    expect_finding("types: ...layernorm h.*.ln_1): operand 1 weight: expected...found parameters "
                   "(old) h.*.ln_1.bias");
    begin(&shared);
    norm = record_of("h.forward", "layernorm", 0);
    operand(norm, 2)->offset = operand(norm, 1)->offset;
    expect_finding("types: ...layernorm h.*.ln_1): operand 2 bias: expected...found parameters "
                   "(old) h.*.ln_1.weight");
  }
  TEST("a gradient made in another parameter's row is found") {
    begin(&shared);
    PlanRecord *norm = record_of("h.backward", "layernorm_backward", 0);
    swap_places(operand(norm, 5), operand(norm, 6));
    expect_finding(
        "types: ...square_sum h.*.ln_2.weight): operand 0 x: expected...found sum h.*.ln_2.bias");
    BEGIN("cluster.devices=2", "parallel.zero=3", "parallel.zero_keep=0B", "precision=bf16",
          "precision.reduce=bf16"); /* rows are cast, too, with the padding between them */
    norm = record_of("h.backward", "layernorm_backward", 0);
    swap_places(operand(norm, 5), operand(norm, 6));
    expect_finding(
        "types: ...square_sum h.*.ln_2.weight): operand 0 x: expected...found sum h.*.ln_2.bias");
  }
}

/* Where parameters persist in another dtype than kernels read. */
static void test_casts(void) {
  static const JobChanges cast = {{"cluster.devices=2", "parallel.zero=3", "parallel.zero_keep=0B",
                                   "precision=bf16", "precision.param=fp32"}};
  TEST("parameters that are gathered without a cast are found") {
    begin(&cast);
    drop(record_of("h.gather", "cast", 0));
    expect_finding("types: ...(all_gather h.gather): bytes 0 to 128 hold nothing known");
  }
  TEST("a kernel that reads the bytes of parameters as they persist is found") {
    BEGIN("cluster.devices=1", "precision=bf16", "precision.param=fp32");
    drop(record_of("h.cast", "cast", 0));
    expect_finding("types: ...layernorm h.*.ln_1): operand 1 weight: expected...found nothing");
  }
  TEST("an update of the lower halves of another tensor is found, and halves that never begin") {
    static const JobChanges split = {
        {"cluster.devices=2", "parallel.zero=1", "precision=bf16", "precision.master=split"}};
    begin(&split);
    PlanRecord *update = record_of("h.update", "adamw_split", 0);
    *operand(update, 4) = *operand(record_of("h.update", "adamw_split", 1), 4);
    expect_finding("types: ...adamw_split");
    begin(&split);
    drop(record_of("h.init", "init_constant", 0));
    expect_finding("types: ...");
  }
  TEST("another storage than the job's is found") {
    BEGIN("cluster.devices=1", "precision=bf16", "precision.update=kahan");
    for (uint32_t i = 0; i < b.tensors_count; i++)
      if (b.tensors[i].kind == BUFFER_COMPENSATION) b.tensors[i].kind = BUFFER_GRAD;
    expect_finding("adamw_kahan wte.weight): the job's optimizer is adamw");
  }
  TEST("parameters that persist in another dtype than the job's are found") {
    begin(&cast);
    b.tensors[0].dtype = DTYPE_BF16;
    expect_finding("precision.param is fp32, and bf16 is used");
  }
}

/* Gradients go from stage to stage as values came. */
static void test_sent_gradients(void) {
  TEST("a gradient that a stage sends back without one of its parts is found") {
    BEGIN("cluster.devices=2", "parallel.pp=2", "train.microbatch=1");
    PlanRecord *sum = record_of("h.backward", "add", 0);
    move_to(operand(sum, 0), operand(record_of("h.backward", "layernorm_backward", 0), 1));
    expect_finding(
        "types: stage 0...operand 0 a: expected value d_h.*.input...found value h.*.add fp32");
  }
}

/* Backward calls use the numbers of their forward calls. */
static void test_numbers(void) {
  TEST("other dropout backward than forward is found") {
    BEGIN("cluster.devices=1", "model.dropout=0.1");
    b.ints[record_of("h.backward", "dropout", 0)->dims_first + 5] ^= 1;
    expect_finding("dropout h.*.dropout.2): dim has_batch is 0, and should be 1");
    BEGIN("cluster.devices=1", "model.dropout=0.1");
    drop(record_of("begin.forward", "dropout", 0));
    expect_finding("types: ...operand 0 x: expected value dropout fp32...found value add fp32");
  }
  TEST("an embedding of what is neither tokens nor positions is found") {
    BEGIN("cluster.devices=2", "parallel.cp=2", "parallel.zero=3", "parallel.zero_keep=0B");
    move_to(operand(record_of("begin.forward", "slice", 0), 0),
            operand(record_of("begin.forward", "embedding", 0), 0));
    expect_finding("types: ...slice tokens): no rule says how to convert: nothing known");
  }
  TEST("scratch over what the kernel reads is found") {
    BEGIN("cluster.devices=1");
    PlanRecord *norm = record_of("h.backward", "layernorm_backward", 2);
    move_to(operand(norm, 7), operand(norm, 3));
    norm = record_of("h.backward", "layernorm_backward", 3);
    move_to(operand(norm, 7), operand(norm, 3));
    expect_finding("writes operand 7 over operand 3");
  }
}

static void test_once(void) {
  TEST("what is computed twice is found") {
    BEGIN("cluster.devices=2", "parallel.tp=2");
    PlanRecord *first = record_of("h.backward", "linear_dw", 0);
    PlanRecord *second = record_of("h.backward", "linear_db", 0);
    *second = *first;
    expect_finding("types: ...expected sum h.*.mlp.c_proj.bias...use 1 from +2 to +3");
  }
}

/* The first post like `post` from there on. */
static PlanPost *post_like(const PlanPost *post, uint32_t microbatch) {
  for (PlanPost *at = b.posts; at < b.posts + b.posts_count; at++)
    if (at->kind == post->kind && at->depth == post->depth && at->microbatch == microbatch)
      return at;
  printf("no post of micro-batch %u\n", microbatch);
  abort();
}

static void test_posts(void) {
  TEST("operands of two micro-batches that trade places meet others") {
    BEGIN("cluster.devices=2", "parallel.pp=2", FEW);
    PlanPost *one = post_like(b.posts, 0), *two = post_like(b.posts, 1);
    one->microbatch = 1, two->microbatch = 0;
    expect_finding("layers, micro-batch 1 meets activations after");
  }
  TEST("so are another value and another layer") {
    BEGIN("cluster.devices=2", "parallel.pp=2", FEW);
    b.posts[0].depth++;
    expect_finding("micro-batch 0 meets activations after");
    BEGIN("cluster.devices=2", "parallel.pp=2", FEW);
    b.posts[0].kind = BUFFER_GRAD_ACTIVATION;
    expect_finding("activation gradients after");
  }
  TEST("plan_check wants a post for each operand") {
    char why[PLAN_WHY_BYTES] = "";
    BEGIN("cluster.devices=2", "parallel.pp=2", FEW);
    for (uint32_t i = 0; i < b.calls_count; i++)
      if (b.calls[i].posts_count > 0) b.calls[i].posts_count--;
    Plan plan = build_view(&b);
    CHECK(!plan_check(&plan, why));
    CHECK(strstr(why, "posts for the") != NULL);
  }
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  test_tensor_parallel();
  test_zero();
  test_context_parallel();
  test_pipeline();
  test_microbatches();
  test_moved_parts();
  test_blocks();
  test_casts();
  test_sent_gradients();
  test_numbers();
  test_once();
  test_posts();
  build_free(&b);
  (void)rmdir(folder);
  CHECK_DONE();
}
