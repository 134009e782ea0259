#include "runtime/plan/plan_segment.h"

const char *const segment_words[SegmentWord_COUNT] = {
#define SEGMENT_WORD(kind, ID, word) [WORD_##ID] = (word),
#include "runtime/plan/segments.def"
};

static const SegmentKind kinds[SegmentWord_COUNT] = {
#define SEGMENT_WORD(kind, ID, word) [WORD_##ID] = SEGMENT_##kind,
#include "runtime/plan/segments.def"
};

#define P(purpose) (1u << PURPOSE_##purpose)
const uint32_t segment_purposes[SegmentKind_COUNT] = {
    [SEGMENT_UNKNOWN] = UINT32_MAX,
#define SEGMENT(kind, purposes) [SEGMENT_##kind] = (purposes),
#include "runtime/plan/segments.def"
};
#undef P

/* Without ".eval" and the like. */
static size_t without_program(const char *name, size_t length) {
  static const char *const programs[] = {".eval", ".prefill", ".decode"};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    const size_t bytes = strlen(programs[i]);
    if (length > bytes && memcmp(name + length - bytes, programs[i], bytes) == 0)
      return length - bytes;
  }
  return length;
}

typedef bool Has(const char *name, size_t length, const char *word, size_t bytes);

static bool ends_with(const char *name, size_t length, const char *word, size_t bytes) {
  if (length < bytes || memcmp(name + length - bytes, word, bytes) != 0) return false;
  return length == bytes || name[length - bytes - 1] == '.' || name[length - bytes - 1] == ' ';
}

static bool begins_with(const char *name, size_t length, const char *word, size_t bytes) {
  return length > bytes && memcmp(name, word, bytes) == 0 && name[bytes] == ' ';
}

/* The kind with the longest word that the name has: "cast beside codes" also ends in "codes". */
static SegmentKind kind_by(Has *has, const char *name, size_t length) {
  SegmentKind found = SEGMENT_UNKNOWN;
  size_t longest = 0;
  for (SegmentWord word = 0; word < SegmentWord_COUNT; word++) {
    const size_t bytes = strlen(segment_words[word]);
    if (bytes > longest && has(name, length, segment_words[word], bytes))
      longest = bytes, found = kinds[word];
  }
  return found;
}

/* The end decides, because a name may begin with any name of the model. */
SegmentKind plan_segment_kind(const Plan *plan, const PlanSegment *segment) {
  const char *name = plan_string(plan, segment->name);
  const size_t length = without_program(name, strlen(name));
  const SegmentKind kind = kind_by(ends_with, name, length);
  return kind != SEGMENT_UNKNOWN ? kind : kind_by(begins_with, name, length);
}
