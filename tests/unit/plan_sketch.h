/* plan_sketch.h -- the smallest plans that a test can make: some axes, classes that follow each
 * other along the first axis, one program train_step each, segments over one base that is the whole
 * of the data arena. */
#ifndef LOCKSTEP_TESTS_PLAN_SKETCH_H
#define LOCKSTEP_TESTS_PLAN_SKETCH_H

#include "runtime/plan/control.h"
#include "tests/unit/plan_builder.h"

enum { SKETCH_DATA_AT = 1024, SKETCH_DATA_BYTES = 1 << 16 };

typedef struct Sketch {
  PlanBuilder b;
} Sketch;

static inline void sketch_begin(Sketch *s) {
  *s = (Sketch){0};
  PlanBuilder *b = &s->b;
  build_string(b, "");
  BuildJob job = {
      .seed = 1, .steps = 1, .batch_samples = 1, .microbatch_samples = 1, .accumulation = 1};
  job.prefetch_steps = job.control_depth = job.threads = 1;
  job.control_bytes = BUILT_CONTROL_BYTES;
  job.control_ring_offset = 256;
  job.staging_offset = job.samples_offset = 768;
  build_job(b, job);
  build_device(b);
}

static inline void sketch_axis(Sketch *s, const char *name, uint32_t size) {
  build_axes(&s->b, build_axis_named(&s->b, name, size));
}

static inline uint32_t sketch_comm(Sketch *s, uint32_t mask) {
  return build_comms(&s->b, (PlanComm){mask, build_string(&s->b, "comm")});
}

static inline uint32_t sketch_segment(Sketch *s) {
  PlanBuilder *b = &s->b;
  uint32_t name = build_string(b, "segment");
  build_bases(b, (PlanBase){SKETCH_DATA_BYTES, BUFFER_WORKSPACE, name});
  return build_segments(b, (PlanSegment){b->bases_count - 1, 1, b->records_count, 0, name});
}

/* Appends to the newest segment; operands, dims and attrs follow. */
static inline PlanRecord *sketch_record(Sketch *s, RecordKind kind, Lane lane, uint32_t comm) {
  PlanBuilder *b = &s->b;
  PlanRecord record = {.kind = kind, .lane = lane, .comm = comm};
  record.kernel = record.meaning = record.node = record.value = PLAN_NONE;
  record.operands_first = b->operands_count;
  record.dims_first = b->ints_count;
  record.attrs_first = b->reals_count;
  record.varies_first = b->varies_count;
  record.path = build_string(b, "record");
  build_records(b, record);
  b->segments[b->segments_count - 1].records_count++;
  return &b->records[b->records_count - 1];
}

static inline PlanRecord *sketch_kernel(Sketch *s, const char *name, Lane lane) {
  uint32_t kernel = build_kernels(&s->b, (PlanKernel){build_string(&s->b, name)});
  PlanRecord *record = sketch_record(s, RECORD_KERNEL, lane, PLAN_NONE);
  record->kernel = kernel;
  build_record_controls(&s->b, s->b.records_count - 1);
  return record;
}

static inline PlanRecord *sketch_newest(Sketch *s) {
  return &s->b.records[s->b.records_count - 1];
}

static inline void sketch_operand(Sketch *s, uint64_t offset, uint64_t size_bytes, DType dtype,
                                  Access access) {
  build_operands(&s->b, (PlanOperand){offset, size_bytes, 0, PLAN_NONE, 0, dtype, access, PLAN_NONE,
                                      PLAN_NONE});
  sketch_newest(s)->operands_count++;
}

static inline void sketch_dim(Sketch *s, int64_t dim) {
  build_ints(&s->b, dim);
  sketch_newest(s)->dims_count++;
}

static inline void sketch_attr(Sketch *s, double attr) {
  build_reals(&s->b, attr);
  sketch_newest(s)->attrs_count++;
}

/* Calls go to the program of the class that sketch_class closes next. */
static inline PlanCall *sketch_call(Sketch *s, uint32_t segment, int32_t microbatch) {
  PlanBuilder *b = &s->b;
  PlanCall call = {.segment = segment, .layer = -1, .microbatch = microbatch};
  call.bindings_first = build_bindings(b, (PlanBinding){SKETCH_DATA_AT, 0, PLAN_NONE, TIER_DEVICE});
  call.bindings_count = 1;
  call.waits_first = b->waits_count;
  build_calls(b, call);
  return &b->calls[b->calls_count - 1];
}

static inline void sketch_wait(Sketch *s, Lane lane, uint32_t call, uint32_t record,
                               uint32_t iteration_back) {
  build_waits(&s->b, (PlanWait){lane, call, record, iteration_back, PROGRAM_TRAIN_STEP, 0});
  s->b.calls[s->b.calls_count - 1].waits_count++;
}

/* The ranks [first, end) of the first axis replay the calls and loops that no class has yet. */
static inline void sketch_class(Sketch *s, uint32_t first, uint32_t end) {
  PlanBuilder *b = &s->b;
  uint32_t calls = 0, loops = 0;
  for (uint32_t i = 0; i < b->programs_count; i++)
    calls += b->programs[i].calls_count, loops += b->programs[i].loops_count;
  PlanProgram program = {.calls_first = calls, .kind = PROGRAM_TRAIN_STEP};
  program.peaks_first = build_peaks(b, (PlanPeak){0}), program.peaks_count = 1;
  program.calls_count = b->calls_count - calls;
  program.loops_first = loops, program.loops_count = b->loops_count - loops;
  PlanClass class = {.rank_count = end - first, .arenas_count = 1};
  class.arenas_first = build_arenas(b, (PlanArena){SKETCH_DATA_AT + SKETCH_DATA_BYTES});
  class.bounds_first = b->bounds_count, class.bounds_count = b->axes_count;
  build_bounds(b, (PlanBound){first, end});
  for (uint32_t i = 1; i < b->axes_count; i++) {
    build_bounds(b, (PlanBound){0, b->axes[i].size});
    class.rank_count *= b->axes[i].size;
  }
  class.programs_first = build_programs(b, program), class.programs_count = 1;
  build_classes(b, class);
  build_one_node(b, 0, 0);
}

/* Binds all bases in host memory instead, as large as the device's. The sketch has one class. */
static inline void sketch_host_memory(Sketch *s) {
  PlanBuilder *b = &s->b;
  build_tiers(b, (PlanTier){.alignment_bytes = PLAN_ALIGN_BYTES,
                            .kind = TIER_HOST,
                            .path = build_string(b, "")});
  build_arenas(b, (PlanArena){SKETCH_DATA_AT + SKETCH_DATA_BYTES}), b->classes[0].arenas_count++;
  build_peaks(b, (PlanPeak){0}), b->programs[0].peaks_count++;
  for (uint32_t i = 0; i < b->bindings_count; i++)
    b->bindings[i].tier = TIER_HOST;
}

#endif
