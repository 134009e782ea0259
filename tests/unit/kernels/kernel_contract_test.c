/* LINK: kernels -- what a row of kernels.def says of its kernel is what the kernel does.
 *
 * Every case of every kernel runs, plain and fast, on operands of exactly the size that the row
 * gives them, each in pages of its own. Pages around them may not be touched, those of operands
 * that are only read may not be written, and of the control slots only declared ones may matter:
 * - pages after an operand are out of bounds, then pages before it;
 * - what an operand that is written, or scratch, held before makes no difference;
 * - nor does a slot of the control block that the row does not name, and each that it names does
 *   in some case;
 * - elements between the rows of a view stay what they were. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "tests/unit/kernel_cases.h"

enum { LARGEST_BYTES = 1 << 19 }; /* larger cases repeat what smaller ones show */

/* Memory between pages that may not be touched. */
typedef struct Fence {
  uint8_t *pages;
  size_t inner_bytes, page_bytes;
  void *at;
} Fence;

static Fence fence_open(size_t size_bytes, bool at_end, size_t align_bytes) {
  Fence f = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
  f.inner_bytes = (size_bytes + f.page_bytes - 1) / f.page_bytes * f.page_bytes;
  size_t all = f.inner_bytes + 2 * f.page_bytes;
  f.pages = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (f.pages == MAP_FAILED) abort();
  uint8_t *inner = f.pages + f.page_bytes;
  if (f.inner_bytes > 0 && mprotect(inner, f.inner_bytes, PROT_READ | PROT_WRITE)) abort();
  f.at = at_end ? inner + (f.inner_bytes - size_bytes) / align_bytes * align_bytes : inner;
  return f;
}

static void fence_protect(const Fence *f, int protection) {
  if (f->inner_bytes > 0 && mprotect(f->pages + f->page_bytes, f->inner_bytes, protection)) abort();
}

static void fence_close(Fence *f) {
  munmap(f->pages, f->inner_bytes + 2 * f->page_bytes);
}

/* ---- a touch of what is out of bounds */

static sigjmp_buf back;
static uint8_t *volatile touched;

static void on_fault(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)context;
  touched = info->si_addr;
  siglongjmp(back, 1);
}

static void catch_faults(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

/* ---- one case */

/* How a run differs from the plain one. */
typedef struct Twist {
  KernelVariant variant;
  bool at_end;          /* operands end where their pages do; else they begin there */
  bool other_garbage;   /* in what is written, and in scratch */
  uint64_t other_slots; /* CONTROL_BITs: of the control block, these hold something else */
} Twist;

typedef struct Run {
  CaseCall c;
  Fence fence[KERNEL_OPERANDS_MAX], control;
} Run;

static bool is_written_only(const CaseCall *c, int32_t i) {
  KernelAccess access = c->contract->operands[i].access;
  if (c->call.shared[0] && c->call.operand[i] == c->call.operand[0])
    return false; /* in place: an input is there, too */
  return access == KERNEL_WRITE || access == KERNEL_SCRATCH ||
         (access == KERNEL_SUM && !c->call.accumulate);
}

/* Scratch of one size is kept: the system takes longer to hand out new pages than cases to run. */
static void open_scratch(Run *run, int32_t i, const Twist *twist) {
  enum { GARBAGE_BYTES = 1 << 16 };
  static Fence kept[2];
  static size_t kept_bytes[2];
  Fence *fence = &kept[twist->at_end];
  size_t bytes = (size_t)run->c.call.bytes[i];
  if (kept_bytes[twist->at_end] != bytes) {
    if (fence->pages) fence_close(fence);
    *fence = fence_open(bytes, twist->at_end, 64);
    kept_bytes[twist->at_end] = bytes;
  }
  memset(fence->at, twist->other_garbage ? 0x3c : 0xff,
         bytes < GARBAGE_BYTES ? bytes : GARBAGE_BYTES);
  run->fence[i] = *fence;
}

static void open_operand(Run *run, int32_t i, const Twist *twist) {
  Call *call = &run->c.call;
  size_t bytes = (size_t)call->bytes[i];
  if (case_is_scratch(&run->c, i)) {
    open_scratch(run, i, twist);
    return;
  }
  run->fence[i] = fence_open(bytes, twist->at_end, (size_t)dtype_bytes((DType)call->dtype[i]));
  memcpy(run->fence[i].at, call->operand[i], bytes);
  if (is_written_only(&run->c, i) && twist->other_garbage) memset(run->fence[i].at, 0x3c, bytes);
  if (case_is_read_only(&run->c, i)) fence_protect(&run->fence[i], PROT_READ);
}

static void open_control(Run *run, const Twist *twist) {
  const KernelContract *contract = run->c.contract;
  run->control = fence_open(sizeof(Control), true, 8);
  memcpy(run->control.at, &run->c.call.control, sizeof(Control));
  static const uint8_t zero[CONTROL_SLOT_BYTES];
  for (ControlSlot slot = 0; slot < CONTROL_SLOT_COUNT; slot++) {
    void *value = control_value(run->control.at, slot);
    bool is_zero = memcmp(value, zero, sizeof zero) == 0;
    if (twist->other_slots & CONTROL_BIT(slot))
      memset(value, is_zero ? 0x3f : 0, CONTROL_SLOT_BYTES);
  }
  if (contract_control_writes(contract) == 0)
    fence_protect(&run->control, contract->control_count == 0 ? PROT_NONE : PROT_READ);
}

static void describe(const CaseCall *c, const Twist *twist) {
  printf("  %s, %s, %s, dims", c->call.kernel, mode_names[c->mode],
         twist->variant == KERNEL_FAST ? "fast" : "plain");
  for (int32_t i = 0; i < 12; i++)
    printf(" %lld", (long long)c->call.dim[i]);
  printf("\n");
}

/* Which operand the address is next to. */
static void report_touch(const Run *run, const Twist *twist) {
  const char *name = "no operand";
  for (int32_t i = 0; i < run->c.call.operand_count; i++) {
    const Fence *f = &run->fence[i];
    if (touched >= f->pages && touched < f->pages + f->inner_bytes + 2 * f->page_bytes)
      name = run->c.contract->operands[i].name;
  }
  const Fence *f = &run->control;
  if (touched >= f->pages && touched < f->pages + f->inner_bytes + 2 * f->page_bytes)
    name = "control";
  printf("touched what kernels.def does not give it, at %s\n", name);
  describe(&run->c, twist);
  check_failures++;
}

/* The case again, its operands as the first run had them before. False: it touched too much. */
static bool run_fenced(Run *run, const CaseCall *from, const Twist *twist, Threads *team) {
  *run = (Run){.c = *from};
  Call call = from->call;
  for (int32_t i = 0; i < call.operand_count; i++) {
    bool shares = i == 0 && call.shared[0];
    if (!shares) open_operand(run, i, twist);
    if (!shares) call.operand[i] = run->fence[i].at;
  }
  for (int32_t i = 1; call.shared[0] && i < call.operand_count; i++)
    if (from->call.operand[i] == from->call.operand[0]) call.operand[0] = call.operand[i];
  open_control(run, twist);
  void *control[KERNEL_CONTROLS_MAX];
  control_addresses(run->c.contract, run->control.at, control);
  KernelArgs args = {.operand = call.operand,
                     .dtype = call.dtype,
                     .bytes = call.bytes,
                     .dim = call.dim,
                     .attr = call.attr,
                     .operand_count = call.operand_count,
                     .accumulate = call.accumulate,
                     .key = call.key,
                     .sample_first = &call.sample_first,
                     .control = control,
                     .control_count = run->c.contract->control_count,
                     .threads = team};
  if (sigsetjmp(back, 1) != 0) {
    report_touch(run, twist);
    return false;
  }
  const char *why = NULL;
  const Kernel *kernel = &kernels_of(twist->variant)[from->contract->id];
  CHECK_INT(kernel->run(&args, &why), KERNEL_DONE);
  return true;
}

static void close_run(Run *run) {
  for (int32_t i = 0; i < run->c.call.operand_count; i++)
    if (run->fence[i].pages && !case_is_scratch(&run->c, i)) fence_close(&run->fence[i]);
  fence_close(&run->control);
}

/* ---- comparing */

/* Elements between the rows of a view, which are not the kernel's. */
static bool is_gap(const CaseCall *c, int32_t i, int64_t byte) {
  const KernelShape *shape = &c->contract->operands[i].shape;
  if (shape->kind != SHAPE_VIEW || case_is_scratch(c, i)) return false;
  int64_t inner = 1, stride = c->call.dim[shape->stride];
  for (int32_t k = 0; k < shape->inner_count; k++)
    inner *= c->call.dim[shape->inner[k]];
  return byte / dtype_bytes((DType)c->call.dtype[i]) % stride >= inner;
}

/* Number of an operand that is not as in `other`; -1: none; operand_count: the control block. */
static int32_t find_difference(const Run *a, const Run *b) {
  const Call *call = &a->c.call;
  for (int32_t i = 0; i < call->operand_count; i++) {
    if (case_is_scratch(&a->c, i) || a->fence[i].pages == NULL) continue;
    const uint8_t *x = a->fence[i].at, *y = b->fence[i].at;
    for (int64_t k = 0; k < call->bytes[i]; k++)
      if (x[k] != y[k] && !is_gap(&a->c, i, k)) return i;
  }
  uint64_t wanted = contract_control_writes(a->c.contract);
  for (ControlSlot slot = 0; slot < CONTROL_SLOT_COUNT; slot++)
    if (wanted & CONTROL_BIT(slot)) {
      const void *x = control_value(a->control.at, slot), *y = control_value(b->control.at, slot);
      if (memcmp(x, y, CONTROL_SLOT_BYTES) != 0) return call->operand_count;
    }
  return -1;
}

static void check_same(const Run *a, const Run *b, const Twist *twist, const char *what) {
  int32_t i = find_difference(a, b);
  if (i < 0) return;
  printf("%s: another result in %s\n", what,
         i < a->c.call.operand_count ? a->c.contract->operands[i].name : "control");
  describe(&a->c, twist);
  check_failures++;
}

/* Bytes between the rows of a view, and slots that the kernel does not write, are unchanged. */
static void check_kept(const Run *run, const CaseCall *from, const Twist *twist) {
  const Call *call = &run->c.call;
  uint64_t others = ~contract_control_writes(run->c.contract);
  for (int32_t i = 0; i < call->operand_count; i++)
    for (int64_t k = 0; run->fence[i].pages != NULL && k < call->bytes[i]; k++)
      if (is_gap(from, i, k) &&
          ((uint8_t *)run->fence[i].at)[k] != ((uint8_t *)from->call.operand[i])[k]) {
        printf("wrote between the rows of %s\n", run->c.contract->operands[i].name);
        describe(from, twist);
        check_failures++;
        return;
      }
  if (contract_control_writes(run->c.contract) == 0) return; /* its page was not to be written */
  for (ControlSlot slot = 0; slot < CONTROL_SLOT_COUNT; slot++)
    if (others & CONTROL_BIT(slot)) {
      Control before = call->control;
      CHECK(memcmp(control_value(run->control.at, slot), control_value(&before, slot),
                   CONTROL_SLOT_BYTES) == 0);
    }
}

/* ---- all of them */

static Threads *team;
static uint64_t slots_that_matter[KERNEL_COUNT];

static void check_twist(const CaseCall *from, const Run *plain, const Twist *twist,
                        const char *what) {
  Run run;
  if (run_fenced(&run, from, twist, team)) check_same(plain, &run, twist, what);
  close_run(&run);
}

/* Each declared slot by itself. */
static void find_slots(const CaseCall *from, const Run *plain) {
  const KernelContract *contract = from->contract;
  for (ControlSlot slot = 0; slot < CONTROL_SLOT_COUNT; slot++) {
    Twist twist = {.variant = KERNEL_REFERENCE, .at_end = true, .other_slots = CONTROL_BIT(slot)};
    Run run;
    if ((contract_control_reads(contract) & CONTROL_BIT(slot)) == 0) continue;
    if (run_fenced(&run, from, &twist, team) && find_difference(plain, &run) >= 0)
      slots_that_matter[contract->id] |= CONTROL_BIT(slot);
    close_run(&run);
  }
}

/* Scratch that may be left out: the reference runs, whichever kernel was asked for. Records of no
 * bytes of it always leave it out. */
static void check_without_scratch(const CaseCall *from, const Run *plain, KernelVariant variant) {
  int32_t last = from->contract->operand_count - 1;
  Twist twist = {.variant = variant, .at_end = true};
  CaseCall without = *from;
  Run run;
  if (last < 0 || from->contract->operands[last].access != KERNEL_SCRATCH ||
      !from->contract->operands[last].may_be_absent || from->call.bytes[last] == 0)
    return;
  without.call.operand_count = last;
  if (run_fenced(&run, &without, &twist, team)) check_same(&run, plain, &twist, "no scratch");
  close_run(&run);
}

static void check_variant(const CaseCall *from, KernelVariant variant) {
  uint64_t undeclared =
      ~(contract_control_reads(from->contract) | contract_control_writes(from->contract)) &
      (CONTROL_BIT(CONTROL_SLOT_COUNT) - 1);
  Twist plainly = {.variant = variant, .at_end = true};
  Run plain;
  if (run_fenced(&plain, from, &plainly, team)) {
    check_kept(&plain, from, &plainly);
    check_twist(from, &plain, &(Twist){.variant = variant}, "operands elsewhere");
    check_twist(from, &plain, &(Twist){.variant = variant, .at_end = true, .other_garbage = true},
                "what is written held something else");
    check_twist(from, &plain,
                &(Twist){.variant = variant, .at_end = true, .other_slots = undeclared},
                "slots that the row does not name hold something else");
    if (variant == KERNEL_REFERENCE) {
      find_slots(from, &plain);
      check_without_scratch(from, &plain, KERNEL_REFERENCE);
      check_without_scratch(from, &plain, KERNEL_FAST);
    }
  }
  close_run(&plain);
}

static void check_numbers(const CaseCall *c, const KernelCase *from) {
  const KernelContract *contract = c->contract;
  uint32_t count = (uint32_t)contract->dim_count;
  if (contract->is_broadcast) count = 1 + 2 * (uint32_t)from->dim[0];
  if (contract->is_pieces) count = 2 + 2 * (uint32_t)from->dim[1];
  CHECK(contract_dims_fit(contract, from->dim, count));
  if (from->in_place) CHECK(contract->operands[from->in_place].over & 1u);
  for (int32_t i = contract->attr_count; i < KERNEL_ATTRS_MAX && contract->backward_count == 0; i++)
    if (contract->row->role != ROLE_UPDATE) CHECK(from->attr[i] == 0);
}

static void check_kernel(const KernelContract *contract) {
  for (size_t i = 0; i < KERNEL_CASES; i++) {
    if (strcmp(kernel_cases[i].kernel, contract->row->name) != 0) continue;
    for (Mode mode = MODE_F32; mode < MODE_COUNT; mode++) {
      CaseCall c;
      int64_t bytes = 0;
      if (!case_make(&kernel_cases[i], mode, 5, &c)) continue;
      c.call.accumulate = (i + mode) % 2;
      c.call.control.microbatch_samples = 2; /* half of the micro-batch is padding */
      c.call.control.padded_samples = 1;
      for (int32_t k = 0; k < c.call.operand_count; k++)
        if (!case_is_scratch(&c, k)) bytes += c.call.bytes[k];
      check_numbers(&c, &kernel_cases[i]);
      if (bytes <= LARGEST_BYTES) check_variant(&c, KERNEL_REFERENCE);
      if (bytes <= LARGEST_BYTES && contract->row->has_fast) check_variant(&c, KERNEL_FAST);
      call_free(&c.call);
    }
  }
  CHECK_INT(slots_that_matter[contract->id], contract_control_reads(contract));
}

/* The operands of a backward kernel are values of the forward kernel, or gradients of them. */
static void check_backward(const KernelContract *forward, const KernelContract *of) {
  for (int32_t i = 0; i < of->operand_count; i++) {
    const KernelOperand *operand = &of->operands[i];
    if (operand->access == KERNEL_SCRATCH || strcmp(operand->name, "d_y_scale") == 0) continue;
    const char *name = strncmp(operand->name, "d_", 2) == 0 ? operand->name + 2 : operand->name;
    int32_t same = contract_operand(forward, name);
    if (same < 0) printf("%s of %s: not of %s\n", name, of->row->name, forward->row->name);
    CHECK(same >= 0);
    if (same < 0) continue;
    const KernelShape *a = &operand->shape, *b = &forward->operands[same].shape;
    CHECK(a->kind == b->kind && a->rows_count == b->rows_count && a->inner_count == b->inner_count);
    for (int32_t k = 0; k < a->rows_count; k++)
      CHECK_TEXT(of->dims[a->rows[k]].name, forward->dims[b->rows[k]].name);
    for (int32_t k = 0; k < a->inner_count; k++)
      CHECK_TEXT(of->dims[a->inner[k]].name, forward->dims[b->inner[k]].name);
  }
}

static bool is_elementwise(KernelRole role) {
  return role == ROLE_ADD || role == ROLE_ARITHMETIC || role == ROLE_ROPE || role == ROLE_DROPOUT ||
         role == ROLE_CAST;
}

int main(int argc, char **argv) {
  team = threads_new(1, NULL);
  catch_faults();
  for (KernelId id = 0; id < KERNEL_COUNT; id++) {
    const KernelContract *contract = contract_of(id);
    bool wanted = argc == 1 || strcmp(argv[1], contract->row->name) == 0;
    TEST(contract->row->name) if (wanted) check_kernel(contract);
  }
  TEST("a backward kernel's operands are its forward kernel's values, or their gradients") {
    for (KernelId id = 0; id < KERNEL_COUNT; id++)
      for (int32_t i = 0; i < contract_of(id)->backward_count; i++)
        if (!is_elementwise(contract_of(id)->row->role)) /* their own backward */
          check_backward(contract_of(id), contract_of(contract_of(id)->backward[i]));
  }
  TEST("every kernel that makes gradients is named by the kernel whose they are") {
    for (KernelId id = 0; id < KERNEL_COUNT; id++)
      for (int32_t k = 0; k < contract_of(id)->operand_count; k++)
        if (strncmp(contract_of(id)->operands[k].name, "d_", 2) == 0)
          CHECK(case_forward(contract_of(id)) != NULL);
  }
  threads_free(team);
  CHECK_DONE();
}
