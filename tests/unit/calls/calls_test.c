/* LINK: search -- the calls of a step: their order, the buffers that they bind, loops, exchanges
 * between stages, and launches of many tensors. */
#include "compiler/job/data.h"
#include "compiler/search/fit.h"
#include "tests/unit/check.h"

enum { LAYERS = 6 };

typedef struct Made {
  Compile *compile;
  Compiled compiled;
  const Draft *draft;
} Made;

static Made make(const char *const *changes, int32_t count) {
  static const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  Made made = {.compile = compile_new(SOURCE_FOLDER "/specs")};
  Job *job = spec_load(made.compile, SOURCE_FOLDER "/tests/unit/search/small.lua", changes, count);
  CHECK(job != NULL && spec_data(made.compile, job));
  CHECK(fit_plan(made.compile, job, &machine, &made.compiled));
  made.draft = made.compiled.draft;
  return made;
}
#define MAKE(...)                                                                                  \
  make((const char *const[]){__VA_ARGS__},                                                         \
       (int32_t)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)))

static const Program *train_step(const Made *made, int32_t stage) {
  return &made->draft->stages[stage].programs[PROGRAM_TRAIN_STEP];
}

/* The region's segment that the call is of: one of the stack's. */
static const RegionSegments *stack_of(const Made *made) {
  const Graph *graph = made->draft->train;
  for (int32_t r = 0; r < graph->regions.count; r++)
    if (graph->regions.at[r].is_stack) return &made->draft->train_parts[r];
  return NULL;
}

/* The first call of this segment, layer and micro-batch from a position on; NO_ID. */
static int32_t find(const Program *program, int32_t from, int32_t segment, int32_t layer,
                    int32_t microbatch) {
  for (int32_t i = from; i < program->calls.count; i++) {
    const Call *call = &program->calls.at[i];
    if (call->segment == segment && call->layer == layer && call->microbatch == microbatch)
      return i;
  }
  return NO_ID;
}

static void check_order(const Made *made) {
  const Program *step = train_step(made, 0);
  const RegionSegments *stack = stack_of(made);
  TEST("forward goes up the layers, backward down, a micro-batch after the other") {
    for (int32_t layer = 1, before = 0; layer < LAYERS; layer++) {
      const int32_t at = find(step, before, stack->forward, layer, 0);
      CHECK(at != NO_ID && at > find(step, 0, stack->forward, layer - 1, 0));
      before = at;
    }
    for (int32_t layer = 0; layer + 1 < LAYERS; layer++)
      CHECK(find(step, 0, stack->backward, layer, 0) >
            find(step, 0, stack->backward, layer + 1, 0));
    CHECK(find(step, 0, stack->forward, 0, 1) > find(step, 0, stack->backward, 0, 0));
  }
  TEST("the first micro-batch, a loop over those in the middle, the last") {
    CHECK_INT(step->loops.count, 1);
    CHECK_INT(step->loops.at[0].times, made->draft->derived.accumulation - 2);
    CHECK_INT(step->loops.at[0].microbatch_stride, 1);
    const Call *calls = step->calls.at;
    const uint32_t ends = CALL_FIRST_MICROBATCH | CALL_LAST_MICROBATCH;
    const int32_t last = (int32_t)made->draft->derived.accumulation - 1;
    CHECK_INT(calls[find(step, 0, stack->forward, 1, 0)].flags & ends, CALL_FIRST_MICROBATCH);
    CHECK_INT(calls[find(step, 0, stack->forward, 1, 1)].flags & ends, 0);
    CHECK_INT(calls[find(step, 0, stack->forward, 1, last)].flags & ends, CALL_LAST_MICROBATCH);
  }
}

static bool binds(const Call *call, int32_t buffer) {
  for (int32_t i = 0; i < call->binding_count; i++)
    if (call->bindings[i].buffer == buffer) return true;
  return false;
}

static void check_buffers(const Made *made) {
  const Stage *stage = &made->draft->stages[0];
  const Program *step = train_step(made, 0);
  TEST("a buffer lives from the first call that binds it, and is bound in its life alone") {
    for (int32_t b = 0; b < stage->buffers.count; b++) {
      const Buffer *buffer = &stage->buffers.at[b];
      if (buffer->program != PROGRAM_TRAIN_STEP) continue;
      CHECK(buffer->first_call <= buffer->last_call);
      for (int32_t i = 0; i < step->calls.count; i++)
        if (binds(&step->calls.at[i], b)) CHECK(i >= buffer->first_call && i <= buffer->last_call);
    }
  }
  TEST("backward of a layer reads the frame that forward of that layer has kept") {
    const RegionSegments *stack = stack_of(made);
    const Call *forward = &step->calls.at[find(step, 0, stack->forward, 2, 0)];
    const Call *backward = &step->calls.at[find(step, 0, stack->backward, 2, 0)];
    int32_t shared = 0;
    for (int32_t i = 0; i < forward->binding_count; i++) {
      const Buffer *buffer = &stage->buffers.at[forward->bindings[i].buffer];
      shared += buffer->program == PROGRAM_TRAIN_STEP && buffer->layer == 2 &&
                binds(backward, forward->bindings[i].buffer);
    }
    CHECK_INT(shared, 1);
  }
  TEST("persistent buffers are bound layer after layer") {
    const RegionSegments *stack = stack_of(made);
    const Call *first = &step->calls.at[find(step, 0, stack->forward, 0, 0)];
    const Call *second = &step->calls.at[find(step, 0, stack->forward, 1, 0)];
    for (int32_t i = 0; i < first->binding_count; i++)
      if (stage->buffers.at[first->bindings[i].buffer].kind == BUFFER_PARAM &&
          stage->buffers.at[first->bindings[i].buffer].program < 0)
        CHECK(second->bindings[i].offset_bytes > first->bindings[i].offset_bytes);
  }
}

static void check_launches(const Made *made) {
  const Program *step = train_step(made, 0);
  TEST("updates of many tensors share a launch, whose buffers live through all of it") {
    CHECK(step->launches.count > 0);
    for (int32_t i = 0; i < step->launches.count; i++) {
      const KernelLaunch *launch = &step->launches.at[i];
      CHECK(launch->call_count > 0);
      CHECK(i == 0 || launch->first_call >= launch[-1].first_call + launch[-1].call_count);
      for (int32_t b = 0; b < made->draft->stages[0].buffers.count; b++) {
        const Buffer *buffer = &made->draft->stages[0].buffers.at[b];
        const int32_t last = launch->first_call + launch->call_count - 1;
        if (buffer->program == PROGRAM_TRAIN_STEP && buffer->first_call > launch->first_call &&
            buffer->first_call <= last)
          CHECK(false);
      }
    }
  }
}

/* Posts of all exchanges of a stage, in the order of its calls; sent: those that are read. */
static int32_t posts_of(const Made *made, int32_t stage, bool sent, PlanPost *posts, int32_t most) {
  const Program *step = train_step(made, stage);
  int32_t count = 0;
  for (int32_t i = 0; i < step->calls.count; i++) {
    const Call *call = &step->calls.at[i];
    for (int32_t p = 0; p < call->post_count; p++) {
      const Record *record = &made->draft->segments.at[call->segment].records.at[0];
      if ((record->operands[p].access == ACCESS_READ) == sent && count < most)
        posts[count++] = call->posts[p];
    }
  }
  return count;
}

static void check_pipeline(const Made *made) {
  enum { POSTS = 64 };
  PlanPost sent[POSTS], received[POSTS];
  TEST("what a stage sends is what the next receives, in that order") {
    for (int32_t from = 0; from < 2; from++) {
      const int32_t count = posts_of(made, from, true, sent, POSTS);
      CHECK(count > 0);
      CHECK_INT(posts_of(made, 1 - from, false, received, POSTS), count);
      for (int32_t i = 0; i < count; i++) {
        CHECK_INT(received[i].kind, sent[i].kind);
        CHECK_INT(received[i].depth, sent[i].depth);
        CHECK_INT(received[i].microbatch, sent[i].microbatch);
      }
    }
  }
  TEST("with 1f1b a stage has as many micro-batches in flight as there are stages from it on") {
    const RegionSegments *stack = stack_of(made);
    for (int32_t s = 0; s < 2; s++) {
      const Program *step = train_step(made, s);
      int32_t flying = 0, most = 0;
      for (int32_t i = 0; i < step->calls.count; i++) {
        const Call *call = &step->calls.at[i];
        if (call->layer != s * LAYERS / 2) continue;
        flying += (call->segment == stack->forward) - (call->segment == stack->backward);
        if (flying > most) most = flying;
      }
      CHECK_INT(flying, 0);
      CHECK_INT(most, 2 - s);
    }
  }
}

static int32_t calls_with(const char *batch) {
  Made made = MAKE("parallel.pp=2", "parallel.dp=8", batch);
  const int32_t count = train_step(&made, 0)->calls.count;
  compile_close(&made.compiled);
  compile_free(made.compile);
  return count;
}

int main(void) {
  Made one = MAKE("train.batch=64 sequences", "train.microbatch=1", "parallel.zero=1");
  check_order(&one);
  check_buffers(&one);
  check_launches(&one);
  compile_close(&one.compiled);
  compile_free(one.compile);
  Made two = MAKE("parallel.pp=2", "train.batch=32 sequences", "train.microbatch=1");
  check_pipeline(&two);
  compile_close(&two.compiled);
  compile_free(two.compile);
  TEST("the steady state of a pipeline is one loop: more micro-batches add no calls") {
    CHECK_INT(calls_with("train.batch=1024 sequences"), calls_with("train.batch=2048 sequences"));
  }
  CHECK_DONE();
}
