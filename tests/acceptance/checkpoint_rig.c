/* checkpoint_rig.c -- writes the checkpoint that the ranks of a plan would write, with values that
 * depend only on a tensor's name and kind and an element's place in the whole: checkpoints of one
 * model at any degrees hold the same.
 *
 *   checkpoint_rig PLAN FOLDER STEP [SEED] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/manifest/manifest.h"
#include "runtime/parts/parts.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"

static void fail(const char *what) {
  fprintf(stderr, "checkpoint_rig: %s\n", what);
  exit(3);
}

static uint32_t mixed(uint64_t x) {
  x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
  return (uint32_t)(x >> 32);
}

/* A part while it is filled. */
typedef struct Filling {
  const State *state;
  const StateStored *stored;
  uint8_t *data;
  uint64_t seed;
} Filling;

static void put_value(uint8_t *at, DType dtype, uint32_t random) {
  float value = ((float)(random & 0xffff) - 32768.0f) / 65536.0f;
  double wide = value;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t high = (uint16_t)(bits >> 16);
  if (dtype == DTYPE_BF16)
    memcpy(at, &high, sizeof high);
  else if (dtype == DTYPE_F64)
    memcpy(at, &wide, sizeof wide);
  else
    memcpy(at, &value, sizeof value);
}

static bool fill_run(void *context, int64_t from, int64_t to, int64_t count) {
  const Filling *f = context;
  DType dtype = state_saved_dtype(state_tensor(f->state, f->stored->item));
  int64_t width = dtype_bytes(dtype);
  uint64_t key = f->seed + state_tensor(f->state, f->stored->item)->kind;
  for (const char *c = f->stored->item->name; *c; c++)
    key = key * 131 + (uint8_t)*c;
  for (int64_t i = 0; i < count; i++)
    put_value(f->data + f->stored->data_first + (from + i) * width, dtype,
              mixed(key * 1000003 + (uint64_t)(to + i)));
  return true;
}

static bool fill(void *context, const StateStored *stored) {
  Filling *f = context;
  StatePiece whole = stored->piece;
  f->stored = stored;
  for (int32_t i = 0; i < whole.dims; i++) {
    whole.first[i] = 0;
    whole.count[i] = whole.shape[i];
  }
  whole.range_first = 0;
  whole.range_count = 1;
  for (int32_t i = 0; i < whole.dims; i++)
    whole.range_count *= whole.shape[i];
  whole = state_piece_dense(&whole, 0, whole.range_count);
  return state_common(&stored->piece, &whole, fill_run, f);
}

static void write_part(const State *state, const PartId *id, const char *folder, uint64_t seed,
                       ManifestPart *part) {
  Status status;
  int64_t bytes = state_part_data(state, id->number), file_bytes;
  Filling f = {.state = state, .data = calloc(1, (size_t)bytes), .seed = seed};
  if (!f.data || !state_part_each(state, id->number, fill, &f)) fail("a part cannot be filled");
  PartWriter *writer = part_writer_open(state, id, folder, &status);
  if (!writer || !part_writer_put(writer, f.data, bytes, &status) ||
      !part_writer_close(writer, &file_bytes, &part->sum, &status))
    fail(status.text);
  part->number = id->number;
  part->file_bytes = (uint64_t)file_bytes;
  free(f.data);
}

static void write_manifest(const State *state, const Plan *plan, const ManifestFacts *facts,
                           const ManifestPart *part, int32_t count, const char *folder) {
  ManifestText text;
  char path[512];
  ManifestRun run = {.plan_id = plan->id,
                     .data_sum = 7,
                     .last_step = job_steps(plan),
                     .sample_tokens = job_sample_tokens(plan),
                     .program = "0.1.0"};
  if (!manifest_text_open(&text, state, &run, count)) fail("not enough memory");
  size_t bytes = manifest_text(&text, facts, part, count);
  snprintf(path, sizeof path, "%.400s/%s", folder, MANIFEST_FILE);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(text.text, 1, bytes, file) != bytes) fail(path);
  fclose(file);
  manifest_text_close(&text);
}

int main(int count, char **words) {
  Plan plan;
  State state;
  Status status;
  char why[PLAN_WHY_BYTES], folder[512];
  if (count < 4) fail("PLAN FOLDER STEP [SEED]");
  if (!plan_open(&plan, words[1], why)) fail(why);
  if (!state_open(&state, &plan, &status)) fail(status.text);
  long long step = strtoll(words[3], NULL, 10);
  uint64_t seed = count > 4 ? strtoull(words[4], NULL, 10) : 1;
  snprintf(folder, sizeof folder, "%.400s/step_%08lld", words[2], step);
  (void)mkdir(words[2], 0777);
  if (mkdir(folder, 0777) != 0) fail(folder);
  ManifestFacts facts = {.step = step,
                         .samples = step * job_batch_samples(&plan),
                         .generation = 1,
                         .save = mixed(plan.id + (uint64_t)step),
                         .lr = 0.001};
  facts.lasting.updates = step;
  facts.lasting_mask = CONTROL_BIT(CONTROL_updates);
  ManifestPart *part = calloc((size_t)state.numbers, sizeof *part);
  int32_t parts = 0;
  if (!part) fail("not enough memory");
  for (int32_t number = 0; number < state.numbers; number++) {
    const PartId id = {number, step, facts.save};
    if (state_part_data(&state, number) > 0) write_part(&state, &id, folder, seed, &part[parts++]);
  }
  write_manifest(&state, &plan, &facts, part, parts, folder);
  free(part);
  state_close(&state);
  plan_close(&plan);
  return 0;
}
