/* environment.c -- see environment.h, and environment.def for the names. */
#include "slurm/environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum Reads {
  READS_NUMBER,
  READS_TEXT,
  READS_WORD,
  READS_CAPITAL,
  READS_OTHER,
  READS_PLANNED,
  READS_OWN
} Reads;

typedef struct VariableRow {
  Reads reads;
  const char *prefix, *names; /* separated by blanks, each to be put after the prefix */
  const char *more;           /* words, or what to say */
} VariableRow;

#define NUMBERS(prefix, names) {READS_NUMBER, prefix, names, NULL},
#define TEXTS(prefix, names)   {READS_TEXT, prefix, names, NULL},
#define WORDS(name, words)     {READS_WORD, "", name, words},
#define CAPITALS(name, words)  {READS_CAPITAL, "", name, words},
#define OTHERS(name, what)     {READS_OTHER, "", name, what},
#define PLANNED(names, what)   {READS_PLANNED, "", names, what},
#define OWN(names)             {READS_OWN, "", names, NULL},
static const VariableRow rows[] = {
#include "compiler/job/hints/environment.def"
};

enum { ROWS = sizeof rows / sizeof *rows };

/* ---- the table */

/* The next of words that blanks separate, in `*list`; NULL: there is none. */
static const char *next_word(Arena *arena, const char **list) {
  *list += strspn(*list, " ");
  size_t width = strcspn(*list, " ");
  const char *word = width > 0 ? arena_copy_n(arena, *list, width) : NULL;
  *list += width;
  return word;
}

static bool is_listed(Arena *arena, const char *list, const char *word) {
  for (const char *p = list, *one; (one = next_word(arena, &p)) != NULL;)
    if (strcmp(one, word) == 0) return true;
  return false;
}

static const VariableRow *find(Arena *arena, const char *name) {
  for (int32_t i = 0; i < ROWS; i++) {
    size_t width = strlen(rows[i].prefix);
    if (strncmp(name, rows[i].prefix, width) == 0 && is_listed(arena, rows[i].names, name + width))
      return &rows[i];
  }
  return NULL;
}

static TextList known_names(Arena *arena) {
  TextList known = {0};
  for (int32_t i = 0; i < ROWS; i++)
    for (const char *p = rows[i].names, *one; (one = next_word(arena, &p)) != NULL;)
      if (rows[i].reads <= READS_CAPITAL)
        VEC_PUSH(arena, &known, arena_printf(arena, "%s%s", rows[i].prefix, one));
  return known;
}

/* ---- names */

static bool begins_with(const char *text, const char *begin) {
  return strncmp(text, begin, strlen(begin)) == 0;
}

/* Variables of the script begin with a small letter. So do http_proxy and its like, which are not
 * the script's. */
static bool is_of_script(const char *name) {
  size_t length = strlen(name), width = strlen("_proxy");
  bool is_proxy = length > width && strcmp(name + length - width, "_proxy") == 0;
  return *name >= 'a' && *name <= 'z' && !is_proxy;
}

/* For these libraries every name should be in the table. */
static const struct {
  const char *prefix, *name;
  bool is_silent; /* about names that it does not know */
} libraries[] = {{"NCCL_", "NCCL", true},
                 {"LOCKSTEP_", "Lockstep", true},
                 {"FI_", "libfabric", true},
                 {"UCX_", "UCX", false}};

static void warn_unknown(Compile *c, const Pair *pair) {
  size_t i = 0, count = sizeof libraries / sizeof *libraries;
  while (i < count && !begins_with(pair->name, libraries[i].prefix))
    i++;
  if (i == count) return; /* of the job's own programs */
  TextList known = known_names(c->arena);
  const char *near = nearest_word(pair->name, known.at, known.count);
  lint_at(c, pair->origin.span, "slurm-env", "slurm.env: %s has no %s that is known here%s%s%s",
          libraries[i].name, pair->name,
          near                     ? "; did you mean "
          : libraries[i].is_silent ? "; it would say nothing of it"
                                   : "",
          near ? near : "", near ? "?" : "");
}

/* ---- values */

static const char *in_capitals(Arena *arena, const char *text) {
  char *capitals = arena_copy(arena, text);
  for (char *p = capitals; *p; p++)
    *p = (char)toupper((unsigned char)*p);
  return capitals;
}

static bool is_whole_number(const char *text) {
  char *end;
  errno = 0;
  (void)strtoll(text, &end, 0);
  return end != text && *end == 0 && errno == 0;
}

static void check_value(Compile *c, const Pair *pair, const VariableRow *row) {
  const char *text = pair->text ? pair->text : "", *plain = text_plain(c->arena, text);
  bool is_word = row->reads == READS_WORD || row->reads == READS_CAPITAL;
  if (row->reads == READS_CAPITAL) text = in_capitals(c->arena, text);
  if (row->reads == READS_NUMBER && !is_whole_number(text)) {
    error_at(c, pair->origin.span, "slurm-env",
             "slurm.env: NCCL reads %s as a whole number; got \"%s\"", pair->name, plain);
  } else if (is_word && !is_listed(c->arena, row->more, text)) {
    error_at(c, pair->origin.span, "slurm-env", "slurm.env: %s is one of %s; got \"%s\"",
             pair->name, row->more, plain);
  } else if (row->reads == READS_PLANNED) {
    error_at(c, pair->origin.span, "slurm-env", "slurm.env: %s would contradict the plan: %s",
             pair->name, row->more);
    fix_last(c, "remove %s", pair->name);
  } else if (row->reads == READS_OTHER) {
    lint_at(c, pair->origin.span, "slurm-env", "slurm.env: %s is %s", pair->name, row->more);
  }
}

static void check_pair(Compile *c, const Pair *pair) {
  const VariableRow *row = find(c->arena, pair->name);
  bool is_own = is_of_script(pair->name) || (row && row->reads == READS_OWN);
  if (is_own && !pair->is_off)
    error_at(
        c, pair->origin.span, "slurm-env",
        "slurm.env: the script needs %s for itself; slurm.wrap = { \"env\", \"%s=...\" } sets it "
        "for the ranks",
        pair->name, pair->name);
  else if (row && !pair->is_off)
    check_value(c, pair, row);
  else if (!row && !is_own)
    warn_unknown(c, pair);
}

static bool is_network(const Job *job, uint32_t networks) {
  return job->set[FIELD_cluster_network] && (networks >> job->cluster.network & 1) != 0;
}

/* NCCL chooses these by size and topology; a forced choice holds for every collective. */
static void warn_forced(Compile *c, const Job *job, const Pair *pair) {
  enum { ALWAYS = 1, IF_SET, IF_ZERO, IF_SOCKET };
  const uint32_t infiniband = 1u << CHOICE_INFINIBAND;
  const uint32_t fabrics = infiniband | 1u << CHOICE_EFA | 1u << CHOICE_SLINGSHOT;
  const struct {
    const char *lint, *name;
    int32_t when;
    uint32_t networks; /* bits of cluster.network; 0: all */
    const char *lost;
  } forced[] = {
      {"nccl-forced", "NCCL_ALGO", ALWAYS, 0, "one algorithm for all sizes"},
      {"nccl-forced", "NCCL_PROTO", ALWAYS, 0, "one protocol for all sizes"},
      {"nccl-forced", "NCCL_P2P_DISABLE", IF_SET, 0,
       "GPUs of a node no longer use NVLink or PCIe directly"},
      {"nccl-forced", "NCCL_SHM_DISABLE", IF_SET, 0, "GPUs of a node no longer use shared memory"},
      {"nccl-forced", "NCCL_NVLS_ENABLE", IF_ZERO, 0, "NVSwitch no longer adds up"},
      {"nccl-ib-disable", "NCCL_IB_DISABLE", IF_SET, infiniband,
       "nodes exchange over TCP, not over InfiniBand"},
      {"nccl-ib-disable", "NCCL_NET", IF_SOCKET, fabrics,
       "nodes exchange over TCP, not over the fabric of cluster.network"},
  };
  if (pair->is_off || !pair->text) return;
  const long long number = strtoll(pair->text, NULL, 0);
  for (size_t i = 0; i < sizeof forced / sizeof *forced; i++) {
    const bool holds[] = {[ALWAYS] = true,
                          [IF_SET] = number != 0,
                          [IF_ZERO] = is_whole_number(pair->text) && number == 0,
                          [IF_SOCKET] = strcasecmp(pair->text, "Socket") == 0};
    if (strcmp(pair->name, forced[i].name) != 0 || !holds[forced[i].when]) continue;
    if (forced[i].networks != 0 && !is_network(job, forced[i].networks)) continue;
    lint_at(c, pair->origin.span, forced[i].lint, "slurm.env: %s = %s: %s", pair->name,
            text_plain(c->arena, pair->text), forced[i].lost);
    fix_last(c, "remove %s", pair->name);
  }
}

void environment_check(Compile *c, const Job *job) {
  for (int32_t i = 0; i < job->slurm.env.count; i++)
    warn_forced(c, job, &job->slurm.env.at[i]);
  for (int32_t i = 0; i < job->slurm.env.count; i++)
    check_pair(c, &job->slurm.env.at[i]);
}
