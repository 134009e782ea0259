/* LINK: job_plan plan_builder plan contract
 * Every number of every record follows from its node, its purpose and the cuts: whichever is
 * another, the record is refused. The good plans are compiled, which proves them. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "kernels/contract/contract.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_text.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/findings.h"
#include "tests/unit/plan_builder.h"

static char folder[] = "/tmp/lockstep_records.XXXXXX";
static PlanBuilder b;
static ProveReport report;

static void begin(const char *model, const JobChanges *changes) {
  char path[80];
  (void)snprintf(path, sizeof path, "%s/plan", folder);
  Plan plan;
  build_free(&b);
  if (!job_plan(model, changes, path, &plan)) exit(1); /* it has said why */
  build_copy(&b, &plan);
  plan_close(&plan);
  (void)unlink(path);
}

#define BEGIN(model, ...) begin(model, &(JobChanges){{__VA_ARGS__}})

static bool passes(void) {
  Plan plan = build_view(&b);
  return prove(&plan, &report);
}

static void expect(const char *words) {
  CHECK(!passes());
  findings_expect(&report, words);
}

static const char *kernel_name(const PlanRecord *record) {
  return record->kind == RECORD_KERNEL ? b.strings + b.kernels[record->kernel].name : "";
}

/* Record `n` with that kernel and purpose. */
static PlanRecord *record_of(const char *kernel, Purpose purpose, uint32_t n) {
  for (uint32_t i = 0; i < b.records_count; i++)
    if (strcmp(kernel_name(&b.records[i]), kernel) == 0 &&
        b.records[i].purpose == (uint32_t)purpose && n-- == 0)
      return &b.records[i];
  printf("no %s\n", kernel);
  abort();
}

static uint32_t kernel_named(const char *name) {
  uint32_t text = build_string(&b, name);
  for (uint32_t k = 0; k < b.kernels_count; k++)
    if (b.kernels[k].name == text) return k;
  return build_kernels(&b, (PlanKernel){text});
}

/* ---- by name */

static void rename_segment(const char *name, const char *other) {
  for (uint32_t i = 0; i < b.segments_count; i++)
    if (strcmp(b.strings + b.segments[i].name, name) == 0)
      b.segments[i].name = build_string(&b, other);
}

static void test_roles(void) {
  TEST("a segment whose name is that of another kind, or of none") {
    BEGIN("gpt2", NULL);
    rename_segment("h.update", "h.backward");
    expect(
        "segment h.backward: expected records for node or part or recompute or conversion or cast, "
        "found one for update");
    BEGIN("gpt2", NULL);
    rename_segment("h.update", "h.strange");
    expect("segment h.strange: its name ends in no word that says what it does");
  }
  TEST("what must be zero is filled with random numbers") {
    BEGIN("gpt2", NULL);
    record_of("init_constant", PURPOSE_CLEAR, 1)->kernel = kernel_named("init_normal");
    expect("what must be zero is filled with something else");
  }
  TEST("a parameter that begins as a constant") {
    BEGIN("gpt2", NULL);
    record_of("init_normal", PURPOSE_INIT, 1)->kernel = kernel_named("init_constant");
    expect("the parameter begins normal");
  }
  TEST("two parameters that begin with the same numbers") {
    BEGIN("gpt2", NULL);
    record_of("init_normal", PURPOSE_INIT, 1)->key = record_of("init_normal", PURPOSE_INIT, 0)->key;
    expect("draws the random numbers of something else");
  }
  TEST("an optimizer that the job does not have, and its decay where there is none") {
    BEGIN("gpt2", NULL);
    PlanRecord *record = record_of("adamw", PURPOSE_UPDATE, 2);
    b.reals[record->attrs_first + 3] = 0.1;
    expect("adamw h.*.ln_1.weight): attr decay is 0.1, and should be 0");
    b.reals[record->attrs_first + 3] = 0;
    CHECK(passes());
    record->kernel = kernel_named("sgd");
    record->operands_count = 3, record->attrs_count = 4;
    expect("the job's optimizer is adamw");
  }
  TEST("a clip that is not the job's") {
    BEGIN("gpt2", NULL);
    b.reals[record_of("grad_norm", PURPOSE_NORM, 0)->attrs_first] = 5;
    expect("attr clip is 5, and should be 0.5");
  }
}

static PlanVary *vary_of(const PlanRecord *record, uint32_t attr) {
  for (uint32_t i = record->varies_first; i < record->varies_first + record->varies_count; i++)
    if (b.varies[i].attr == attr) return &b.varies[i];
  printf("attr %u does not vary\n", attr);
  abort();
}

static void test_numbers(void) {
  enum { INNER = 2, STRIDE = 3, ALL = 4, FLAT_FIRST = 2, FIRST = 3 };
  TEST("ranks that divide a tensor begin with the numbers of the same part") {
    BEGIN("gpt2", "cluster.devices=2", "parallel.tp=2");
    vary_of(record_of("init_normal", PURPOSE_INIT, 0), FIRST)->stride = 0;
    expect("init_normal wte.weight): attr first is 0, and should be");
  }
  TEST("ranks of a piece of the row begin with the numbers of the next") {
    BEGIN("gpt2", "cluster.devices=2", "parallel.zero=3");
    vary_of(record_of("init_normal", PURPOSE_INIT, 0), FLAT_FIRST)->stride *= 2;
    expect("attr flat_first is");
  }
  TEST("numbers of all ranks begin further on") {
    BEGIN("gpt2", NULL);
    b.reals[record_of("init_normal", PURPOSE_INIT, 0)->attrs_first + FIRST] = 1;
    expect("attr first is 1, and should be 0");
  }
  TEST("other rows, or another number of elements") {
    static const int dims[] = {INNER, STRIDE, ALL};
    static const char *const words[] = {"dim inner is", "dim stride is", "dim all_elements is"};
    for (int i = 0; i < 3; i++) {
      BEGIN("gpt2", "cluster.devices=2", "parallel.tp=2");
      b.ints[record_of("init_normal", PURPOSE_INIT, 0)->dims_first + (uint32_t)dims[i]] *= 2;
      expect(words[i]);
    }
  }
}

static void test_nodes(void) {
  TEST("another op of the same shape") {
    BEGIN("gpt2", NULL);
    record_of("gelu", PURPOSE_NODE, 0)->kernel = kernel_named("silu");
    expect("no row of rules.def lets this kernel carry out the op gelu...gpt2.lua:14:13");
  }
  TEST("another loss scale") {
    BEGIN("gpt2", NULL);
    b.reals[record_of("cross_entropy_train", PURPOSE_NODE, 0)->attrs_first] *= 2;
    expect("attr scale is");
  }
  TEST("the bias of another node") {
    BEGIN("gpt2", NULL);
    PlanRecord *linear = record_of("linear_bias", PURPOSE_NODE, 0);
    linear->node = record_of("linear_bias", PURPOSE_NODE, 1)->node;
    expect("linear_bias h.*.attn.c_attn)");
  }
  TEST("a rank of a ring that looks at another block of keys") {
    BEGIN("gpt2", "cluster.devices=4", "parallel.cp=4");
    PlanRecord *attention = record_of("attention", PURPOSE_PART, 1);
    CHECK(attention->varies_count > 0);
    for (uint32_t i = 0; i < attention->varies_count; i++) {
      const PlanVary *vary = &b.varies[attention->varies_first + i];
      if (vary->attr == 5) b.reals[vary->values_first + 1] = b.reals[vary->values_first + 2];
    }
    expect("attr k_first is");
  }
  TEST("ranks that update by different rates of decay") {
    BEGIN("gpt2", "cluster.devices=2", "parallel.zero=0");
    PlanRecord *record = record_of("adamw", PURPOSE_UPDATE, 0);
    record->varies_first = b.varies_count, record->varies_count = 1;
    build_varies(&b, (PlanVary){.stride = 0.01, .attr = 3});
    expect("adamw wte.weight): attr decay is");
  }
}

static void test_lasting(void) {
  TEST("stages whose ranks would all save the first one's state") {
    BEGIN("gpt2", "cluster.devices=2", "parallel.pp=2", "train.microbatch=1");
    const int64_t axes = *build_count(&b, JOB_state_axes);
    *build_count(&b, JOB_state_axes) = 0;
    expect("state_axes: classes[0] would write the state of classes[1]");
    *build_count(&b, JOB_state_axes) = axes;
    CHECK(passes());
  }
  TEST("a moment that the plan calls whole") {
    BEGIN("gpt2", "cluster.devices=2", "parallel.zero=1");
    uint32_t i = 0, whole = b.tensors[0].layout;
    while (b.tensors[i].kind != BUFFER_MOMENT1)
      i++;
    CHECK(b.layouts[b.tensors[i].layout].flat_axes != 0 && b.layouts[whole].flat_axes == 0);
    b.tensors[i].layout = whole;
    expect("wte.weight: 1024 elements, but its layout gives a rank 2048");
  }
  TEST("a layer that begins twice, another never") {
    BEGIN("gpt2", NULL);
    for (uint32_t i = 0; i < b.calls_count; i++)
      if (strcmp(b.strings + b.segments[b.calls[i].segment].name, "h.init") == 0)
        b.calls[i].layer = 1;
    expect("after init tensor h.*.ln_1.weight: expected");
  }
}

/* The same elements of a rank, as so many more samples of fewer tokens. */
static uint32_t layout_turned(uint32_t layout) {
  PlanLayout other = b.layouts[layout];
  uint32_t first = b.layout_dims_count;
  for (uint32_t i = 0; i < other.dims_count; i++)
    build_layout_dims(&b, b.layout_dims[other.dims_first + i]);
  for (uint32_t i = 0; i < 2; i++) {
    PlanLayoutDim *dim = &b.layout_dims[first + i];
    dim->size = i == 0 ? dim->size * 2 : dim->size / 2;
    dim->real_size = dim->size;
    uint32_t cuts = b.cuts_count;
    for (uint32_t k = 0; k < dim->cuts_count; k++)
      build_cuts(&b, b.cuts[dim->cuts_first + k]);
    dim->cuts_first = cuts;
  }
  for (uint32_t i = 2; i < other.dims_count; i++)
    b.layout_dims[first + i].cuts_count = 0;
  other.dims_first = first;
  return build_layouts(&b, other);
}

static void test_layouts(void) {
  TEST("blocks of a ring that are joined as other samples and tokens") {
    BEGIN("llama", "cluster.devices=2", "parallel.cp=2");
    PlanRecord *record = record_of("attention_merge", PURPOSE_PART, 0);
    PlanOperand *operand = &b.operands[record->operands_first];
    operand->layout = layout_turned(operand->layout);
    uint32_t first = b.ints_count;
    for (uint32_t i = 0; i < record->dims_count; i++)
      build_ints(&b, b.ints[record->dims_first + i]);
    record->dims_first = first;
    b.ints[first] *= 2, b.ints[first + 1] /= 2;
    expect("the plan does not say how operand 0 has model.layers.*.attention");
  }
  TEST("stages that take what goes between them to be cut in two ways") {
    BEGIN("gpt2", "cluster.devices=2", "parallel.pp=2", "train.microbatch=1");
    PlanRecord *record = b.records;
    while (record->purpose != PURPOSE_TRANSFER)
      record++;
    PlanMeaning meaning = b.meanings[record->meaning];
    meaning.before = meaning.after = layout_turned(meaning.before);
    record->meaning = build_meanings(&b, meaning);
    expect("it meets another value or layout of classes[1]");
  }
}

static void test_job(void) {
  TEST("an optimizer, a clip or a decay that updates do not carry out") {
    BEGIN("gpt2", NULL);
    *build_real(&b, JOB_clip) *= 2, *build_real(&b, JOB_beta1) /= 2;
    expect("attr clip is");
    findings_expect(&report, "attr beta1 is");
    build_word(&b, JOB_optimizer, "lion");
    expect("the job's optimizer is lion");
  }
  TEST("tensors that a checkpoint would take for each other") {
    BEGIN("gpt2", NULL);
    uint32_t one = build_string(&b, "h.*.ln_1.weight"), other = build_string(&b, "h.*.ln_2.weight");
    for (uint32_t i = 0; i < b.tensors_count; i++) {
      const uint32_t name = b.tensors[i].name;
      b.tensors[i].name = name == one ? other : name == other ? one : name;
    }
    expect("tensor h.*.ln_2.weight is saved as another");
  }
  TEST("an input that is staged as another, of another length, or of ids that there are not") {
    BEGIN("gpt2", NULL);
    const PlanInput input[2] = {b.inputs[0], b.inputs[1]};
    b.inputs[0] = input[1], b.inputs[1] = input[0];
    expect("input tokens is staged as another");
    b.inputs[0] = input[0], b.inputs[1] = input[1];
    b.inputs[1].role = INPUT_TOKENS;
    expect("input targets is filled with something else");
    b.inputs[1].role = INPUT_COLUMNS;
    expect("input targets is filled with something else");
    b.inputs[1] = input[1], --*build_count(&b, JOB_vocab);
    expect("63 tokens are known, and inputs have 64");
    ++*build_count(&b, JOB_vocab);
    b.inputs[1] = input[1], b.inputs[1].vocab++;
    expect("input targets has more ids than the model");
    b.inputs[1] = input[1], *build_count(&b, JOB_context) /= 2;
    expect("input tokens has not the tokens of a sample");
  }
  TEST("a tensor of no value, memory that no program needs, a loss that is none of the model's") {
    BEGIN("gpt2", NULL);
    const uint32_t value = b.tensors[0].value;
    b.tensors[0].value = PLAN_NONE;
    expect("is saved as another");
    b.tensors[0].value = value, b.arenas[0].size_bytes *= 2;
    expect("the arena has");
    b.arenas[0].size_bytes /= 2, build_word(&b, JOB_loss, "mse");
    expect("the loss is cross_entropy");
    build_word(&b, JOB_loss, "cross_entropy"), b.lanes[0].processor = PROCESSOR_HOST;
    expect("on lane compute, which is the host's");
  }
}

static void test_run(void) {
  TEST("a micro-batch that is loaded twice") {
    BEGIN("gpt2", NULL);
    const PlanProgram *program = b.programs;
    while (program->kind != PROGRAM_TRAIN_STEP)
      program++;
    for (uint32_t i = 0; i < program->calls_count; i++) {
      PlanCall *call = &b.calls[program->calls_first + i];
      if (b.records[b.segments[call->segment].records_first].kind != RECORD_LOAD) continue;
      call[1] = call[0], call[1].waits_count = 0;
      break;
    }
    expect("loads a micro-batch twice");
  }
  TEST("two names that draw the same numbers") {
    BEGIN("gpt2", NULL);
    b.nodes[0].key = b.nodes[1].key;
    expect("embedding of wte.embedding draws another's numbers");
  }
}

/* ---- whichever number */

typedef struct Tally {
  uint32_t tried, kept;
} Tally;

static void tell(const PlanRecord *record, const char *what, uint32_t i) {
  printf("%s %s (%s, %s): %s %u is not judged\n", RecordKind_names[record->kind],
         kernel_name(record), b.strings + record->path, Purpose_names[record->purpose], what, i);
}

static void count(Tally *tally, const PlanRecord *record, const char *what, uint32_t i) {
  tally->tried++;
  if (!passes()) return;
  tally->kept++;
  tell(record, what, i);
}

/* Pieces of parameters and distances between stages are judged with what they meet. */
static bool dims_are_judged(const PlanRecord *record) {
  bool moves = record->kind == RECORD_ALL_GATHER || record->kind == RECORD_REDUCE_SCATTER;
  return record->purpose != PURPOSE_TRANSFER &&
         !(moves && record->purpose != PURPOSE_CONVERSION && record->purpose != PURPOSE_RECOMPUTE);
}

static void change_dims(Tally *tally, const PlanRecord *record) {
  for (uint32_t i = 0; i < record->dims_count && dims_are_judged(record); i++) {
    int64_t *dim = &b.ints[record->dims_first + i], was = *dim;
    const KernelContract *contract =
        record->kind == RECORD_KERNEL ? contract_find(kernel_name(record)) : NULL;
    bool counts = contract != NULL && contract->is_broadcast && i == 0;
    bool flag = contract != NULL && !contract->is_broadcast && contract->dims[i].is_flag;
    if (counts) continue; /* shapes */
    *dim = flag ? 1 - was : was + 1;
    count(tally, record, "dim", i);
    *dim = was;
  }
}

static void change_attrs(Tally *tally, const PlanRecord *record) {
  for (uint32_t i = 0; i < record->attrs_count; i++) {
    double *attr = &b.reals[record->attrs_first + i], was = *attr;
    *attr = was * 2 + 1.5;
    count(tally, record, "attr", i);
    *attr = was;
  }
}

static void change_varies(Tally *tally, PlanRecord *record) {
  uint32_t all = record->varies_count;
  for (uint32_t i = 0; i < all; i++) {
    PlanVary *vary = &b.varies[record->varies_first + i];
    vary->stride += 1;
    count(tally, record, "difference between ranks", i);
    vary->stride -= 1;
  }
  if (all == 0) return;
  record->varies_count = all - 1;
  count(tally, record, "difference between ranks", all - 1);
  record->varies_count = all;
}

/* Every slot of the plan in the place of each, another access, and one less. */
static void change_control(Tally *tally, PlanRecord *record) {
  for (uint32_t i = 0; i < record->controls_count; i++) {
    PlanControl *control = &b.controls[record->controls_first + i], was = *control;
    for (control->slot = 0; control->slot < b.slots_count; control->slot++)
      if (control->slot != was.slot) count(tally, record, "control slot", i);
    *control = was;
    control->access = (control->access + 1) % Access_COUNT;
    count(tally, record, "access to control slot", i);
    *control = was;
  }
  if (record->controls_count == 0) return;
  record->controls_count--;
  count(tally, record, "number of control slots", record->controls_count);
  record->controls_count++;
}

static void change_kernel(Tally *tally, PlanRecord *record) {
  uint32_t was = record->kernel;
  for (uint32_t k = 0; record->kind == RECORD_KERNEL && k < b.kernels_count; k++) {
    const KernelContract *contract = contract_find(b.strings + b.kernels[k].name);
    record->kernel = k;
    if (k != was && contract_dims_fit(contract, b.ints + record->dims_first, record->dims_count))
      count(tally, record, "kernel", k);
  }
  record->kernel = was;
}

static void change_rest(Tally *tally, PlanRecord *record) {
  record->key++;
  count(tally, record, "key", 0);
  record->key--;
}

static void test_any(const char *model, const JobChanges *changes) {
  Tally tally = {0};
  begin(model, changes);
  CHECK(passes());
  for (uint32_t i = 0; i < b.records_count; i++) {
    PlanRecord *record = &b.records[i];
    change_dims(&tally, record);
    change_attrs(&tally, record);
    change_varies(&tally, record);
    change_control(&tally, record);
    change_kernel(&tally, record);
    change_rest(&tally, record);
  }
  CHECK(tally.tried > 300);
  CHECK_INT(tally.kept, 0);
  CHECK(passes());
}

static const struct {
  const char *model;
  JobChanges changes;
} strategies[] = {
    {"gpt2", {{"model.dropout=0.1"}}},
    {"mlp", {{NULL}}},
    {"llama", {{"precision=bf16", "memory.recompute=block"}}},
    {"gpt2",
     {{"cluster.devices=4", "parallel.tp=2", "parallel.sequence=true", "model.dropout=0.1"}}},
    {"llama",
     {{"cluster.devices=4", "parallel.tp=2", "parallel.sequence=false", "precision=bf16"}}},
    {"llama", {{"cluster.devices=4", "parallel.cp=2", "parallel.tp=2", "parallel.zero=3"}}},
    {"gpt2", {{"cluster.devices=2", "parallel.cp=2", "parallel.cp_kind=ulysses"}}},
    {"gpt2", {{"cluster.devices=4", "parallel.pp=2", "parallel.zero=1", "train.microbatch=1"}}},
    {"gpt2", {{"cluster.devices=2", "parallel.zero=2", "model.vocab=62", "optimizer.clip=0"}}},
    {"llama", {{"cluster.devices=2", "parallel.zero=1", "precision=fp16"}}},
};

static void test_strategies(void) {
  for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
    TEST("whichever number of a record is another")
  test_any(strategies[i].model, &strategies[i].changes);
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  test_roles();
  test_numbers();
  test_nodes();
  test_lasting();
  test_layouts();
  test_job();
  test_run();
  test_strategies();
  build_free(&b);
  (void)rmdir(folder);
  CHECK_DONE();
}
