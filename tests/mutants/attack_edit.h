/* attack_edit.h -- one line of an attack and the plan that it changes. Private to attack.c and
 * attack_tables.c. */
#ifndef LOCKSTEP_TESTS_ATTACK_EDIT_H
#define LOCKSTEP_TESTS_ATTACK_EDIT_H

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mutants/attack.h"

enum { TAKEN_MAX = 512 };

typedef struct Edit {
  const Attack *attack;
  const AttackLine *line;
  PlanBuilder *b;
  uint32_t taken[TAKEN_MAX]; /* records, or calls */
  int taken_count;
} Edit;

static inline _Noreturn void wrong(const Edit *e, const char *what) {
  attack_wrong(e->attack, e->line->number, what);
}

static inline const char *word(const Edit *e, int index) {
  if (index >= e->line->word_count) wrong(e, "a word is missing");
  return e->line->word[index];
}

static inline bool is_word(const Edit *e, int index, const char *text) {
  return index < e->line->word_count && strcmp(e->line->word[index], text) == 0;
}

static inline double number(const Edit *e, int index) {
  char *end = NULL;
  double value = strtod(word(e, index), &end);
  if (*end != '\0') wrong(e, "a number is meant to be here");
  return value;
}

/* The index of `text` among so many names; wrong when it is none. */
static inline uint32_t one_of(const Edit *e, const char *text, const char *const *names,
                              uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(names[i], text) == 0) return i;
  wrong(e, "no such name");
}

static inline const char *string(const Edit *e, uint32_t offset) {
  return e->b->strings + offset;
}

/* "= 3", "* 2", "+ 1" */
static inline double changed(const Edit *e, int index, double was) {
  double by = number(e, index + 1);
  switch (word(e, index)[0]) {
  case '=': return by;
  case '*': return was * by;
  case '+': return was + by;
  default: wrong(e, "=, * or + is meant to be here");
  }
}

static inline bool matches(const char *pattern, const char *text) {
  return fnmatch(pattern, text, 0) == 0;
}

/* Edits of tables other than calls and records: attack_tables.c. */
void change_divides(Edit *e);
void change_field(Edit *e);
void change_buffer(Edit *e);
void change_input(Edit *e);
void change_file(Edit *e);
void change_dim_of(Edit *e);
void change_node(Edit *e);
void change_parameter(Edit *e);
void change_setting(Edit *e);
void change_tensors(Edit *e);

#endif
