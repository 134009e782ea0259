/* LINK: prove plan plan_builder
 * Bytes as a plan. The checksum is put right first, or the fuzzer would never see the parts
 * after it; what is accepted must print and parse back to itself. A first byte of 'T' tries the
 * rest as text. */
#include <stdlib.h>
#include <string.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_hash.h"
#include "runtime/plan/plan_io.h"
#include "tests/unit/plan_builder.h"

enum { CHECKSUM_AT = 16, FILE_BYTES_AT = 24, PLAN_BYTES_MIN = 40 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static void round_trip(const Plan *plan) {
  char *text = NULL, why[PLAN_WHY_BYTES] = "";
  size_t text_bytes = 0;
  FILE *out = open_memstream(&text, &text_bytes);
  plan_print(plan, out, NULL);
  for (uint32_t i = 0; i < plan->segments_count && i < 4; i++) {
    FILE *sink = fopen("/dev/null", "w");
    plan_print(plan, sink, plan_string(plan, plan->segments[i].name));
    fclose(sink);
  }
  fclose(out);
  Plan back;
  if (!plan_parse(&back, text, text_bytes, why) || back.id != plan_compute_id(plan)) {
    fprintf(stderr, "%s\n%s\n", text, why);
    abort();
  }
  plan_close(&back);
  free(text);
  static ProveReport report;
  (void)prove(plan, &report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Plan plan;
  char why[PLAN_WHY_BYTES];
  if (size > 0 && data[0] == 'T') {
    if (plan_parse(&plan, (const char *)data + 1, size - 1, why)) round_trip(&plan);
    plan_close(&plan);
    return 0;
  }
  uint8_t *bytes = malloc(size + 1); /* malloc aligns, and lets ASan see the end */
  memcpy(bytes, data, size);
  if (size >= PLAN_BYTES_MIN) {
    uint64_t file_bytes = size;
    memcpy(bytes + FILE_BYTES_AT, &file_bytes, sizeof file_bytes);
    PlanHash hash;
    plan_hash_begin(&hash);
    plan_hash_add(&hash, bytes + FILE_BYTES_AT, size - FILE_BYTES_AT);
    uint64_t checksum = plan_hash_end(&hash);
    memcpy(bytes + CHECKSUM_AT, &checksum, sizeof checksum);
  }
  if (plan_from_bytes(&plan, bytes, size, why)) round_trip(&plan);
  free(bytes);
  return 0;
}

/* Without a corpus, begin from the example plan: as bytes, or as text. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  if (size > 64 || seed % 64 != 0) return LLVMFuzzerMutate(data, size, max_size);
  PlanBuilder builder = {0};
  build_example(&builder, (ExampleOptions){.layers = 1 + seed % 2,
                                           .accumulation = 1 + seed % 3,
                                           .replicas = 2,
                                           .classes = 1});
  Plan plan = build_view(&builder);
  char path[] = "/tmp/plan_fuzz_XXXXXX", why[PLAN_WHY_BYTES];
  FILE *file = NULL;
  if (seed / 64 % 2 == 0) {
    int descriptor = mkstemp(path);
    if (descriptor >= 0 && plan_write(&plan, path, why)) file = fdopen(descriptor, "rb");
    file = file ? freopen(path, "rb", file) : NULL;
  } else {
    file = tmpfile();
    if (file != NULL) putc('T', file), plan_print(&plan, file, NULL), rewind(file);
  }
  if (file != NULL) size = fread(data, 1, max_size, file), fclose(file);
  remove(path);
  build_free(&builder);
  return LLVMFuzzerMutate(data, size, max_size);
}
