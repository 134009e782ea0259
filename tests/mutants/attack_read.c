#include <stdlib.h>
#include <string.h>

#include "tests/mutants/attack.h"

void attack_wrong(const Attack *attack, int line, const char *what) {
  printf("%s:%d: %s\n", attack->path, line, what);
  exit(1);
}

/* Cut off *rest. NULL: it was the end. */
static char *next_line(char **rest) {
  char *line = *rest;
  if (*line == '\0') return NULL;
  char *end = line + strcspn(line, "\n");
  *rest = *end == '\0' ? end : end + 1;
  *end = '\0';
  return line + strspn(line, " ");
}

/* The word at *at, with or without quotes. NULL: the line is over. */
static char *next_word(char **at) {
  char *word = *at + strspn(*at, " ");
  if (*word == '\0' || *word == '#') return NULL;
  bool quoted = *word == '"';
  word += quoted;
  char *end = word + strcspn(word, quoted ? "\"" : " ");
  *at = *end == '\0' ? end : end + 1;
  *end = '\0';
  return word;
}

static AttackLine split(const Attack *attack, char *text, int number) {
  AttackLine line = {.number = number};
  for (char *word; (word = next_word(&text)) != NULL;) {
    if (line.word_count == ATTACK_WORDS_MAX) attack_wrong(attack, number, "too many words");
    line.word[line.word_count++] = word;
  }
  return line;
}

static void take_line(Attack *attack, AttackLine line) {
  const char *what = line.word[0];
  if (strcmp(what, "on") == 0 && line.word_count == 2) {
    const Strategy *strategy = strategy_find(line.word[1]);
    if (strategy == NULL) attack_wrong(attack, line.number, "no such strategy");
    attack->job = *strategy;
  } else if (strcmp(what, "job") == 0 && line.word_count == 5) {
    attack->job = (Strategy){"job", line.word[1], atoi(line.word[2]), line.word[3], line.word[4]};
  } else if (strcmp(what, STRATEGY_SAMPLE) == 0 && line.word_count == 4) {
    attack->job =
        (Strategy){STRATEGY_SAMPLE, line.word[1], atoi(line.word[2]), line.word[3], "train = {}, "};
  } else if (strcmp(what, "says") == 0 && line.word_count == 2) {
    if (attack->says_count == ATTACK_LINES_MAX) attack_wrong(attack, line.number, "too long");
    attack->says[attack->says_count++] = line.word[1];
  } else if (strcmp(what, "named") == 0) {
    attack->named_count = line.word_count - 1;
    memcpy(attack->named, line.word + 1, sizeof *line.word * (size_t)attack->named_count);
  } else {
    if (attack->line_count == ATTACK_LINES_MAX) attack_wrong(attack, line.number, "too many lines");
    attack->line[attack->line_count++] = line;
  }
}

static bool begins(const char *line) {
  return strncmp(line, "attack ", 7) == 0;
}

static bool another_begins(const char *rest) {
  return begins(rest + strspn(rest, " "));
}

bool attack_read(const char *path, char **rest, int *line, Attack *attack) {
  *attack = (Attack){.path = path};
  char *text = NULL;
  while ((text = next_line(rest)) != NULL && ++*line > 0 && !begins(text))
    if (*text != '\0' && *text != '#') attack_wrong(attack, *line, "is outside of any attack");
  if (text == NULL) return false;
  attack->title = text + 7;
  int first = *line;
  while (!another_begins(*rest) && (text = next_line(rest)) != NULL) {
    AttackLine words = split(attack, text, ++*line);
    if (words.word_count > 0) take_line(attack, words);
  }
  if (attack->job.name == NULL || attack->line_count == 0 || attack->named_count == 0)
    attack_wrong(attack, first, "wants a job, changes and what is named");
  return true;
}
