/* weights_tied_test.c -- pairs of tied tensors, as a plan's setting names them. LINK: runtime */
#include "runtime/weights/weights.h"
#include "tests/unit/check.h"

int main(void) {
  char tensor[WEIGHTS_NAME_BYTES], like[WEIGHTS_NAME_BYTES];
  const char *pairs = "lm_head.weight=wte.weight  b=c", *none = "", *half = "a b=c";
  TEST("each pair, in order") {
    CHECK(weights_next_tied(&pairs, tensor, like));
    CHECK_TEXT(tensor, "lm_head.weight");
    CHECK_TEXT(like, "wte.weight");
    CHECK(weights_next_tied(&pairs, tensor, like));
    CHECK_TEXT(tensor, "b");
    CHECK_TEXT(like, "c");
    CHECK(!weights_next_tied(&pairs, tensor, like));
  }
  TEST("text without a pair") {
    CHECK(!weights_next_tied(&none, tensor, like));
    CHECK(!weights_next_tied(&half, tensor, like));
  }
  CHECK_DONE();
}
