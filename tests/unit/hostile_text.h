/* hostile_text.h -- texts that a shell, or sbatch, would take for more than text. */
#ifndef LOCKSTEP_TESTS_HOSTILE_TEXT_H
#define LOCKSTEP_TESTS_HOSTILE_TEXT_H

#include <string.h>

#include "compiler/base/base.h"

/* Pieces that a shell, or sbatch, would take for more than text. */
static const char *const hostile_pieces[] = {"'",
                                             "\"",
                                             "\\",
                                             "$(touch pwned)",
                                             "`touch pwned`",
                                             ";touch pwned;",
                                             "|touch pwned|",
                                             "#",
                                             "# ",
                                             " ",
                                             "$HOME",
                                             "${x:-a}",
                                             "!!",
                                             "*",
                                             "~",
                                             "&",
                                             "(",
                                             ")",
                                             "[",
                                             "<pwned",
                                             ">pwned",
                                             "{a,b}",
                                             "%",
                                             "=",
                                             ",",
                                             "a",
                                             "-",
                                             "--wrap=x",
                                             "\\\\",
                                             "'\\''",
                                             "\xc3\xa9",
                                             "hetjob",
                                             ":",
                                             "\t",
                                             "\\ ",
                                             "$'\\n'"};

static uint64_t hostile_seed = 1;

static inline uint32_t hostile_number(uint32_t below) {
  hostile_seed = hostile_seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(hostile_seed >> 33) % below;
}

static inline const char *hostile_text(Arena *arena) {
  const char *text = "";
  for (uint32_t count = hostile_number(6); count > 0; count--)
    text = arena_printf(
        arena, "%s%s", text,
        hostile_pieces[hostile_number(sizeof hostile_pieces / sizeof *hostile_pieces)]);
  return text;
}

/* As sbatch takes one argument from a line: quotes group, a backslash takes the next byte as it is,
 * an unquoted # ends the line. Written from its description in sbatch(1) and checked against sbatch
 * itself by tests/slurm/cluster. */
static inline const char *sbatch_argument(Arena *arena, const char *line) {
  char *out = arena_alloc(arena, strlen(line) + 1), *end = out, quote = 0;
  for (; *line && (quote || (*line != ' ' && *line != '\t')); line++) {
    if (*line == '\\' && line[1])
      *end++ = *++line;
    else if (quote && *line == quote)
      quote = 0;
    else if (!quote && (*line == '"' || *line == '\''))
      quote = *line;
    else if (!quote && *line == '#')
      break;
    else
      *end++ = *line;
  }
  return out;
}

#endif
