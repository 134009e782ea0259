#include "tests/parity/cover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/math/philox.h"

enum { TRIES = 200, CANDIDATES = 60, LINE_BYTES = 512, TUPLES_MAX = 1 << 13 };

#define COVER_F(id, name, levels) {name, levels},
static const struct { const char *name, *levels; } factors[FACTOR_COUNT] = {COVER_FACTORS(COVER_F)};
#undef COVER_F

/* ---- levels */

/* Word `level` of a factor; false: it has no more. */
static bool word_of(Factor factor, int32_t level, char word[COVER_WORD_BYTES]) {
  const char *at = factors[factor].levels;
  for (; level > 0 && at; level--) {
    at = strchr(at, ' ');
    if (at) at++;
  }
  if (!at) return false;
  (void)snprintf(word, COVER_WORD_BYTES, "%.*s", (int)strcspn(at, " "), at);
  return true;
}

static int32_t level_count(Factor factor) {
  char word[COVER_WORD_BYTES];
  int32_t count = 0;
  while (word_of(factor, count, word))
    count++;
  return count;
}

static int32_t level_find(Factor factor, const char *text, size_t length) {
  char word[COVER_WORD_BYTES];
  for (int32_t level = 0; word_of(factor, level, word); level++)
    if (strlen(word) == length && memcmp(word, text, length) == 0) return level;
  return -1;
}

static int32_t factor_find(const char *text, size_t length) {
  for (int32_t f = 0; f < FACTOR_COUNT; f++)
    if (strlen(factors[f].name) == length && memcmp(factors[f].name, text, length) == 0) return f;
  return -1;
}

bool case_is(const Case *c, Factor factor, const char *word) {
  return c->level[factor] == level_find(factor, word, strlen(word));
}

int64_t case_number(const Case *c, Factor factor) {
  char word[COVER_WORD_BYTES] = "";
  (void)word_of(factor, c->level[factor], word);
  return strtoll(word, NULL, 10);
}

int64_t case_ranks(const Case *c) {
  return case_number(c, FACTOR_DP) * case_number(c, FACTOR_TP) * case_number(c, FACTOR_PP) *
         (case_is(c, FACTOR_CP, "1") ? 1 : 2);
}

void case_print(const Case *c, char text[CASE_TEXT_BYTES]) {
  char word[COVER_WORD_BYTES];
  size_t used = 0;
  text[0] = '\0';
  for (int32_t f = 0; f < FACTOR_COUNT; f++) {
    if (c->level[f] == 0 && f != FACTOR_MODEL) continue;
    (void)word_of((Factor)f, c->level[f], word);
    int added = snprintf(text + used, CASE_TEXT_BYTES - used, "%s%s=%s", used > 0 ? " " : "",
                         factors[f].name, word);
    if (added > 0 && used + (size_t)added < CASE_TEXT_BYTES) used += (size_t)added;
  }
}

/* "name=a|b": the factor, and the first of its words. NULL: printed. */
static const char *parse_factor(const char *text, int32_t *factor) {
  const char *equals = strchr(text, '=');
  *factor = equals ? factor_find(text, (size_t)(equals - text)) : -1;
  if (*factor >= 0) return equals + 1;
  printf("no factor begins '%s'\n", text);
  return NULL;
}

bool case_parse(Case *c, const char *text) {
  *c = (Case){{0}};
  for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
    int32_t f;
    const char *word = parse_factor(text, &f);
    if (!word) return false;
    size_t length = strcspn(word, " ");
    int32_t level = level_find((Factor)f, word, length);
    if (level < 0) return printf("no level '%s'\n", word), false;
    c->level[f] = (int8_t)level;
    text = word + length;
  }
  return true;
}

/* ---- rules */

static bool add_rule(Cover *cover, const Rule *rule) {
  Rule *rules = realloc(cover->rules, (size_t)(cover->rule_count + 1) * sizeof *rules);
  if (!rules) abort();
  rules[cover->rule_count++] = *rule;
  cover->rules = rules;
  return true;
}

/* "pp=1 pipeline=gpipe|1f1b : conflict": a rule for every choice among the words. */
static bool parse_rules(Cover *cover, Rule rule, const char *text) {
  text += strspn(text, " ");
  if (*text == ':')
    return sscanf(text, ": %31s", rule.error) == 1 && rule.count > 0 && add_rule(cover, &rule);
  int32_t f;
  const char *word = parse_factor(text, &f);
  if (!word || rule.count == TUPLE_MAX) return false;
  const char *rest = word + strcspn(word, " \n");
  int32_t number = rule.count++;
  for (bool more = true; more;) {
    size_t length = strcspn(word, "| \n");
    int32_t level = level_find((Factor)f, word, length);
    if (level < 0) return printf("no level '%s'\n", word), false;
    rule.factor[number] = (Factor)f;
    rule.level[number] = (int8_t)level;
    if (!parse_rules(cover, rule, rest)) return false;
    more = word[length] == '|';
    word += length + 1;
  }
  return true;
}

bool cover_open(Cover *cover, const char *path, int64_t ranks_max, uint64_t seed) {
  *cover = (Cover){.ranks_max = ranks_max, .random = seed};
  FILE *file = fopen(path, "r");
  if (!file) return printf("%s: cannot be read\n", path), false;
  char line[LINE_BYTES];
  bool good = true;
  for (int32_t number = 1; good && fgets(line, sizeof line, file); number++) {
    if (line[0] == '#' || line[0] == '\n') continue;
    good = parse_rules(cover, (Rule){.line = number}, line);
    if (!good) printf("%s:%d: not a rule\n", path, number);
  }
  fclose(file);
  return good;
}

void cover_close(Cover *cover) {
  free(cover->rules);
  *cover = (Cover){0};
}

static bool breaks(const Case *c, const Rule *rule) {
  for (int32_t i = 0; i < rule->count; i++)
    if (c->level[rule->factor[i]] != rule->level[i]) return false;
  return true;
}

/* True if the options decided so far break no rule. */
static bool is_allowed(const Cover *cover, const Case *c, const Rule *broken) {
  static const Factor degrees[] = {FACTOR_DP, FACTOR_TP, FACTOR_PP, FACTOR_CP};
  bool has_degrees = true;
  for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
    has_degrees &= c->level[degrees[i]] >= 0;
  if (has_degrees && case_ranks(c) > cover->ranks_max) return false;
  for (int32_t i = 0; i < cover->rule_count; i++)
    if (&cover->rules[i] != broken && breaks(c, &cover->rules[i])) return false;
  return true;
}

/* ---- cases */

static int32_t draw(Cover *cover, int32_t below) {
  cover->random = philox_splitmix(cover->random);
  return (int32_t)((cover->random >> 33) % (uint64_t)below);
}

static const Case undecided = {{[0 ... FACTOR_COUNT - 1] = -1}};

/* Factors in a random order, each at a random level that is allowed beside those before. */
static bool try_complete(Cover *cover, Case *c, const Rule *broken) {
  int32_t order[FACTOR_COUNT];
  for (int32_t i = 0; i < FACTOR_COUNT; i++) {
    int32_t k = draw(cover, i + 1);
    order[i] = order[k];
    order[k] = i;
  }
  if (!is_allowed(cover, c, broken)) return false;
  for (int32_t i = 0; i < FACTOR_COUNT; i++) {
    int32_t f = order[i], count = level_count((Factor)f);
    if (c->level[f] >= 0) continue;
    int32_t first = draw(cover, count), k = 0;
    for (; k < count; k++) {
      c->level[f] = (int8_t)((first + k) % count);
      if (is_allowed(cover, c, broken)) break;
    }
    if (k == count) return false;
  }
  return true;
}

bool cover_complete(Cover *cover, Case *c, const Rule *broken) {
  Case from = *c;
  for (int32_t i = 0; broken && i < broken->count; i++)
    from.level[broken->factor[i]] = broken->level[i];
  for (int32_t i = 0; i < TRIES; i++) {
    *c = from;
    if (try_complete(cover, c, broken)) return true;
  }
  return false;
}

/* ---- tuples */

typedef struct Tuple {
  int8_t factor[2], level[2]; /* of one level, both are the same */
} Tuple;

static bool has_tuple(const Case *c, const Tuple *tuple) {
  return c->level[tuple->factor[0]] == tuple->level[0] &&
         c->level[tuple->factor[1]] == tuple->level[1];
}

static Case case_of(const Tuple *tuple) {
  Case c = undecided;
  for (int32_t i = 0; i < 2; i++)
    c.level[tuple->factor[i]] = tuple->level[i];
  return c;
}

static void add_tuples(Cover *cover, Factor f, Factor g, Tuple *tuples, int32_t *count) {
  for (int32_t i = 0; i < level_count(f); i++)
    for (int32_t k = f == g ? i : 0; k < (f == g ? i + 1 : level_count(g)); k++) {
      Tuple tuple = {{(int8_t)f, (int8_t)g}, {(int8_t)i, (int8_t)k}};
      Case c = case_of(&tuple);
      if (*count < TUPLES_MAX && cover_complete(cover, &c, NULL)) tuples[(*count)++] = tuple;
    }
}

static int32_t count_new(const Case *c, const Tuple *tuples, int32_t count) {
  int32_t found = 0;
  for (int32_t i = 0; i < count; i++)
    found += has_tuple(c, &tuples[i]);
  return found;
}

/* The candidate with the most tuples that none has yet; of equals the one with fewer ranks. */
static Case choose(Cover *cover, const Tuple *tuples, int32_t count) {
  Case best = undecided;
  int32_t most = 0;
  for (int32_t i = 0; i < CANDIDATES; i++) {
    Case c = case_of(&tuples[draw(cover, count)]);
    if (!cover_complete(cover, &c, NULL)) continue;
    int32_t found = count_new(&c, tuples, count);
    if (found < most || (found == most && case_ranks(&c) >= case_ranks(&best))) continue;
    best = c;
    most = found;
  }
  return best;
}

int32_t cover_make(Cover *cover, int32_t strength, Case *cases, int32_t count_max) {
  static Tuple tuples[TUPLES_MAX];
  int32_t count = 0, made = 0;
  for (int32_t f = 0; f < FACTOR_COUNT; f++)
    for (int32_t g = f; g < FACTOR_COUNT; g++)
      if ((strength == 1) == (f == g)) add_tuples(cover, (Factor)f, (Factor)g, tuples, &count);
  while (count > 0 && made < count_max) {
    Case c = choose(cover, tuples, count);
    int32_t left = 0;
    for (int32_t i = 0; i < count; i++)
      if (!has_tuple(&c, &tuples[i])) tuples[left++] = tuples[i];
    count = left;
    cases[made++] = c;
  }
  return made;
}

Case cover_triple(Cover *cover) {
  for (;;) {
    Case c = undecided;
    for (int32_t i = 0; i < 3; i++) {
      Factor f = (Factor)draw(cover, FACTOR_COUNT);
      c.level[f] = (int8_t)draw(cover, level_count(f));
    }
    if (cover_complete(cover, &c, NULL)) return c;
  }
}
