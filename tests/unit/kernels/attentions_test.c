/* Attention through cuDNN, as the stand-in has it: what the graphs compute against the plain
 * kernels, which records it takes, and the messages for the others.
 * LINK: kernels_cuda_host runtime cudnn_stand_in */
#include <unistd.h>

#include "kernels/cuda/choices.h"
#include "tests/unit/cudnn_stand_in.h"
#include "tests/unit/kernel_against.h"

static const KernelId FORWARD = KERNEL_attention, BACKWARD = KERNEL_attention_backward;

/* Bound and run as a record is. */
static bool run_through(CaseCall *c, int time) {
  const char *why = "";
  const Kernel *kernel = &cudnn_stand_in_kernels()[c->contract->id];
  const KernelUse use = case_use(c);
  void *control[KERNEL_CONTROLS_MAX];
  control_addresses(c->contract, &c->call.control, control);
  KernelArgs args = call_args(&c->call, control);
  (void)time;
  bool done = kernel->prepare(kernel, &use, &args.state, &why) == KERNEL_DONE;
  if (done) {
    done = kernel->run(&args, &why) == KERNEL_DONE;
    kernel->release(args.state);
  }
  if (!done) printf("%s: %s\n", c->call.kernel, why);
  return done;
}

/* cuDNN rounds what heads that share keys add to their gradients one by one, so that single numbers
 * may be further off than the plain comparison allows: here all of them together are compared. */
static bool is_close(const CaseCall *plain, const CaseCall *other, int32_t i) {
  double sum = 0, rms = rms_of(&plain->call, i);
  int64_t count = call_count(&plain->call, i);
  if (case_is_scratch(plain, i)) return true;
  if (case_is_read_only(plain, i) || dtype_bytes((DType)plain->call.dtype[i]) != 2)
    return compare(plain, other, i);
  for (int64_t e = 0; e < count; e++) {
    double off = call_get(&plain->call, i, e) - call_get(&other->call, i, e);
    sum += off * off;
  }
  double step = plain->call.dtype[i] == DTYPE_BF16 ? 0x1p-8 : 0x1p-11;
  bool close = sqrt(sum / (double)count) <= step * rms;
  if (!close) printf("operand %d: off by %g, rms %g\n", i, sqrt(sum / (double)count), rms);
  return close;
}

static int64_t calls(void) {
  return cudnn_stand_in_seen().calls;
}

/* Against the plain kernel; whether the library did it, as expected. */
static void check_in(Mode mode, const KernelCase *from, bool expected) {
  CaseCall plain, other;
  CHECK(case_make(from, mode, 77, &plain) && case_make(from, mode, 77, &other));
  int64_t before = calls();
  call_run(&plain.call, KERNEL_REFERENCE, NULL);
  CHECK(run_through(&other, 1));
  CHECK_INT(calls() - before, expected);
  for (int32_t i = 0; i < plain.call.operand_count; i++)
    CHECK(is_close(&plain, &other, i));
  call_free(&plain.call), call_free(&other.call);
}

static void check_case(const KernelCase *from, bool expected) {
  check_in(MODE_BF16, from, expected);
}

/* dims without d_strides; backward has those of q, k and v. */
static KernelCase case_of(KernelId id, const int64_t *dim, const double *attr) {
  KernelCase made = {.kernel = contract_of(id)->row->name};
  for (int i = 0; i < 8; i++)
    made.dim[i] = dim[i];
  for (int i = 8; i < 11 && id == BACKWARD; i++)
    made.dim[i] = dim[i - 3];
  memcpy(made.attr, attr, (size_t)contract_of(id)->attr_count * sizeof *attr);
  return made;
}

/* The shape both ways, and how many operations the graphs have. */
static void check_both(const int64_t *dim, const double *attr, int64_t forward, int64_t backward) {
  KernelCase of = case_of(FORWARD, dim, attr);
  check_case(&of, true);
  CHECK_INT(cudnn_stand_in_seen().operations, forward);
  check_in(MODE_F16, &of, true);
  of = case_of(BACKWARD, dim, attr);
  check_case(&of, true);
  CHECK_INT(cudnn_stand_in_seen().operations, backward);
  check_in(MODE_F16, &of, true);
}

static void check_graphs(void) {
  const double causal[] = WHOLE(1, 0.25, 0, 4, 24), all[] = WHOLE(0, 0.25, 0, 4, 24);
  const int64_t one[] = {2, 24, 4, 4, 16, 192, 192, 192}, few[] = {1, 24, 4, 2, 16, 72, 40, 80};
  TEST("causal") check_both(one, causal, 14, 22);
  TEST("every key") check_both(one, all, 10, 18);
  TEST("causal, heads that share keys, strides of their own") check_both(few, causal, 14, 24);
  TEST("every key, heads that share keys") check_both(few, all, 10, 20);
  TEST("an odd length, a wide head") {
    const int64_t odd[] = {1, 67, 3, 1, 72, 216, 72, 72}, wide[] = {1, 9, 1, 1, 256, 256, 256, 256};
    const double attr[] = WHOLE(1, 0.12, 0, 3, 67), other[] = WHOLE(1, 0.06, 0, 1, 9);
    check_both(odd, attr, 14, 24);
    check_both(wide, other, 14, 22);
  }
  TEST("one token") {
    const int64_t token[] = {3, 1, 2, 1, 8, 16, 8, 8};
    const double attr[] = WHOLE(1, 0.3, 0, 2, 1);
    check_both(token, attr, 10, 20); /* there is nothing to hide */
  }
  TEST("parts of longer sequences: the same tokens, and earlier ones") {
    const double same[] = {1, 0.25, 0, 24, 36, 24, 36, 0, 4, 48, 0, 0};
    const double earlier[] = {1, 0.25, 0, 24, 36, 0, 12, 0, 4, 48, 0, 0};
    check_both(one, same, 14, 22);
    const double same_runs[] = {1, 0.25, 0, 0, 36, 0, 36, 0, 4, 48, 0, 0};
    const double earlier_runs[] = {1, 0.25, 0, 30, 60, 0, 12, 0, 4, 72, 0, 0};
    check_both(one, earlier, 10, 18);
    check_both(one, same_runs, 14, 22);
    check_both(one, earlier_runs, 10, 18);
  }
}

/* The blocks of a ring of two ranks: each has a run from the front and one from the back. */
static void check_ring(void) {
  const int64_t one[] = {2, 24, 4, 4, 16, 192, 192, 192}, few[] = {2, 32, 4, 2, 16, 72, 40, 80};
  const int64_t odd[] = {1, 20, 2, 2, 16, 96, 96, 96};
  TEST("keys of a rank before: the first half of them, by every query") {
    const double attr[] = {1, 0.25, 0, 12, 24, 0, 36, 0, 4, 48, 0, 0};
    const double few_attr[] = {1, 0.25, 0, 16, 32, 0, 48, 0, 4, 64, 0, 0};
    check_both(one, attr, 10, 18);
    check_both(few, few_attr, 10, 20);
  }
  TEST("keys of an earlier rank: all of them, by the second half of the queries") {
    const double attr[] = {1, 0.25, 0, 0, 36, 12, 24, 0, 4, 48, 0, 0};
    const double few_attr[] = {1, 0.25, 0, 0, 48, 16, 32, 0, 4, 64, 0, 0};
    check_both(one, attr, 10, 18);
    check_both(few, few_attr, 10, 20);
  }
  TEST("halves that no address may begin at are left to our own kernels") {
    const double attr[] = {1, 0.25, 0, 10, 20, 0, 30, 0, 2, 40, 0, 0};
    KernelCase of = case_of(FORWARD, odd, attr);
    check_case(&of, false);
  }
}

/* ---- q, k and v of a token beside each other, and so their gradients */

enum { BATCH = 2, SEQ = 21, HEADS = 4, KV_HEADS = 2, HEAD = 16 };
enum { TOKEN = (HEADS + 2 * KV_HEADS) * HEAD, PACKED = BATCH * SEQ * TOKEN };

static int64_t first_of(int part) {
  return part == 0 ? 0 : part == 1 ? HEADS * HEAD : (HEADS + KV_HEADS) * HEAD;
}

static int64_t width_of(int part) {
  return (part == 0 ? HEADS : KV_HEADS) * HEAD;
}

/* Moves operands first, first + 1 and first + 2 into `packed` and back. */
static void move_parts(const Call *call, int32_t first, uint16_t *packed, bool back) {
  for (int part = 0; part < 3; part++)
    for (int64_t token = 0; token < BATCH * SEQ; token++) {
      uint16_t *apart = (uint16_t *)call->operand[first + part] + token * TOKEN;
      uint16_t *at = packed + token * TOKEN + first_of(part);
      memcpy(back ? apart : at, back ? at : apart, (size_t)width_of(part) * sizeof *at);
    }
}

static void run_packed(CaseCall *c) {
  static _Alignas(CALL_ALIGN_BYTES) uint16_t qkv[PACKED], d_qkv[PACKED];
  bool backward = c->contract->id == BACKWARD;
  int32_t q = backward ? 1 : 0, d_q = 6;
  Call apart = c->call;
  move_parts(&apart, q, qkv, false);
  if (backward) move_parts(&apart, d_q, d_qkv, false);
  for (int part = 0; part < 3; part++) {
    c->call.operand[q + part] = qkv + first_of(part);
    if (backward) c->call.operand[d_q + part] = d_qkv + first_of(part);
  }
  int64_t before = calls();
  CHECK(run_through(c, 1));
  CHECK_INT(calls(), before + 1);
  memcpy(c->call.operand, apart.operand, sizeof apart.operand);
  move_parts(&c->call, q, qkv, true);
  if (backward) move_parts(&c->call, d_q, d_qkv, true);
}

static void check_packed(KernelId id) {
  const int64_t dim[] = {BATCH, SEQ, HEADS, KV_HEADS, HEAD, TOKEN, TOKEN, TOKEN};
  const double attr[] = WHOLE(1, 0.25, 0, HEADS, SEQ);
  KernelCase of = case_of(id, dim, attr);
  CaseCall plain, packed;
  bool made = case_make(&of, MODE_BF16, 5, &plain) && case_make(&of, MODE_BF16, 5, &packed);
  CHECK(made);
  if (!made) return;
  call_run(&plain.call, KERNEL_REFERENCE, NULL);
  run_packed(&packed);
  for (int32_t i = 0; i < plain.call.operand_count; i++)
    CHECK(is_close(&plain, &packed, i));
  call_free(&plain.call), call_free(&packed.call);
}

/* ---- who does it */

static const int64_t plain_dim[] = {1, 24, 2, 2, 16, 96, 96, 96};
static const double plain_attr[] = WHOLE(1, 0.25, 0, 2, 24);

/* Left to our own kernels, with the reason. */
static void check_own(const int64_t *dim, const double *attr, const char *why) {
  char text[ATTENTIONS_TEXT_BYTES], want[ATTENTIONS_TEXT_BYTES];
  attentions_tell(text);
  for (int i = 0; i < 2; i++) {
    KernelCase of = case_of(i == 0 ? FORWARD : BACKWARD, dim, attr);
    check_case(&of, false);
  }
  attentions_tell(text);
  (void)snprintf(want, sizeof want, "2 by kernels of our own: %s", why);
  CHECK_TEXT(text, want);
}

static void check_left(void) {
  const int64_t odd_head[] = {1, 24, 2, 2, 12, 96, 96, 96}, odd[] = {1, 24, 2, 2, 16, 96, 100, 96};
  const double dropout[] = WHOLE(1, 0.25, 0.1, 2, 24);
  const double runs[] = {1, 0.25, 0, 0, 24, 12, 36, 0, 2, 48, 0, 0};
  const double later[] = {1, 0.25, 0, 5, 17, 0, 12, 0, 2, 48, 0, 0};
  const char *why_other = "a causal mask of keys at other positions than queries";
  TEST("other dtypes") {
    const KernelCase of = case_of(FORWARD, plain_dim, plain_attr);
    check_in(MODE_F32, &of, false);
  }
  TEST("dropout") check_own(plain_dim, dropout, "dropout");
  TEST("tokens in two runs") check_own(plain_dim, runs, why_other);
  TEST("some keys") check_own(plain_dim, later, why_other);
  TEST("odd heads and strides") {
    const char *why = "heads, strides or addresses that are not whole 16 bytes";
    check_own(odd_head, plain_attr, why);
    check_own(odd, plain_attr, why);
  }
  TEST("no engine, or one that is refused or not compiled at the end") {
    cudnn_stand_in_say((CudnnStandInSays){.has_no_engine = true});
    check_own(plain_dim, plain_attr, "no engine of cuDNN takes the shape");
    cudnn_stand_in_say((CudnnStandInSays){.refuses_plans = true});
    check_own(plain_dim, plain_attr, "no engine of cuDNN takes the shape");
    cudnn_stand_in_say((CudnnStandInSays){.cannot_compile = true});
    check_own(plain_dim, plain_attr,
              "cuDNN cannot compile it; libnvrtc.so and libnvrtc-builtins.so in LD_LIBRARY_PATH?");
    cudnn_stand_in_say((CudnnStandInSays){0});
  }
  TEST("the list's cases, by whoever does them; the long ones are kernel_cuda_test's") {
    char text[ATTENTIONS_TEXT_BYTES];
    for (size_t i = 0; i < KERNEL_CASES; i++)
      if ((strcmp(kernel_cases[i].kernel, "attention") == 0 ||
           strcmp(kernel_cases[i].kernel, "attention_backward") == 0) &&
          kernel_cases[i].dim[1] <= 70)
        case_against(&kernel_cases[i], MODE_BF16, false, run_through);
    attentions_tell(text);
    CHECK(strstr(text, " by cuDNN 9.19.0, ") != NULL);
    CHECK(strstr(text, " by kernels of our own: ") != NULL);
  }
}

/* A record of an op as it is bound. */
static KernelStatus bind_of(const char *path, KernelId id, const int64_t *dim, const double *attr,
                            void **state, const char **why) {
  KernelCase of = case_of(id, dim, attr);
  CaseCall c;
  const Kernel *kernel = &cudnn_stand_in_kernels()[id];
  CHECK(case_make(&of, MODE_BF16, 3, &c));
  KernelUse use = case_use(&c);
  use.path = path;
  KernelStatus bound = kernel->prepare(kernel, &use, state, why);
  call_free(&c.call);
  return bound;
}

static KernelStatus bind_record(KernelId id, const int64_t *dim, const double *attr, void **state,
                                const char **why) {
  return bind_of(NULL, id, dim, attr, state, why);
}

static void check_told(const AttentionTold *told, const char *of, const char *kernel,
                       int32_t records, const char *by, const char *why) {
  CHECK_TEXT(told->of, of);
  CHECK_TEXT(told->kernel, kernel);
  CHECK_INT(told->records, records);
  CHECK_TEXT(told->by, by);
  CHECK((told->why == NULL) == (why == NULL));
  if (why != NULL) CHECK_TEXT(told->why, why);
}

static void check_list(void) {
  const double dropout[] = WHOLE(1, 0.25, 0.1, 2, 24);
  char text[ATTENTIONS_TEXT_BYTES];
  const char *why = "";
  void *state = NULL;
  TEST("op by op, whose kernels run it") {
    const struct {
      const char *path;
      KernelId id;
      const double *attr;
    } bound[] = {{"h.*.attn", FORWARD, plain_attr},
                 {"h.*.attn", BACKWARD, plain_attr},
                 {"end.attn", FORWARD, dropout},
                 {"h.*.attn", FORWARD, plain_attr}};
    AttentionTold told[4];
    attentions_tell(text);
    CHECK_INT(attentions_list(told, 4), 0);
    for (int i = 0; i < 4; i++) {
      CHECK(bind_of(bound[i].path, bound[i].id, plain_dim, bound[i].attr, &state, &why) ==
            KERNEL_DONE);
      cudnn_stand_in_kernels()[bound[i].id].release(state);
    }
    CHECK_INT(attentions_list(told, 4), 3);
    check_told(&told[0], "h.*.attn", "attention", 2, "cuDNN 9.19.0", NULL);
    check_told(&told[1], "h.*.attn", "attention_backward", 1, "cuDNN 9.19.0", NULL);
    check_told(&told[2], "end.attn", "attention", 1, "own", "dropout");
    CHECK_INT(attentions_list(told, 2), 2);
    attentions_tell(text);
    CHECK_TEXT(text, "3 by cuDNN 9.19.0, 1 by kernels of our own: dropout");
    CHECK_INT(attentions_list(told, 4), 0);
  }
}

static void check_engines(void) {
  const char *why = "";
  void *state[3];
  TEST("an engine that wants more scratch than the plan gives is passed over") {
    KernelCase of = case_of(BACKWARD, plain_dim, plain_attr);
    check_case(&of, true);
    CHECK_INT(cudnn_stand_in_seen().engine, 2);
    cudnn_stand_in_say((CudnnStandInSays){.first_wants_bytes = 1 << 20});
    check_case(&of, true);
    CHECK_INT(cudnn_stand_in_seen().engine, 1);
    cudnn_stand_in_say((CudnnStandInSays){0});
  }
  TEST("records of one shape share one plan, and nothing is left of it") {
    int64_t before = cudnn_stand_in_seen().compiled;
    CHECK_INT(cudnn_stand_in_seen().live, 0);
    for (int i = 0; i < 3; i++)
      CHECK(bind_record(i < 2 ? BACKWARD : FORWARD, plain_dim, plain_attr, &state[i], &why) ==
            KERNEL_DONE);
    CHECK_INT(cudnn_stand_in_seen().compiled, before + 2);
    CHECK(cudnn_stand_in_seen().live > 0);
    for (int i = 0; i < 3; i++)
      cudnn_stand_in_kernels()[BACKWARD].release(state[i]);
    CHECK_INT(cudnn_stand_in_seen().live, 0);
  }
  TEST("a call that fails says the library's words") {
    KernelCase of = case_of(FORWARD, plain_dim, plain_attr);
    CaseCall c;
    CHECK(case_make(&of, MODE_BF16, 3, &c));
    KernelArgs args = call_args(&c.call, NULL);
    CHECK(bind_record(FORWARD, plain_dim, plain_attr, &args.state, &why) == KERNEL_DONE);
    cudnn_stand_in_say((CudnnStandInSays){.fails = true});
    CHECK(cudnn_stand_in_kernels()[FORWARD].run(&args, &why) == KERNEL_FAILED);
    CHECK_TEXT(why, "CUDNN_STATUS_NOT_SUPPORTED");
    cudnn_stand_in_say((CudnnStandInSays){0});
    cudnn_stand_in_kernels()[FORWARD].release(args.state);
    call_free(&c.call);
  }
}

/* The engine that runs a bound record. */
static int64_t engine_of(void *state) {
  KernelCase of = case_of(FORWARD, plain_dim, plain_attr);
  CaseCall c;
  const char *why = "";
  CHECK(case_make(&of, MODE_BF16, 3, &c));
  KernelArgs args = call_args(&c.call, NULL);
  args.state = state;
  CHECK(cudnn_stand_in_kernels()[FORWARD].run(&args, &why) == KERNEL_DONE);
  call_free(&c.call);
  return cudnn_stand_in_seen().engine;
}

static void check_timed(void) {
  static _Alignas(256) uint8_t memory[1 << 20];
  const Kernel *kernel = &cudnn_stand_in_kernels()[FORWARD];
  const char *why = "";
  char path[64], why_file[CHOICES_WHY_BYTES];
  void *state = NULL;
  LtChoice choice = {0};
  (void)snprintf(path, sizeof path, "/tmp/lockstep_attentions_%d", (int)getpid());
  choices_clear();
  TEST("of two engines the faster one is taken, and kept") {
    products_lend(&cudnn_stand_in_clock, memory, sizeof memory);
    CHECK(bind_record(FORWARD, plain_dim, plain_attr, &state, &why) == KERNEL_DONE);
    products_lend(NULL, NULL, 0);
    CHECK_INT(engine_of(state), 1);
    kernel->release(state);
    CHECK(choices_at(0, &choice) && !choices_at(1, &choice));
    CHECK_INT(choice.took_ns, 2000000);
    CHECK_INT(choice.first_ns, 3000000);
    CHECK(choices_write(path, why_file));
    choices_clear();
    CHECK(choices_read(path, why_file));
    CHECK(bind_record(FORWARD, plain_dim, plain_attr, &state, &why) == KERNEL_DONE);
    CHECK_INT(engine_of(state), 1);
    (void)unlink(path);
  }
  TEST("bound records take the plan that another rank has chosen") {
    choice.algorithm.data[0] = 0, choice.id = 2;
    CHECK(choices_add(&choice) && attentions_settle());
    CHECK_INT(engine_of(state), 2);
    kernel->release(state);
  }
  TEST("a kept plan that is not offered ends a run whose bits must repeat, and no other") {
    choice.id = 7;
    CHECK(choices_add(&choice));
    CHECK(bind_record(FORWARD, plain_dim, plain_attr, &state, &why) == KERNEL_DONE);
    CHECK_INT(engine_of(state), 2);
    kernel->release(state);
    choices_hold(true);
    CHECK(bind_record(FORWARD, plain_dim, plain_attr, &state, &why) == KERNEL_FAILED);
    CHECK(strstr(why, "cuDNN does not offer the plan any more that is kept") != NULL);
    choices_hold(false);
    CHECK_INT(cudnn_stand_in_seen().live, 0);
  }
  choices_clear();
}

static void check_ordered(void) {
  const int64_t wide[] = {1, 40, 2, 1, 64, 128, 64, 64};
  const double attr[] = WHOLE(1, 0.12, 0, 2, 40);
  choices_hold(true);
  TEST("where bits must repeat, d_q is not summed as blocks come") {
    check_both(wide, attr, 14, 23); /* the sums, and their rounding, are one product */
  }
  TEST("and where the plan has no room for that, our own kernel runs") {
    const int64_t longer[] = {1, 72, 2, 2, 8, 16, 16, 16};
    const double attr_longer[] = WHOLE(1, 0.3, 0, 2, 72);
    KernelCase of = case_of(BACKWARD, longer, attr_longer);
    check_case(&of, false);
    of = case_of(FORWARD, longer, attr_longer);
    check_case(&of, true);
  }
  choices_hold(false);
}

int main(void) {
  case_target = KERNEL_TARGET_CUDA;
  check_graphs();
  check_ring();
  TEST("q, k and v interleaved") {
    check_packed(FORWARD);
    check_packed(BACKWARD);
  }
  check_left();
  check_list();
  check_engines();
  check_timed();
  check_ordered();
  CHECK_DONE();
}
