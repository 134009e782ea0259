/* LINK: plan plan_builder
 * Names of segments, and the kinds that they state. */
#include "runtime/plan/plan_segment.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

static SegmentKind kind_of(const char *name) {
  PlanBuilder b = {0};
  const PlanSegment segment = {.name = build_string(&b, name)};
  build_segments(&b, segment);
  const Plan plan = build_view(&b);
  const SegmentKind kind = plan_segment_kind(&plan, &segment);
  build_free(&b);
  return kind;
}

int main(void) {
  static const struct {
    const char *name;
    SegmentKind kind;
  } cases[] = {{"h.forward", SEGMENT_FORWARD},
               {"h.forward.eval", SEGMENT_FORWARD},
               {"h.forward.decode", SEGMENT_FORWARD},
               {"update.backward", SEGMENT_BACKWARD},
               {"h.weight", SEGMENT_WEIGHT},
               {"wte.weight.update", SEGMENT_UPDATE},
               {"wte.weight.update.host", SEGMENT_UPDATE},
               {"h.codes", SEGMENT_CODES},
               {"h.cast beside codes", SEGMENT_CAST},
               {"h.recast", SEGMENT_RECAST},
               {"h.kept.out", SEGMENT_KEPT},
               {"h.grads.out", SEGMENT_STATE},
               {"h.join.last", SEGMENT_JOIN},
               {"load", SEGMENT_LOAD},
               {"load.prefill", SEGMENT_LOAD},
               {"exchange send.activation.+1.4096", SEGMENT_TRANSFER},
               {"layer backward", SEGMENT_BACKWARD},
               {"recompute a.weight", SEGMENT_WEIGHT},
               {"h.preload", SEGMENT_UNKNOWN},
               {"last", SEGMENT_UNKNOWN},
               {".eval", SEGMENT_UNKNOWN},
               {"", SEGMENT_UNKNOWN}};
  TEST("the longest word of segments.def that ends a name, or else begins it, is the kind")
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK_INT((int)kind_of(cases[i].name), (int)cases[i].kind);
  CHECK_DONE();
}
