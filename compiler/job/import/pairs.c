/* pairs.c -- see pairs.h. */
#include "compiler/job/import/pairs.h"

#include <string.h>

typedef enum ValueForm { FORM_NUMBER, FORM_COUNT, FORM_STEPS, FORM_OTHER } ValueForm;

typedef struct KeyPair {
  const char *tool, *theirs, *ours;
  ValueForm form;
} KeyPair;

typedef struct WordPair {
  const char *tool, *key, *theirs, *ours;
} WordPair;

static const KeyPair keys[] = {
#define PAIR(tool, theirs, ours, form) {#tool, theirs, ours, FORM_##form},
#define SAME(tool, key, theirs, ours)
#include "compiler/job/import/pairs.def"
#undef PAIR
#undef SAME
};
static const WordPair words[] = {
#define PAIR(tool, theirs, ours, form)
#define SAME(tool, key, theirs, ours) {#tool, key, theirs, ours},
#include "compiler/job/import/pairs.def"
#undef PAIR
#undef SAME
};
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

Leaf *pair_leaf(Import *im, const char *tool, const char *key) {
  int32_t id = word_tool_find(tool);
  Leaf *found = leaf_find(im, id, key);
  bool is_grouped = strcmp(tool, "accelerate") == 0 || strcmp(tool, "megatron") == 0;
  for (int32_t i = 0; is_grouped && !found && i < im->leaves.count; i++) {
    Leaf *leaf = &im->leaves.at[i];
    const char *dot = strrchr(leaf->key, '.');
    if (leaf->tool == id && leaf->how <= HOW_USED && dot && word_is_same(dot + 1, key))
      found = leaf;
  }
  return found;
}

static void take_one(Import *im, const KeyPair *pair) {
  Leaf *leaf = pair_leaf(im, pair->tool, pair->theirs);
  double number = 0;
  int64_t count = 0;
  if (!leaf || leaf_is_auto(leaf)) return;
  if (pair->form == FORM_NUMBER && leaf_number(im, leaf, &number))
    take(im, leaf, pair->ours, lua_number(im->c->arena, number), "");
  if (pair->form != FORM_COUNT && pair->form != FORM_STEPS) return;
  if (!leaf_count(im, leaf, &count)) return;
  take(im, leaf, pair->ours,
       pair->form == FORM_STEPS ? arena_printf(im->c->arena, "\"%lld steps\"", (long long)count)
                                : lua_number(im->c->arena, (double)count),
       "");
}

void take_pairs(Import *im, const char *tool, const char *ours) {
  size_t length = strlen(ours);
  bool is_section = ours[length - 1] == '.';
  for (size_t i = 0; i < COUNT_OF(keys); i++) {
    bool is_it =
        is_section ? strncmp(keys[i].ours, ours, length) == 0 : strcmp(keys[i].ours, ours) == 0;
    if (is_it && strcmp(keys[i].tool, tool) == 0) take_one(im, &keys[i]);
  }
}

const char *pair_ours(const char *tool, const char *key, const char *word) {
  for (size_t i = 0; i < COUNT_OF(words); i++)
    if (strcmp(words[i].tool, tool) == 0 && strcmp(words[i].key, key) == 0 &&
        word_is_same(words[i].theirs, word))
      return words[i].ours;
  return NULL;
}

const char *pair_meant(Arena *arena, const char *tool, const char *key, const char *word,
                       const char *why) {
  const char *known[COUNT_OF(words)];
  int32_t count = 0;
  for (size_t i = 0; i < COUNT_OF(words); i++)
    if (strcmp(words[i].tool, tool) == 0 && strcmp(words[i].key, key) == 0)
      known[count++] = words[i].theirs;
  const char *near = nearest_word(word, known, count);
  return near ? arena_printf(arena, "did you mean %s? %s", near, why) : why;
}

const char *pair_key(const char *tool, const char *ours) {
  for (size_t i = 0; i < COUNT_OF(keys); i++)
    if (strcmp(keys[i].tool, tool) == 0 && strcmp(keys[i].ours, ours) == 0) return keys[i].theirs;
  return NULL;
}

const char *pair_word(const char *tool, const char *key, const char *ours) {
  for (size_t i = 0; i < COUNT_OF(words); i++)
    if (strcmp(words[i].tool, tool) == 0 && strcmp(words[i].key, key) == 0 &&
        strcmp(words[i].ours, ours) == 0)
      return words[i].theirs;
  return NULL;
}
