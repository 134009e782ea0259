/* words.h -- names of other tools, and their counterparts here: one table, a file a
 * tool in the folder words/. Wrong keys of job.lua, `lockstep help` and `lockstep import` are
 * answered from it.
 *
 * In each row `names` are one or more names, separated by blanks; a nested key is written with
 * dots.
 *
 * RENAMED(names, ours, note, value)  ours: "section.key" or a section; note: how the value changes,
 * or ""; value: a value that it takes, in which N is the old number; "": the old value WORD(where,
 * names, ours)           values that the section or key `where` has under another name
 * BECAUSE(where, names, ours, why)   any.def: the same, and why the word is none here
 * SETTING(names, what)               variables that a job sets in slurm.env
 * INSTEAD(names, command, what)      what a command of lockstep does
 * DERIVED(names, why)                it follows from something else
 * DECLINED(names, why)               it will not exist
 * IMPOSSIBLE(names, why)             nothing here computes the same
 * UNBUILT(names, what, instead)      a feature that is not built and has no key yet
 * INTERNAL(names)                    of that tool's own code
 * LATER(section, key, instead)       any.def: a key of ours whose feature is not built
 * LATER_SECTION(section, instead)
 *
 * A row of RENAMED whose key fields.def lacks is answered by the LATER of that key: it comes alive
 * with the key. */
#ifndef LOCKSTEP_WORDS_H
#define LOCKSTEP_WORDS_H

#include "compiler/base/base.h"

typedef enum WordAnswer {
  WORD_RENAMED,
  WORD_VALUE,
  WORD_SETTING,
  WORD_INSTEAD,
  WORD_DERIVED,
  WORD_DECLINED,
  WORD_IMPOSSIBLE,
  WORD_UNBUILT,
  WORD_INTERNAL
} WordAnswer;

typedef struct WordRow {
  int32_t tool;
  WordAnswer answer;
  const char *prefix, *names; /* each name after the prefix */
  const char *ours, *note, *value;
} WordRow;

/* A tool: the word for --as and --words, its title, what its names are. */
typedef struct WordTool {
  const char *id, *title, *kind;
} WordTool;
extern const WordTool word_tools[];
int32_t word_tool_count(void);
int32_t word_tool_find(const char *id); /* by id or title, any case; -1: none */

int32_t word_row_count(void);
const WordRow *word_row(int32_t index);

/* The match between a row's name and the word that was asked for, the best first. */
typedef enum WordFit { FIT_SAME, FIT_INNER, FIT_OUTER, FIT_NONE } WordFit;

typedef struct WordHit {
  const WordRow *row;
  const char *name; /* as the row has it */
  WordFit fit;
  int32_t distance; /* words_near: letters that differ */
} WordHit;
typedef struct WordHits {
  VEC(WordHit)
  list;
} WordHits;

/* Every row that has this name, however it is spelled: any case, - or _, --flag=value, a path with
 * dots of which the row has the end, or the other way round, and the prefixes of Accelerate's
 * files. tool -1: of every tool. At most one hit a row; hits that fit less well than the best one
 * are left out. */
WordHits words_find(Arena *arena, int32_t tool, const char *spelled);

/* Up to `most` names of a tool, or with -1 of all, that are a few letters away, the nearest first.
 */
WordHits words_near(Arena *arena, int32_t tool, const char *spelled, int32_t most);

/* Advice in place of a row's key that is not built; NULL: it is built. */
const char *word_later(Arena *arena, const WordRow *row);

const char *word_kind(const WordHit *hit); /* "key", "value", "variable", "class or function" */
const char *word_status(Arena *arena, const WordRow *row);      /* "used", "derived", ... */
const char *word_says(Arena *arena, const WordRow *row);        /* one sentence */
const char *word_line(Arena *arena, const WordRow *row);        /* a line to paste, or NULL */
const char *word_plain_name(Arena *arena, const char *spelled); /* "--a-b=3" -> "a-b" */
bool word_is_same(const char *a, const char *b);                /* but for case, - and _ */

/* Advice until a key is built, by any.def; NULL: it is not declared as later. key "": a
 * section. */
const char *later_instead(const char *section, const char *key);

/* A value that the key of a path takes, in which `form` may have an N for a number. NULL: only the
 * user knows one. */
const char *field_sample(Arena *arena, const char *path, const char *form);

#endif
