/* words.c -- see words.h: the table, the search for a name, the text of an answer. */
#include "compiler/job/hints/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/job/job_room.h"

enum {
  TOOL_any,
  TOOL_deepspeed,
  TOOL_accelerate,
  TOOL_trainer,
  TOOL_megatron,
  TOOL_torchtitan,
  TOOL_torch,
  TOOL_torch_calls,
  TOOL_nanogpt,
  TOOL_llmc,
  TOOL_variables,
  TOOL_launch,
  TOOL_huggingface,
  TOOL_systems,
  TOOL_frameworks,
  TOOL_nccl,
  TOOLS
};

const WordTool word_tools[] = {
    [TOOL_any] = {"any", "other tools", "key"},
    [TOOL_deepspeed] = {"deepspeed", "DeepSpeed", "key"},
    [TOOL_accelerate] = {"accelerate", "Accelerate", "key"},
    [TOOL_trainer] = {"trainer", "Hugging Face Trainer", "key"},
    [TOOL_megatron] = {"megatron", "Megatron-LM", "option"},
    [TOOL_torchtitan] = {"torchtitan", "torchtitan", "key"},
    [TOOL_torch] = {"torch", "PyTorch", "argument"},
    [TOOL_torch_calls] = {"calls", "PyTorch and its libraries", "class or function"},
    [TOOL_nanogpt] = {"nanogpt", "nanoGPT", "variable"},
    [TOOL_llmc] = {"llmc", "llm.c", "option"},
    [TOOL_variables] = {"variables", "the environment", "variable"},
    [TOOL_launch] = {"launch", "launchers and monitors", "program"},
    [TOOL_huggingface] = {"huggingface", "Hugging Face", "word"},
    [TOOL_systems] = {"systems", "papers and systems", "name"},
    [TOOL_frameworks] = {"frameworks", "other frameworks", "name"},
    [TOOL_nccl] = {"nccl", "NCCL, libfabric and UCX", "variable"},
};

#define ROW(answer, names, ours, note, value) {TOOL, answer, "", names, ours, note, value},
#define RENAMED(names, ours, note, value)     ROW(WORD_RENAMED, names, ours, note, value)
#define WORD(where, names, ours)              ROW(WORD_VALUE, names, where, "", ours)
#define BECAUSE(where, names, ours, why)      ROW(WORD_VALUE, names, where, why, ours)
#define SETTING(names, what)                  ROW(WORD_SETTING, names, "", what, "")
#define INSTEAD(names, command, what)         ROW(WORD_INSTEAD, names, command, what, "")
#define DERIVED(names, why)                   ROW(WORD_DERIVED, names, "", why, "")
#define DECLINED(names, why)                  ROW(WORD_DECLINED, names, "", why, "")
#define IMPOSSIBLE(names, why)                ROW(WORD_IMPOSSIBLE, names, "", why, "")
#define UNBUILT(names, what, instead)         ROW(WORD_UNBUILT, names, "", what, instead)
#define INTERNAL(names)                       ROW(WORD_INTERNAL, names, "", "it is a setting of that tool's own code", "")
#define LATER(section, key, instead)
#define LATER_SECTION(section, instead)
#define VARIABLE(prefix, names, what) {TOOL, WORD_SETTING, prefix, names, "", what, ""},
#define NUMBERS(prefix, names)        VARIABLE(prefix, names, "it is read as a whole number")
#define TEXTS(prefix, names)          VARIABLE(prefix, names, "it is read as text")
#define WORDS(name, words)            VARIABLE("", name, "it is one of " words)
#define CAPITALS(name, words)         VARIABLE("", name, "it is one of " words)
#define OTHERS(name, what)            ROW(WORD_DECLINED, name, "", "it is " what, "")
#define PLANNED(names, what)          ROW(WORD_DERIVED, names, "", what, "")
#define OWN(names)                    ROW(WORD_DERIVED, names, "", "the script or Slurm sets it", "")
static const WordRow rows[] = {
#define TOOL TOOL_any
#include "compiler/job/hints/words/any.def"
#undef TOOL
#define TOOL TOOL_deepspeed
#include "compiler/job/hints/words/deepspeed.def"
#undef TOOL
#define TOOL TOOL_accelerate
#include "compiler/job/hints/words/accelerate.def"
#undef TOOL
#define TOOL TOOL_trainer
#include "compiler/job/hints/words/trainer.def"
#undef TOOL
#define TOOL TOOL_megatron
#include "compiler/job/hints/words/megatron.def"
#undef TOOL
#define TOOL TOOL_torchtitan
#include "compiler/job/hints/words/torchtitan.def"
#undef TOOL
#define TOOL TOOL_torch
#include "compiler/job/hints/words/torch.def"
#undef TOOL
#define TOOL TOOL_torch_calls
#include "compiler/job/hints/words/torch_calls.def"
#undef TOOL
#define TOOL TOOL_nanogpt
#include "compiler/job/hints/words/nanogpt.def"
#undef TOOL
#define TOOL TOOL_llmc
#include "compiler/job/hints/words/llmc.def"
#undef TOOL
#define TOOL TOOL_variables
#include "compiler/job/hints/words/variables.def"
#undef TOOL
#define TOOL TOOL_launch
#include "compiler/job/hints/words/launch.def"
#undef TOOL
#define TOOL TOOL_huggingface
#include "compiler/job/hints/words/huggingface.def"
#undef TOOL
#define TOOL TOOL_systems
#include "compiler/job/hints/words/systems.def"
#undef TOOL
#define TOOL TOOL_frameworks
#include "compiler/job/hints/words/frameworks.def"
#undef TOOL
#define TOOL TOOL_nccl
#include "compiler/job/hints/environment.def"
#undef TOOL
};
#undef RENAMED
#undef WORD
#undef BECAUSE
#undef SETTING
#undef DECLINED
#undef LATER
#undef LATER_SECTION

typedef struct Later {
  const char *section, *key, *instead;
} Later;
#define RENAMED(names, ours, note, value)
#define WORD(where, names, ours)
#define BECAUSE(where, names, ours, why)
#define SETTING(names, what)
#define DECLINED(names, why)
#define LATER(section, key, instead)    {#section, #key, instead},
#define LATER_SECTION(section, instead) {#section, "", instead},
static const Later laters[] = {
#include "compiler/job/hints/words/any.def"
};

#define COUNT_OF(array) (int32_t)(sizeof(array) / sizeof *(array))

int32_t word_tool_count(void) {
  return TOOLS;
}

int32_t word_tool_find(const char *id) {
  for (int32_t i = 0; i < TOOLS; i++)
    if (strcasecmp(word_tools[i].id, id) == 0 || strcasecmp(word_tools[i].title, id) == 0) return i;
  return -1;
}

int32_t word_row_count(void) {
  return COUNT_OF(rows);
}

const WordRow *word_row(int32_t index) {
  return &rows[index];
}

const char *later_instead(const char *section, const char *key) {
  for (int32_t i = 0; i < COUNT_OF(laters); i++)
    if (strcmp(laters[i].section, section) == 0 && strcmp(laters[i].key, key) == 0)
      return laters[i].instead;
  return NULL;
}

/* ---- spelling */

static const char *skip_joins(const char *at, const char *end) {
  while (at < end && (*at == '_' || *at == '-'))
    at++;
  return at;
}

static bool is_same_part(const char *a, const char *a_end, const char *b, const char *b_end) {
  for (;;) {
    a = skip_joins(a, a_end);
    b = skip_joins(b, b_end);
    if (a == a_end || b == b_end) return a == a_end && b == b_end;
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
    a++;
    b++;
  }
}

bool word_is_same(const char *a, const char *b) {
  return is_same_part(a, a + strlen(a), b, b + strlen(b));
}

const char *word_plain_name(Arena *arena, const char *spelled) {
  const char *at = spelled + strspn(spelled, " ");
  if (strncmp(at, "--", 2) == 0) at += 2;
  const char *end = at + strcspn(at, "=(");
  while (end > at && strchr(" :,", end[-1]))
    end--;
  return arena_copy_n(arena, at, (size_t)(end - at));
}

/* ---- finding */

typedef struct NameList {
  const char *at;
} NameList;

/* The next name of a row, [*name, *end). */
static bool next_name(NameList *list, const char **name, const char **end) {
  list->at += strspn(list->at, " ");
  *name = list->at;
  *end = *name + strcspn(*name, " ");
  list->at = *end;
  return *end > *name;
}

/* "a.b.c" -> "b.c", then "c", then NULL. */
static const char *inner_part(const char *at, const char *end) {
  const char *dot = memchr(at, '.', (size_t)(end - at));
  return dot ? dot + 1 : NULL;
}

static WordFit fit_of(const char *name, const char *name_end, const char *asked) {
  const char *end = asked + strlen(asked);
  if (is_same_part(name, name_end, asked, end)) return FIT_SAME;
  for (const char *p = inner_part(asked, end); p; p = inner_part(p, end))
    if (is_same_part(name, name_end, p, end)) return FIT_INNER;
  for (const char *p = inner_part(name, name_end); p; p = inner_part(p, name_end))
    if (is_same_part(p, name_end, asked, end)) return FIT_OUTER;
  return FIT_NONE;
}

static WordFit fit_row(Arena *arena, const WordRow *row, const char *asked, const char **name) {
  size_t width = strlen(row->prefix);
  if (width > 0 && strncasecmp(asked, row->prefix, width) != 0) return FIT_NONE;
  WordFit best = FIT_NONE;
  NameList list = {row->names};
  for (const char *at, *end; next_name(&list, &at, &end);) {
    WordFit fit = fit_of(at, end, asked + width);
    if (fit >= best) continue;
    best = fit;
    *name = arena_printf(arena, "%s%.*s", row->prefix, (int)(end - at), at);
  }
  return best;
}

static void find_plain(Arena *arena, int32_t tool, const char *asked, WordHits *hits) {
  WordFit best = FIT_NONE;
  for (int32_t i = 0; i < COUNT_OF(rows); i++) {
    const char *name = NULL;
    if (tool >= 0 && rows[i].tool != tool) continue;
    WordFit fit = fit_row(arena, &rows[i], asked, &name);
    if (fit == FIT_NONE) continue;
    if (fit < best) best = fit;
    VEC_PUSH(arena, &hits->list, (WordHit){&rows[i], name, fit, 0});
  }
  int32_t kept = 0;
  bool has_variable = false; /* words/variables.def says more than environment.def */
  for (int32_t i = 0; i < hits->list.count; i++) {
    const WordHit *hit = &hits->list.at[i];
    has_variable |= hit->row->tool == TOOL_variables;
    bool is_kept = hit->fit == best && !(hit->row->tool == TOOL_nccl && has_variable);
    if (is_kept) hits->list.at[kept++] = *hit;
  }
  hits->list.count = kept;
}

WordHits words_find(Arena *arena, int32_t tool, const char *spelled) {
  static const char *const prefixes[] = {"fsdp_",
                                         "fsdp_config.",
                                         "megatron_lm_",
                                         "deepspeed_",
                                         "parallelism_config_",
                                         "ddp_",
                                         "zero_optimization.stage3_",
                                         "stage3_",
                                         "no-"};
  WordHits hits = {0};
  const char *asked = word_plain_name(arena, spelled);
  if (*asked) find_plain(arena, tool, asked, &hits);
  for (size_t i = 0; hits.list.count == 0 && i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t width = strlen(prefixes[i]);
    bool has_more = strncasecmp(asked, prefixes[i], width) == 0 && asked[width];
    if (has_more) find_plain(arena, tool, asked + width, &hits);
  }
  return hits;
}

/* ---- the nearest */

enum { NAME_MOST = 64 };

static uint32_t letter_set(const char *text, size_t count) {
  uint32_t set = 0;
  for (size_t i = 0; i < count; i++)
    set |= 1u << ((unsigned char)text[i] & 31);
  return set;
}

/* Letters to insert, leave out, change or swap; limit + 1 when there are more. */
static int32_t letters_apart(const char *a, size_t a_count, const char *b, size_t b_count,
                             int32_t limit) {
  int32_t lines[3][NAME_MOST + 1];
  if (a_count > NAME_MOST || b_count > NAME_MOST) return limit + 1;
  if (a_count > b_count + (size_t)limit || b_count > a_count + (size_t)limit) return limit + 1;
  uint32_t differ = letter_set(a, a_count) ^ letter_set(b, b_count);
  if (__builtin_popcount(differ) > 2 * limit)
    return limit + 1; /* each change is two letters at most */
  for (size_t j = 0; j <= b_count; j++)
    lines[0][j] = (int32_t)j;
  for (size_t i = 1; i <= a_count; i++) {
    int32_t *line = lines[i % 3], *above = lines[(i + 2) % 3], *before = lines[(i + 1) % 3];
    int32_t least = line[0] = (int32_t)i;
    for (size_t j = 1; j <= b_count; j++) {
      int32_t cost = above[j - 1] + (a[i - 1] != b[j - 1]);
      if (above[j] + 1 < cost) cost = above[j] + 1;
      if (line[j - 1] + 1 < cost) cost = line[j - 1] + 1;
      bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap && before[j - 2] + 1 < cost) cost = before[j - 2] + 1;
      line[j] = cost;
      if (cost < least) least = cost;
    }
    if (least > limit) return limit + 1;
  }
  return lines[a_count % 3][b_count];
}

/* Small letters without _ and -. */
static size_t plain_letters(const char *at, const char *end, char *out) {
  size_t count = 0;
  for (; at < end && count < NAME_MOST; at++)
    if (*at != '_' && *at != '-') out[count++] = (char)tolower((unsigned char)*at);
  return count;
}

static int compare_hits(const void *a, const void *b) {
  const WordHit *first = a, *second = b;
  if (first->distance != second->distance) return first->distance - second->distance;
  return (first->row > second->row) - (first->row < second->row);
}

static int32_t name_distance(const char *asked, size_t asked_count, const char *name,
                             const char *end, int32_t limit) {
  char letters[NAME_MOST + 1];
  if ((size_t)(end - name) + (size_t)limit < asked_count) return limit + 1;
  size_t count = plain_letters(name, end, letters);
  int32_t best = letters_apart(asked, asked_count, letters, count, limit);
  const char *last = end;
  while (last > name && last[-1] != '.')
    last--;
  if (last == name || best <= 1) return best;
  count = plain_letters(last, end, letters);
  int32_t inner = letters_apart(asked, asked_count, letters, count, limit);
  return inner < best ? inner : best;
}

WordHits words_near(Arena *arena, int32_t tool, const char *spelled, int32_t most) {
  WordHits hits = {0};
  char asked[NAME_MOST + 1];
  const char *plain = word_plain_name(arena, spelled);
  size_t count = plain_letters(plain, plain + strlen(plain), asked);
  int32_t limit = count <= 3 ? 1 : count <= 8 ? 2 : 3;
  for (int32_t i = 0; count > 1 && i < COUNT_OF(rows); i++) {
    if (tool >= 0 && rows[i].tool != tool) continue;
    WordHit best = {&rows[i], NULL, FIT_NONE, limit + 1};
    size_t width = strlen(rows[i].prefix);
    char prefix[16];
    size_t prefix_count = plain_letters(rows[i].prefix, rows[i].prefix + width, prefix);
    bool has_prefix = count > prefix_count && memcmp(asked, prefix, prefix_count) == 0;
    NameList list = {rows[i].names};
    for (const char *at, *end; has_prefix && next_name(&list, &at, &end);) {
      int32_t apart = name_distance(asked + prefix_count, count - prefix_count, at, end, limit);
      if (apart >= best.distance) continue;
      best.distance = apart;
      best.name = arena_printf(arena, "%s%.*s", rows[i].prefix, (int)(end - at), at);
    }
    if (best.name) VEC_PUSH(arena, &hits.list, best);
  }
  if (hits.list.count > 1)
    qsort(hits.list.at, (size_t)hits.list.count, sizeof *hits.list.at, compare_hits);
  if (hits.list.count > most) hits.list.count = most;
  return hits;
}

/* ---- text of an answer */

const char *word_kind(const WordHit *hit) {
  if (hit->row->answer == WORD_VALUE) return "value";
  return word_tools[hit->row->tool].kind;
}

/* "parallel.tp" -> its section and key, which is NULL of a section. */
static const char *split_path(Arena *arena, const char *path, const char **key) {
  const char *dot = strchr(path, '.');
  *key = dot ? dot + 1 : NULL;
  return dot ? arena_copy_n(arena, path, (size_t)(dot - path)) : path;
}

const char *word_later(Arena *arena, const WordRow *row) {
  const char *key, *section = split_path(arena, row->ours, &key);
  if (row->answer != WORD_RENAMED) return NULL;
  const char *instead = later_instead(section, key ? key : "");
  return instead || !key ? instead : later_instead(section, "");
}

const char *word_status(Arena *arena, const WordRow *row) {
  switch (row->answer) {
  case WORD_RENAMED: return word_later(arena, row) ? "not-built" : "used";
  case WORD_VALUE:
  case WORD_SETTING: return "used";
  case WORD_INSTEAD: return "instead";
  case WORD_DERIVED: return "derived";
  case WORD_IMPOSSIBLE: return "impossible";
  case WORD_UNBUILT: return "not-built";
  case WORD_DECLINED:
  case WORD_INTERNAL: return "declined";
  }
  return "";
}

const char *word_says(Arena *arena, const WordRow *row) {
  const char *later = word_later(arena, row);
  switch (row->answer) {
  case WORD_RENAMED:
    if (later)
      return arena_printf(arena, "that is %s here, which is not built yet; %s", row->ours, later);
    return arena_printf(arena, "that is %s here%s%s", row->ours, *row->note ? ", " : "", row->note);
  case WORD_VALUE:
    return arena_printf(arena, "that is %s = \"%s\" here%s%s", row->ours, row->value,
                        *row->note ? ": " : "", row->note);
  case WORD_SETTING: return arena_printf(arena, "a job sets it in slurm.env; %s", row->note);
  case WORD_INSTEAD: return arena_printf(arena, "%s %s", row->ours, row->note);
  case WORD_DERIVED: return arena_printf(arena, "nothing is to be set: %s", row->note);
  case WORD_IMPOSSIBLE: return arena_printf(arena, "nothing here is equal to it: %s", row->note);
  case WORD_UNBUILT:
    return arena_printf(arena, "%s: not built yet; until then, %s", row->note, row->value);
  case WORD_DECLINED:
  case WORD_INTERNAL: return arena_printf(arena, "it does not exist here: %s", row->note);
  }
  return "";
}

const char *word_line(Arena *arena, const WordRow *row) {
  const char *key, *section = split_path(arena, row->ours, &key), *value = row->value;
  if (row->answer == WORD_SETTING) return NULL;
  if (row->answer == WORD_VALUE) value = arena_printf(arena, "\"%s\"", row->value);
  bool has_line = row->answer == WORD_RENAMED || row->answer == WORD_VALUE;
  if (!has_line || word_later(arena, row)) return NULL;
  if (!*value || strchr(value, 'N')) value = field_sample(arena, row->ours, value);
  if (!value) return NULL;
  if (!key) return arena_printf(arena, "%s = %s", section, value);
  if (strcmp(section, "job") == 0) return arena_printf(arena, "%s = %s", key, value);
  return arena_printf(arena, "%s = { %s = %s }", section, key, value);
}
