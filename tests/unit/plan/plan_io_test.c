/* LINK: plan plan_builder
 * Plans as files: what is written is read, byte for byte, and nothing else is. */
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

static char folder[] = "/tmp/plan_io_XXXXXX";
static char path[64];
static const ExampleOptions usual = {.layers = 3, .accumulation = 2, .replicas = 4, .classes = 1};

static char *read_file(size_t *byte_count) {
  FILE *file = fopen(path, "rb");
  struct stat status;
  fstat(fileno(file), &status);
  *byte_count = (size_t)status.st_size;
  char *bytes = malloc(*byte_count + 8);
  CHECK_INT(fread(bytes, 1, *byte_count, file), *byte_count);
  fclose(file);
  return bytes;
}

static void write_bytes(const char *bytes, size_t byte_count) {
  FILE *file = fopen(path, "wb");
  fwrite(bytes, 1, byte_count, file);
  fclose(file);
}

static bool same_bytes(const void *a, const void *b, size_t byte_count) {
  return byte_count == 0 || memcmp(a, b, byte_count) == 0;
}

static bool same_tables(const Plan *a, const Plan *b) {
#define PLAN_T(Type, table)                                                                        \
  if (a->table##_count != b->table##_count ||                                                      \
      !same_bytes(a->table, b->table, a->table##_count * sizeof(Type)))                            \
    return false;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  return true;
}

/* Opens what is at `path` and wants a refusal that has `words` in it. */
static void expect_refusal(const char *words) {
  Plan plan;
  char why[PLAN_WHY_BYTES] = "";
  CHECK(!plan_open(&plan, path, why));
  if (strstr(why, words) == NULL) CHECK_TEXT(why, words);
  CHECK(strchr(why, '\n') == NULL);
  CHECK(plan.mapped == NULL);
  plan_close(&plan);
}

static void test_round_trip(void) {
  PlanBuilder builder = {0};
  build_example(&builder, usual);
  Plan plan = build_view(&builder), back;
  char why[PLAN_WHY_BYTES] = "";
  TEST("a plan that is written is read back") {
    CHECK(plan_write(&plan, path, why));
    CHECK_TEXT(why, "");
    CHECK(plan_open(&back, path, why));
    CHECK_TEXT(why, "");
    CHECK(same_tables(&plan, &back));
    CHECK(plan.id == back.id && plan.id == plan_compute_id(&back) && plan.id != 0);
    plan_close(&back);
  }
  TEST("equal plans are equal files") {
    size_t count1, count2;
    char *bytes1 = read_file(&count1);
    PlanBuilder again = {0};
    build_example(&again, usual);
    Plan same = build_view(&again);
    CHECK(plan_write(&same, path, why));
    char *bytes2 = read_file(&count2);
    CHECK(count1 == count2 && memcmp(bytes1, bytes2, count1) == 0);
    free(bytes1), free(bytes2), build_free(&again);
  }
  TEST("the id depends on every byte of every table") {
    for (uint32_t i = 0; i < builder.records_count * sizeof *builder.records; i += 13) {
      ((char *)builder.records)[i] ^= 4;
      CHECK(plan_compute_id(&plan) != plan.id);
      ((char *)builder.records)[i] ^= 4;
    }
    CHECK(plan_compute_id(&plan) == plan.id);
  }
  TEST("no temporary file is left") {
    char command[128];
    snprintf(command, sizeof command, "test `ls %s | wc -l` = 1", folder);
    CHECK_INT(system(command), 0);
  }
  TEST("a plan that cannot be replayed is not written") {
    builder.calls[0].segment = builder.segments_count;
    unlink(path);
    CHECK(!plan_write(&plan, path, why));
    CHECK(strstr(why, "calls[0].segment: no segments[") != NULL);
    CHECK(access(path, F_OK) != 0);
    builder.calls[0].segment = 0;
  }
  TEST("a folder that is not there is named") {
    CHECK(!plan_write(&plan, "/nonexistent/x.plan", why));
    CHECK(strstr(why, "/nonexistent/x.plan: No such file") != NULL);
  }
  build_free(&builder);
}

static void test_refusals(void) {
  PlanBuilder builder = {0};
  build_example(&builder, usual);
  Plan plan = build_view(&builder);
  char why[PLAN_WHY_BYTES];
  size_t count;
  CHECK(plan_write(&plan, path, why));
  char *good = read_file(&count), *bad = malloc(count + 8);
  TEST("every cut is found") {
    for (size_t length = 0; length < count; length += length < 1000 ? 1 : 331) {
      write_bytes(good, length);
      expect_refusal(length < 8 ? "not a plan" : "truncated");
    }
  }
  TEST("every flipped byte is found") {
    for (size_t at = 0; at < count; at += at < 500 ? 1 : 97) {
      memcpy(bad, good, count);
      bad[at] ^= 0x10;
      write_bytes(bad, count);
      expect_refusal("");
    }
  }
  TEST("refusals say which kind they are") {
    write_bytes("# a job spec, not a plan\n", 24);
    expect_refusal("not a plan");
    memcpy(bad, good, count);
    bad[count / 2] ^= 1;
    write_bytes(bad, count);
    expect_refusal("corrupt: checksum");
    memcpy(bad, good, count);
    memset(bad + count, 0, 8);
    write_bytes(bad, count + 8);
    expect_refusal("corrupt: 8 bytes after its end");
    bad[12] = PLAN_VERSION + 1;
    write_bytes(bad, count);
    expect_refusal("plan format 18, but this program reads format 17");
    memcpy(bad, good, count);
    bad[8] = 1, bad[9] = 2, bad[10] = 3, bad[11] = 4;
    write_bytes(bad, count);
    expect_refusal("other byte order");
    unlink(path);
    expect_refusal("No such file");
    mkdir(path, 0700);
    expect_refusal("not a plan");
    rmdir(path);
  }
  free(good), free(bad), build_free(&builder);
}

/* How files begin that earlier programs wrote, in formats 3 and 5: header and first tables. */
static const uint8_t earlier[][64] = {
    {0x4c, 0x4f, 0x43, 0x4b, 0x53, 0x54, 0x45, 0x50, 0x04, 0x03, 0x02, 0x01, 0x03,
     0x00, 0x00, 0x00, 0x4b, 0xf0, 0x01, 0xb0, 0x8d, 0xf7, 0x44, 0xe3, 0xe8, 0x3b,
     0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x27, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x00, 0x98, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
     0x00, 0x01, 0x00, 0x00, 0x98, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00},
    {0x4c, 0x4f, 0x43, 0x4b, 0x53, 0x54, 0x45, 0x50, 0x04, 0x03, 0x02, 0x01, 0x05,
     0x00, 0x00, 0x00, 0x63, 0xb6, 0xe9, 0x31, 0x06, 0x56, 0xfa, 0x10, 0x48, 0x60,
     0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x00, 0xe8, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
     0x58, 0x01, 0x00, 0x00, 0x40, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00},
};

static void test_earlier(void) {
  static const char *const refusals[] = {
      "plan format 3, but this program reads format 17: compile the job again",
      "plan format 5, but this program reads format 17: compile the job again"};
  TEST("plans of earlier programs are refused, with what to do") {
    for (size_t i = 0; i < sizeof earlier / sizeof *earlier; i++) {
      write_bytes((const char *)earlier[i], sizeof earlier[i]);
      expect_refusal(refusals[i]);
    }
  }
  unlink(path);
}

/* Not a check: the number is for people, a slow machine is no failure. */
static void show_hash_speed(void) {
  PlanBuilder builder = {0};
  for (int i = 0; i < 1 << 20; i++)
    build_ints(&builder, i);
  Plan plan = build_view(&builder);
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  uint64_t id = 0;
  for (int i = 0; i < 8; i++)
    id += plan_compute_id(&plan);
  clock_gettime(CLOCK_MONOTONIC, &end);
  double time_s =
      (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  printf("checksum: %.2f GB/s (%016llx)\n", 8 * 8.0 * (1 << 20) / time_s / 1e9,
         (unsigned long long)id);
  build_free(&builder);
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/test.plan", folder);
  test_round_trip();
  test_refusals();
  test_earlier();
  show_hash_speed();
  unlink(path), rmdir(folder);
  CHECK_DONE();
}
