/* Lanes of offload as a run prints them: beside each its time alone where lanes share cores, and
 * beside the step its prediction, which counts that.
 * LINK: runtime */
#include <string.h>

#include "runtime/metrics/lanes.h"
#include "tests/unit/check.h"

static char said[1024];

static void hear(void *context, const char *line) {
  (void)context;
  (void)snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

static void tell(const OffloadFacts *facts) {
  said[0] = '\0';
  offload_tell(facts, hear, NULL);
}

int main(void) {
  OffloadFacts facts = {.step_ms = 200.4,
                        .step_predicted_ms = 189.2,
                        .compute_ms = 180,
                        .lane = {{"d2h", 10.6, 9.94, 0}, {"h2d", 15.3, 6.76, 0}},
                        .count = 2,
                        .longest = 1,
                        .more_tokens = 1,
                        .tokens = 512};
  TEST("lanes of their own beside what was predicted") {
    tell(&facts);
    CHECK_TEXT(said, "offload  d2h 10.6 ms (9.94 predicted), h2d 15.3 ms (6.76 predicted)\n"
                     "         of 200 ms (189 predicted) a step, kernels take 180 ms, wait 20.4 "
                     "(10 %)\n"
                     "         lane h2d works longest, less than the kernels\n");
  }
  TEST("lanes that share cores beside their time alone") {
    facts.shares_cores = true, facts.compute_ms = 0;
    tell(&facts);
    CHECK_TEXT(said, "offload  d2h 10.6 ms (9.94 alone), h2d 15.3 ms (6.76 alone)\n"
                     "         a step takes 200 ms (189 predicted); lane h2d works longest\n");
  }
  TEST("nothing was predicted") {
    facts.step_predicted_ms = facts.lane[0].predicted_ms = facts.lane[1].predicted_ms = 0;
    tell(&facts);
    CHECK_TEXT(said, "offload  d2h 10.6 ms, h2d 15.3 ms\n"
                     "         a step takes 200 ms; lane h2d works longest\n");
  }
  CHECK_DONE();
}
