/* LINK: kernels -- both variants of each kernel against what tests/parity/ops/record.py recorded.
 *
 * With rms that of the recorded operand, |ours - PyTorch's| is at most
 * - f32: 1e-5 rms;
 * - bf16: 2^-7 |value| + 1e-5 rms, as both round the same value once;
 * - bf16, fast attention: 2^-7 |value| + 2^-6 rms, as it may round probabilities on the way;
 * - f64: 1e-5 |value|, these are sums PyTorch made in f32;
 * - casts: nothing. */
#include <math.h>

#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

typedef enum RecordRole { RECORD_IN, RECORD_OUT, RECORD_BOTH, RECORD_WORK } RecordRole;

typedef struct RecordHead {
  char kernel[32];
  int64_t dim[20];
  double attr[12];
  double lr, clip_scale;
  int64_t step, accumulate;
  double grad_norm_after, clip_scale_after;
  int64_t operands;
} RecordHead;

typedef struct Record {
  RecordHead head;
  Call call, want; /* want: the operands afterwards, same numbers as in `call` */
  RecordRole role[KERNEL_OPERANDS_MAX];
} Record;

static FILE *open_data(void) {
  static const char path[] = SOURCE_FOLDER "/tests/parity/ops/ops.bin";
  FILE *file = fopen(path, "rb");
  if (!file) printf("cannot open %s\n", path);
  return file;
}

static void read_bytes(FILE *file, void *at, int64_t bytes) {
  if (fread(at, 1, (size_t)bytes, file) == (size_t)bytes) return;
  printf("ops.bin ends too early\n");
  exit(1);
}

/* False at the end of the file. */
static bool read_record(FILE *file, Record *r) {
  *r = (Record){.call = {.kernel = ""}};
  if (fread(&r->head, sizeof r->head, 1, file) != 1) return false;
  r->head.kernel[sizeof r->head.kernel - 1] = 0;
  r->call.kernel = r->head.kernel;
  memcpy(r->call.dim, r->head.dim, sizeof r->head.dim);
  memcpy(r->call.attr, r->head.attr, sizeof r->head.attr);
  r->call.accumulate = r->head.accumulate != 0;
  r->call.control = (Control){
      .updates = r->head.step,
      .lr = r->head.lr,
      .clip_scale = r->head.clip_scale,
      .step_counts = 1,
      .targets = 1,
      .loss_scale = 1,
      .step = r->head.step,
      .seed = 1,
  };
  for (int32_t i = 0; i < r->head.operands; i++) {
    struct {
      int64_t role, dtype, count;
    } operand;
    read_bytes(file, &operand, sizeof operand);
    r->role[i] = (RecordRole)operand.role;
    int64_t count = r->role[i] == RECORD_WORK ? 1 << 18 : operand.count;
    DType dtype = r->role[i] == RECORD_WORK ? DTYPE_F64 : (DType)operand.dtype;
    call_add(&r->call, dtype, count);
    call_add(&r->want, dtype, count);
    if (r->role[i] == RECORD_WORK) continue;
    Call *first = r->role[i] == RECORD_OUT ? &r->want : &r->call;
    read_bytes(file, first->operand[i], first->bytes[i]);
    if (r->role[i] == RECORD_BOTH) read_bytes(file, r->want.operand[i], r->want.bytes[i]);
  }
  return true;
}

static double bound_of(const Record *r, int32_t operand, KernelVariant variant, double rms,
                       double want) {
  if (strcmp(r->call.kernel, "cast") == 0) return 0;
  bool loose = variant == KERNEL_FAST && strncmp(r->call.kernel, "attention", 9) == 0;
  switch ((DType)r->call.dtype[operand]) {
  case DTYPE_F32: return 1e-5 * rms;
  case DTYPE_BF16:
    return loose ? 0x1p-7 * fabs(want) + 0x1p-6 * rms : 0x1p-7 * fabs(want) + 1e-5 * rms;
  case DTYPE_F64: return 1e-5 * fabs(want);
  default: return 0;
  }
}

static void compare(const Record *r, int32_t operand, KernelVariant variant) {
  double rms = 0;
  int64_t count = call_count(&r->want, operand);
  for (int64_t i = 0; i < count; i++)
    rms += pow(call_get(&r->want, operand, i), 2) / (double)count;
  rms = sqrt(rms);
  for (int64_t i = 0; i < count; i++) {
    double want = call_get(&r->want, operand, i), got = call_get(&r->call, operand, i);
    double bound = bound_of(r, operand, variant, rms, want);
    if (got == want || fabs(got - want) <= bound) continue;
    printf("%s, %s, %s, dims %lld %lld %lld: operand %d element %lld is %.9g, torch %.9g +- %g\n",
           r->call.kernel, variant == KERNEL_FAST ? "fast" : "plain",
           dtype_name((DType)r->call.dtype[operand]), (long long)r->call.dim[0],
           (long long)r->call.dim[1], (long long)r->call.dim[2], operand, (long long)i, got, want,
           bound);
    check_failures++;
    return;
  }
}

static void check_record(Record *r, KernelVariant variant, Threads *threads) {
  if (variant == KERNEL_REFERENCE && call_count(&r->call, 0) == 0) check_failures++;
  call_run(&r->call, variant, threads);
  for (int32_t i = 0; i < r->call.operand_count; i++)
    if (r->role[i] == RECORD_OUT || r->role[i] == RECORD_BOTH) compare(r, i, variant);
  if (!isnan(r->head.grad_norm_after)) {
    CHECK_NEAR(r->call.control.grad_norm, r->head.grad_norm_after, 1e-6 * r->head.grad_norm_after);
    CHECK_NEAR(r->call.control.clip_scale, r->head.clip_scale_after, 1e-6);
    CHECK_INT(r->call.control.step_counts, 1);
  }
  call_free(&r->call);
  call_free(&r->want);
}

static int64_t check_file(KernelVariant variant, Threads *threads) {
  FILE *file = open_data();
  if (!file) return 0;
  char magic[8];
  int64_t records = 0;
  read_bytes(file, magic, sizeof magic);
  CHECK(memcmp(magic, "LSOPS002", sizeof magic) == 0);
  for (Record r; read_record(file, &r); records++)
    check_record(&r, variant, threads);
  fclose(file);
  return records;
}

int main(void) {
  Threads *threads = threads_new(2, NULL);
  TEST("the plain kernels agree with PyTorch") CHECK(check_file(KERNEL_REFERENCE, threads) > 100);
  TEST("the fast kernels agree with PyTorch") CHECK(check_file(KERNEL_FAST, threads) > 100);
  threads_free(threads);
  CHECK_DONE();
}
