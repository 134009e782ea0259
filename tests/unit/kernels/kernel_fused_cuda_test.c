/* LINK: runtime kernels_cuda_host lt_stand_in -- two fused records on a GPU, by the shim and by
 * the stand-in of cublasLt, against the same two one after the other: every row of fusions.def. */
#include <unistd.h>

#include "kernels/cuda/choices.h"
#include "kernels/cuda/host/order.h"
#include "kernels/cuda/variants.h"
#include "tests/unit/fused_against.h"
#include "tests/unit/lt_stand_in.h"

/* On this machine by the shim, products by the stand-in; one after the other by our own kernels. */
static bool run(Pair *pair, bool as_one, int time) {
  Bound bound;
  cuda_host_order((uint64_t)time);
  bind_pair(pair, as_one ? lt_stand_in_kernels() : kernels_cuda(), &bound);
  bool can = !as_one || bound.fused.run != NULL;
  if (can) run_bound(&bound, as_one);
  unbind(&bound);
  return can;
}

/* How many of a call's elements or rows it is about. */
static int64_t *first_dim(Pair *pair, int k) {
  const KernelContract *contract = pair->of[k].contract;
  return &pair->of[k].call.dim[contract->is_broadcast ? 1 : 0];
}

/* Operands may be larger than the dims say: then one launch for both would do more than is asked
 * for. */
static void check_shorter(const KernelFusion *fusion) {
  for (Mode mode = MODE_F32; mode <= MODE_F16; mode++)
    for (int k = 0; k < 2; k++) {
      PairCase c = {.fusion = fusion, .mode = mode};
      Pair pair;
      CHECK(lay_sizes(fusion, SMALL - 1, &c));
      make_pair(&c, &pair);
      *first_dim(&pair, k) -= 1;
      CHECK(!run(&pair, true, 1));
      free_pair(&pair);
    }
}

static void check_choices(void) {
  char path[64], why[CHOICES_WHY_BYTES], line[640];
  bool has_aux = false, has_slope = false;
  int32_t added = 0, count = choices_count(&added);
  (void)snprintf(path, sizeof path, "/tmp/lockstep_joined_%d", (int)getpid());
  CHECK(choices_write(path, why));
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    has_aux = has_aux || strstr(line, "bf16 to bf16 gelu_aux_bias align") != NULL;
    has_slope = has_slope || strstr(line, "f32 to f32 dgelu align") != NULL;
  }
  if (file != NULL) (void)fclose(file);
  CHECK(has_aux && has_slope);
  choices_clear();
  CHECK(choices_read(path, why));
  CHECK_INT(choices_count(&added), count);
  (void)unlink(path);
}

int main(void) {
  int32_t count = 0;
  const KernelFusion *fusions = contract_fusions(&count);
  case_target = KERNEL_TARGET_CUDA;
  for (int32_t i = 0; i < count; i++) {
    if ((fusions[i].targets >> KERNEL_TARGET_CUDA & 1u) == 0) continue;
    TEST(contract_of(fusions[i].first)->row->name) {
      int fused = check_join(&fusions[i], run);
      if (fused == 0)
        printf("%s and %s are never fused\n", contract_of(fusions[i].first)->row->name,
               contract_of(fusions[i].second)->row->name);
      CHECK(fused > 0);
    }
  }
  TEST("two that are not about the same elements run one after the other")
  for (int32_t i = 0; i < count; i++)
    check_shorter(&fusions[i]);
  TEST("the file keeps how the products end") check_choices();
  TEST("a library without an end of that kind leaves the two apart") {
    static const int says[] = {LT_NOT_SUPPORTED, LT_INVALID};
    for (int how = 0; how < 2; how++) {
      choices_clear();
      lt_stand_in_ends(says[how]);
      for (int32_t i = 0; i < count; i++)
        if (is_product(fusions[i].first) && fusions[i].second != KERNEL_add)
          CHECK_INT(check_join(&fusions[i], run), 0);
    }
    lt_stand_in_ends(LT_DONE);
  }
  TEST("every call is one that the library takes") CHECK_INT(lt_stand_in_faults(), 0);
  CHECK_DONE();
}
