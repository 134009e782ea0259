/* findings.h -- what a test expects the proof to say of a broken plan. */
#ifndef LOCKSTEP_TESTS_FINDINGS_H
#define LOCKSTEP_TESTS_FINDINGS_H

#include <stdio.h>
#include <string.h>

#include "compiler/plan/prove/prove.h"
#include "tests/unit/check.h"

/* `words` are separated by "..." */
static inline bool finding_has(const char *at, const char *words) {
  char copy[256];
  snprintf(copy, sizeof copy, "%s", words);
  for (char *word = copy, *next; word != NULL; word = next) {
    next = strstr(word, "...");
    if (next != NULL) *next = '\0', next += 3;
    at = strstr(at, word);
    if (at == NULL) return false;
    at += strlen(word);
  }
  return true;
}

/* One finding has all of `words`. The name of a property alone is not enough: any mistake has it.
 */
static inline void findings_expect(const ProveReport *report, const char *words) {
  size_t length = strlen(words);
  CHECK(length > 8 && strcmp(words + length - 2, ": ") != 0);
  for (uint32_t i = 0; i < report->finding_count && i < PROVE_FINDINGS_MAX; i++)
    if (finding_has(report->finding[i], words)) return;
  CHECK_TEXT(report->finding[0], words);
}

/* True if the finding is of one of these properties, which are between blanks or ends in ":". */
static inline bool finding_is_of(const char *finding, const char *properties) {
  size_t length = strcspn(finding, ":");
  for (const char *at = properties; *at != '\0';) {
    size_t name = strcspn(at, " :");
    if (name == length && strncmp(finding, at, length) == 0) return true;
    at += name;
    if (*at != ' ') return false;
    at++;
  }
  return false;
}

/* No finding is of another property than the one that `words` begin with, and those of `also`. */
static inline void findings_expect_only(const ProveReport *report, const char *words,
                                        const char *also) {
  for (uint32_t i = 0; i < report->finding_count && i < PROVE_FINDINGS_MAX; i++)
    if (!finding_is_of(report->finding[i], words) && !finding_is_of(report->finding[i], also))
      CHECK_TEXT(report->finding[i], words);
}

#endif
