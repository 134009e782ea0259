/* LINK: parts plan_builder
 * Parts of a checkpoint: their header and sizes, and every kind of damage by its place.
 *
 * dp 2 x tp 2; w [4, 6] is cut over tp, and its moment lies flat over dp; b [5] is whole. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/parts/parts.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { TEXT_ROOM = 4096 };

static char folder[] = "/tmp/lockstep_parts_XXXXXX";
static char heard[TEXT_ROOM];
static PlanBuilder builder;
static Plan plan;
static State state;
static Status status;

static uint32_t dim_of(const char *name, int64_t size, bool is_cut) {
  PlanLayoutDim dim = {.name = build_string(&builder, name), .size = size, .real_size = size};
  dim.cuts_first = builder.cuts_count;
  if (is_cut) {
    build_cuts(&builder, (PlanCut){.axis = 1, .style = CUT_BLOCK});
    dim.cuts_count = 1;
  }
  return build_layout_dims(&builder, dim);
}

static uint32_t layout_of(bool is_flat, bool is_cut, int64_t rows, int64_t columns) {
  PlanLayout layout = {.dims_first = dim_of("rows", rows, is_cut), .dims_count = 1};
  if (columns > 0) {
    (void)dim_of("columns", columns, false);
    layout.dims_count = 2;
  }
  if (is_flat) {
    layout.flat_axes = 1;
    layout.piece = 6;
  }
  return build_layouts(&builder, layout);
}

static void add_tensor(const char *name, BufferKind kind, DType dtype, uint32_t layout) {
  build_tensors(&builder, (PlanTensor){.name = build_string(&builder, name),
                                       .kind = kind,
                                       .dtype = dtype,
                                       .layout = layout,
                                       .layer_first = -1,
                                       .layer_count = 1});
}

static void make_plan(void) {
  build_axes(&builder, build_axis_named(&builder, "dp", 2));
  build_axes(&builder, build_axis_named(&builder, "tp", 2));
  uint32_t w = layout_of(false, true, 4, 6), flat = layout_of(true, true, 4, 6);
  uint32_t b = layout_of(false, false, 5, 0);
  PlanClass class = {.tensors_first = builder.tensors_count, .tensors_count = 3};
  add_tensor("w\"x", BUFFER_PARAM, DTYPE_BF16, w);
  add_tensor("w\"x", BUFFER_MOMENT1, DTYPE_F32, flat);
  add_tensor("b", BUFFER_PARAM, DTYPE_F32, b);
  class.bounds_first = build_bounds(&builder, (PlanBound){0, 2});
  build_bounds(&builder, (PlanBound){0, 2});
  class.bounds_count = 2;
  build_classes(&builder, class);
  plan = build_view(&builder);
  if (!state_open(&state, &plan, &status)) abort();
}

static const char *path_of(int32_t number) {
  static char path[256];
  char name[PART_FILE_NAME_BYTES];
  part_file_name(name, number);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* Writes a part by the format's rules; returns the last of its sums. */
static uint64_t write_part(const PartId *id) {
  PartLayout layout;
  char *header = part_header(&state, id, &layout);
  uint8_t *file = calloc(1, (size_t)layout.file_bytes);
  if (!header || !file) abort();
  memcpy(file, header, (size_t)layout.header_bytes);
  for (int64_t i = 0; i < layout.data_bytes; i++)
    file[layout.header_bytes + i] = (uint8_t)(7 * i + id->number);
  uint64_t *sum = calloc((size_t)layout.blocks + 1, sizeof *sum);
  if (!sum) abort();
  for (int64_t i = 0; i < layout.blocks; i++) {
    int64_t first = i * PART_BLOCK_BYTES, left = layout.sums_first - first;
    sum[i] = part_sum(file + first, (size_t)(left < PART_BLOCK_BYTES ? left : PART_BLOCK_BYTES));
  }
  uint64_t last = sum[layout.blocks] = part_sum(sum, (size_t)layout.blocks * sizeof *sum);
  memcpy(file + layout.sums_first, sum, ((size_t)layout.blocks + 1) * sizeof *sum);
  FILE *out = fopen(path_of(id->number), "wb");
  if (!out || fwrite(file, 1, (size_t)layout.file_bytes, out) != (size_t)layout.file_bytes) abort();
  fclose(out);
  free(sum);
  free(file);
  free(header);
  return last;
}

static void hear(void *context, const PartDamage *damage) {
  (void)context;
  size_t used = strlen(heard);
  used += (size_t)snprintf(heard + used, sizeof heard - used,
                           "%lld+%lld %s:", (long long)damage->first_byte, (long long)damage->bytes,
                           damage->why);
  for (int32_t i = 0; i < damage->tensor_count; i++)
    used += (size_t)snprintf(heard + used, sizeof heard - used, " %s", damage->tensor[i]);
  (void)snprintf(heard + used, sizeof heard - used, "\n");
}

static const PartSink sink = {hear, NULL};
static const PartId part_0 = {.number = 0, .step = 30, .save = 0xabc};
static uint64_t sum_0;

static const char *problems(void) {
  PartLayout layout;
  heard[0] = 0;
  if (!part_layout(&state, 0, &layout)) abort();
  const PartFile file = {&state, folder, part_0, layout.file_bytes, sum_0};
  PartResult result = part_check(&file, &sink, &status);
  CHECK_INT(result, heard[0] ? PART_DAMAGED : PART_WHOLE);
  return heard;
}

static void flip(int64_t at) {
  int file = open(path_of(0), O_RDWR);
  uint8_t byte = 0;
  if (pread(file, &byte, 1, at) != 1) abort();
  byte ^= 4;
  if (pwrite(file, &byte, 1, at) != 1) abort();
  close(file);
}

static void test_header(void) {
  TEST("the header says what the part has, and data begin at a multiple of 4096") {
    PartLayout layout;
    char *header = part_header(&state, &part_0, &layout);
    CHECK_INT(layout.header_bytes, 4096);
    /* rank 0: 12 of the moment's elements in pieces of 6, b, and its 12 elements of w. */
    CHECK_INT(layout.data_bytes, 6 * 4 + 5 * 4 + 12 * 2);
    CHECK_INT(layout.sums_first, 4096 + 72);
    CHECK_INT(layout.file_bytes, 4096 + 72 + 16);
    header[layout.header_bytes - 1] = 0;
    CHECK(strstr(header + 8,
                 "\"step\":\"000000000030\",\"save\":\"0000000000000abc\",\"part\":\"0\""));
    CHECK(strstr(header + 8,
                 "\\\"w\\\\\\\"x/m#0\\\":{\\\"name\\\":\\\"w\\\\\\\"x\\\",\\\"kind\\\":"
                 "\\\"m\\\",\\\"shape\\\":[4,6],\\\"box\\\":[[0,2],[0,6]],\\\"range\\\":"
                 "[0,6]}"));
    CHECK(strstr(header + 8, "\"w\\\"x#0\":{\"dtype\":\"BF16\",\"shape\":[2,6],\"data_offsets\":"));
    CHECK(strstr(header + 8, "\"b\":{\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":"));
    free(header);
  }
  TEST("sizes of all parts, counted without their text") {
    PartTotals totals;
    PartLayout layout;
    int64_t bytes = 0, parts = 0;
    CHECK(part_totals(&state, &totals));
    for (int32_t number = 0; number < state.numbers; number++) {
      CHECK(part_layout(&state, number, &layout));
      bytes += layout.data_bytes > 0 ? layout.file_bytes : 0;
      parts += layout.data_bytes > 0;
    }
    CHECK_INT(totals.bytes, bytes);
    CHECK_INT(totals.parts, parts);
    CHECK_INT(totals.largest_bytes, 4096 + 72 + 16);
  }
  TEST("a rank whose replica writes all has a part without tensors") {
    PartLayout layout;
    CHECK(part_layout(&state, 3, &layout));
    CHECK_INT(layout.data_bytes, 6 * 4); /* its piece of the moment */
  }
}

static void test_damage(void) {
  sum_0 = write_part(&part_0);
  TEST("a whole part") {
    CHECK_TEXT(problems(), "");
  }
  TEST("flipped bits, in the header, a tensor, the sums") {
    flip(20);
    CHECK_TEXT(problems(), "20+1 the header is not the one that was written: w\"x/m b/param "
                           "w\"x/param\n");
    flip(20);
    flip(4096 + 30);
    CHECK_TEXT(problems(), "4096+72 the bytes do not have the sum that was written with them: "
                           "w\"x/m b/param w\"x/param\n");
    flip(4096 + 30);
    flip(4096 + 72);
    CHECK_TEXT(problems(), "4168+16 the tensors are whole, but not their sums:\n");
    flip(4096 + 30);
    CHECK_TEXT(problems(), "4096+88 neither the tensors nor their sums are what was written: "
                           "w\"x/m b/param w\"x/param\n");
  }
  TEST("a file that is cut, and one that is longer") {
    (void)write_part(&part_0);
    CHECK_INT(truncate(path_of(0), 4096 + 30), 0);
    CHECK_TEXT(problems(), "4126+58 the file has 4126 bytes, and 4184 were written: b/param "
                           "w\"x/param\n");
    (void)write_part(&part_0);
    CHECK_INT(truncate(path_of(0), 4096 + 100), 0);
    CHECK_TEXT(problems(), "4184+12 the file has 4196 bytes, and 4184 were written:\n");
    CHECK_INT(truncate(path_of(0), 0), 0);
    CHECK(strstr(problems(), "0+4184 the file has 0 bytes"));
  }
  TEST("files of another step, save or rank, and none") {
    (void)write_part(&(PartId){.number = 0, .step = 20, .save = 0xabc});
    CHECK(strstr(problems(), "0+4184 the header is of step 20: "));
    (void)write_part(&(PartId){.number = 0, .step = 30, .save = 0xabd});
    CHECK(strstr(problems(), "0+4184 the header is of another save of this step: "));
    (void)write_part(&(PartId){.number = 1, .step = 30, .save = 0xabc});
    char from[256];
    (void)snprintf(from, sizeof from, "%s", path_of(1));
    CHECK_INT(rename(from, path_of(0)), 0);
    CHECK(strstr(problems(), " the header is of part 1: "));
    CHECK_INT(unlink(path_of(0)), 0);
    CHECK(strstr(problems(), "0+4184 there is no such file: w\"x/m b/param w\"x/param"));
  }
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  make_plan();
  test_header();
  test_damage();
  state_close(&state);
  build_free(&builder);
  CHECK_INT(rmdir(folder), 0);
  CHECK_DONE();
}
