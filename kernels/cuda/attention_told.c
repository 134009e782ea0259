#include "kernels/cuda/attention_told.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { TOLD_MOST = 64 };

static struct {
  pthread_mutex_t lock;
  int32_t library, own; /* records that were bound */
  char library_name[ATTENTION_BY_BYTES];
  const char *why_own; /* of the first record that runs a kernel of our own */
  AttentionTold entry[TOLD_MOST];
  int32_t entry_count;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the entry of such records, a new one if there is none yet; NULL: the table is full. */
static AttentionTold *entry_of(const char *kernel, const char *path, const char *why) {
  for (int32_t i = 0; i < told.entry_count; i++) {
    AttentionTold *at = &told.entry[i];
    bool is_alike = at->kernel == kernel && at->why == why;
    if (is_alike && strncmp(at->of, path, sizeof at->of - 1) == 0) return at;
  }
  if (told.entry_count == TOLD_MOST) return NULL;
  AttentionTold *at = &told.entry[told.entry_count++];
  *at = (AttentionTold){.kernel = kernel, .why = why};
  (void)snprintf(at->of, sizeof at->of, "%s", path);
  return at;
}

void attention_told_add(const char *kernel, const char *path, const char *library,
                        const char *why) {
  pthread_mutex_lock(&told.lock);
  AttentionTold *entry = entry_of(kernel, path, why);
  if (entry != NULL) {
    (void)snprintf(entry->by, sizeof entry->by, "%s", why == NULL ? library : "own");
    entry->records++;
  }
  if (why != NULL && told.own == 0) told.why_own = why;
  if (why == NULL) (void)snprintf(told.library_name, sizeof told.library_name, "%s", library);
  *(why != NULL ? &told.own : &told.library) += 1;
  pthread_mutex_unlock(&told.lock);
}

int32_t attentions_list(AttentionTold *list, int32_t most) {
  pthread_mutex_lock(&told.lock);
  int32_t count = told.entry_count < most ? told.entry_count : most;
  for (int32_t i = 0; i < count; i++)
    list[i] = told.entry[i];
  pthread_mutex_unlock(&told.lock);
  return count;
}

void attentions_tell(char text[ATTENTIONS_TEXT_BYTES]) {
  int length = 0;
  *text = '\0';
  pthread_mutex_lock(&told.lock);
  if (told.library > 0)
    length = snprintf(text, ATTENTIONS_TEXT_BYTES, "%d by %s%s", told.library, told.library_name,
                      told.own > 0 ? ", " : "");
  if (told.own > 0)
    (void)snprintf(text + length, (size_t)(ATTENTIONS_TEXT_BYTES - length),
                   "%d by kernels of our own: %s", told.own, told.why_own);
  told.library = told.own = told.entry_count = 0;
  pthread_mutex_unlock(&told.lock);
}
