/* help_words.c -- names of other tools: in a terminal, as JSON, as the page docs/words.md. */
#include <string.h>

#include "compiler/job/hints/help.h"
#include "compiler/job/hints/words.h"
#include "compiler/job/job_room.h"

enum { COLUMNS = 80, NEAREST_MOST = 4 };

/* The doc of the key, or section, that a row names; "": it names none. */
static const char *doc_of(Arena *arena, const WordRow *row) {
  const char *dot = strchr(row->ours, '.');
  bool names_key = row->answer == WORD_RENAMED || row->answer == WORD_VALUE;
  if (!names_key || word_later(arena, row)) return "";
  if (!dot) {
    int32_t section = section_find(row->ours);
    return section >= 0 ? spec_sections[section].doc : "";
  }
  int32_t section = section_find(arena_copy_n(arena, row->ours, (size_t)(dot - row->ours)));
  int32_t field = section >= 0 ? field_find((SectionId)section, dot + 1) : -1;
  return field >= 0 ? spec_fields[field].doc : "";
}

/* ---- words that keys of ours take */

bool help_choice(Compile *c, const char *word, FILE *out) {
  const char *first = NULL, *doc = NULL, *line = NULL, *where = "";
  for (int32_t i = 0; i < SECTION_COUNT; i++) {
    const SectionInfo *info = &spec_sections[i];
    if (word_index(info->head, word) < 0 || strcmp(word, "none") == 0) continue;
    where = arena_printf(c->arena, "%s%s%s", where, *where ? ", " : "", info->name);
    if (!first) line = arena_printf(c->arena, "%s = \"%s\"", info->name, word);
    if (!first) first = info->name, doc = info->doc;
  }
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    const FieldInfo *info = &spec_fields[i];
    const char *section = spec_sections[info->section].name;
    bool takes_words = info->kind == KIND_CHOICE || info->kind == KIND_SCALE;
    if (!takes_words || word_index(info->values, word) < 0) continue;
    where = arena_printf(c->arena, "%s%s%s.%s", where, *where ? ", " : "", section, info->key);
    if (!first) line = arena_printf(c->arena, "%s = { %s = \"%s\" }", section, info->key, word);
    if (!first) first = field_name(c->arena, i), doc = info->doc;
  }
  if (!first) return false;
  print_wrapped(out, arena_printf(c->arena, "%s: a word of %s", word, where), 0, 4, COLUMNS);
  fprintf(out, "    %s\n    ", line);
  print_wrapped(out, arena_printf(c->arena, "%s: %s", first, doc), 4, 4, COLUMNS);
  return true;
}

/* ---- words of other tools */

/* The rows of `word` that help_word prints already. */
static bool is_ours_alike(const WordRow *row, const char *word) {
  const char *dot = strrchr(row->ours, '.'), *last = strrchr(word, '.');
  const char *key = dot ? dot + 1 : row->ours, *name = last ? last + 1 : word;
  if (row->answer == WORD_VALUE) return strcmp(row->value, word) == 0;
  return row->answer == WORD_RENAMED && strcmp(key, name) == 0 && !*row->note &&
         (!last || strcmp(row->ours, word) == 0);
}

static WordHits hits_beside_ours(Arena *arena, const char *word, bool is_beside) {
  WordHits hits = words_find(arena, -1, word);
  int32_t kept = 0;
  bool is_known = is_beside;
  for (int32_t i = 0; i < hits.list.count; i++)
    is_known |= hits.list.at[i].row->answer != WORD_INTERNAL;
  for (int32_t i = 0; i < hits.list.count; i++) {
    const WordRow *row = hits.list.at[i].row;
    bool is_alike = is_beside && (is_ours_alike(row, word) || hits.list.at[i].fit == FIT_OUTER);
    if (!is_alike && !(is_known && row->answer == WORD_INTERNAL))
      hits.list.at[kept++] = hits.list.at[i];
  }
  hits.list.count = kept;
  /* rows of a section before those of its keys, and both in the order of the table */
  WordHits sorted = {0};
  for (int32_t is_key = 0; is_key < 2; is_key++)
    for (int32_t i = 0; i < kept; i++)
      if ((strchr(hits.list.at[i].row->ours, '.') != NULL) == (is_key == 1))
        VEC_PUSH(arena, &sorted.list, hits.list.at[i]);
  return sorted;
}

static const char *line_of(Arena *arena, const WordHit *hit) {
  if (hit->row->answer == WORD_SETTING && strchr(hit->name, '_'))
    return arena_printf(arena, "slurm = { env = { %s = ... } }", hit->name);
  return word_line(arena, hit->row);
}

static bool is_same_answer(Arena *arena, const WordHit *a, const WordHit *b) {
  const char *first = line_of(arena, a), *second = line_of(arena, b);
  return strcmp(word_says(arena, a->row), word_says(arena, b->row)) == 0 &&
         strcmp(first ? first : "", second ? second : "") == 0 &&
         strcmp(word_kind(a), word_kind(b)) == 0;
}

static void print_hit(Arena *arena, const WordHits *hits, int32_t first, FILE *out) {
  const WordHit *hit = &hits->list.at[first];
  const char *tools = word_tools[hit->row->tool].title, *kind = word_kind(hit);
  for (int32_t i = first + 1; i < hits->list.count; i++)
    if (is_same_answer(arena, hit, &hits->list.at[i]))
      tools = arena_printf(arena, "%s, %s", tools, word_tools[hits->list.at[i].row->tool].title);
  const char *article = strchr("aeiou", *kind) ? "an" : "a";
  print_wrapped(out,
                arena_printf(arena, "%s, %s %s of %s: %s", hit->name, article, kind, tools,
                             word_says(arena, hit->row)),
                0, 4, COLUMNS);
  const char *line = line_of(arena, hit), *doc = doc_of(arena, hit->row);
  if (line) fprintf(out, "    %s\n", line);
  if (*doc) {
    fputs("    ", out);
    print_wrapped(out, arena_printf(arena, "%s: %s", hit->row->ours, doc), 4, 4, COLUMNS);
  }
}

bool help_foreign(Compile *c, const char *word, bool is_beside, FILE *out) {
  WordHits hits = hits_beside_ours(c->arena, word, is_beside);
  for (int32_t i = 0; i < hits.list.count; i++) {
    bool is_printed = false;
    for (int32_t j = 0; j < i && !is_printed; j++)
      is_printed = is_same_answer(c->arena, &hits.list.at[j], &hits.list.at[i]);
    if (!is_printed) print_hit(c->arena, &hits, i, out);
  }
  return hits.list.count > 0;
}

const char *help_nearest(Compile *c, const char *word, const TextList *known) {
  Arena *arena = c->arena;
  const char *ours = nearest_word(word, known->at, known->count);
  WordHits near = words_near(arena, -1, word, NEAREST_MOST);
  const char *text = ours ? arena_printf(arena, "'%s'", ours) : "";
  for (int32_t i = 0; i < near.list.count; i++) {
    const WordHit *hit = &near.list.at[i];
    const char *tools = word_tools[hit->row->tool].title;
    bool is_said = false;
    for (int32_t j = 0; j < i; j++)
      is_said |= strcmp(near.list.at[j].name, hit->name) == 0;
    if (is_said) continue;
    for (int32_t j = i + 1; j < near.list.count; j++)
      if (strcmp(near.list.at[j].name, hit->name) == 0)
        tools = arena_printf(arena, "%s, %s", tools, word_tools[near.list.at[j].row->tool].title);
    text = arena_printf(arena, "%s%s'%s' (%s)", text, *text ? " or " : "", hit->name, tools);
  }
  return text;
}

/* ---- JSON */

static void print_member(FILE *out, const char *name, const char *value, const char *end) {
  fprintf(out, "\"%s\": ", name);
  if (value)
    print_json_text(value, out);
  else
    fputs("null", out);
  fputs(end, out);
}

static void print_hit_json(Arena *arena, const WordHit *hit, FILE *out) {
  const WordRow *row = hit->row;
  bool names_key = row->answer == WORD_RENAMED || row->answer == WORD_VALUE;
  fputs("{", out);
  print_member(out, "tool", word_tools[row->tool].id, ", ");
  print_member(out, "name", hit->name, ", ");
  print_member(out, "kind", word_kind(hit), ", ");
  print_member(out, "how", word_status(arena, row), ", ");
  print_member(out, "ours", names_key ? row->ours : NULL, ", ");
  print_member(out, "line", line_of(arena, hit), ", ");
  print_member(out, "says", word_says(arena, row), "}");
}

static void print_hits_json(Arena *arena, const char *name, const WordHits *hits, FILE *out) {
  fprintf(out, ", \"%s\": [", name);
  for (int32_t i = 0; i < hits->list.count; i++) {
    if (i > 0) fputs(", ", out);
    print_hit_json(arena, &hits->list.at[i], out);
  }
  fputs("]", out);
}

bool help_json(Compile *c, const char *word, FILE *out) {
  WordHits hits = words_find(c->arena, -1, word), near = {0};
  bool is_known = hits.list.count > 0;
  fputs("{\"version\": 1, ", out);
  print_member(out, "word", word, ", ");
  fputs("\"ours\": [", out);
  int32_t count = 0;
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    const char *full = field_name(c->arena, i);
    if (strcmp(full, word) != 0 && strcmp(spec_fields[i].key, word) != 0) continue;
    fputs(count++ > 0 ? ", {" : "{", out);
    print_member(out, "key", full, ", ");
    print_member(out, "says", spec_fields[i].doc, "}");
  }
  fputs("]", out);
  is_known |= count > 0;
  if (!is_known) near = words_near(c->arena, -1, word, NEAREST_MOST);
  print_hits_json(c->arena, "answers", &hits, out);
  print_hits_json(c->arena, "nearest", &near, out);
  fputs("}\n", out);
  return is_known;
}

/* ---- the page */

static const char *next_name(Arena *arena, const char **list) {
  *list += strspn(*list, " ");
  size_t width = strcspn(*list, " ");
  const char *name = width > 0 ? arena_copy_n(arena, *list, width) : NULL;
  *list += width;
  return name;
}

static void print_row(Arena *arena, const WordRow *row, FILE *out) {
  const char *text = "-", *list = row->names;
  for (const char *name; (name = next_name(arena, &list)) != NULL;)
    text = arena_printf(arena, "%s%s `%s%s`", text, text[1] ? "," : "", row->prefix, name);
  const char *line = word_line(arena, row);
  text = arena_printf(arena, "%s: %s%s%s%s", text, word_says(arena, row), line ? ": `" : "",
                      line ? line : "", line ? "`" : "");
  print_wrapped(out, text, 0, 2, 120);
}

bool help_word_list(Compile *c, const char *tool, FILE *out) {
  int32_t only = tool ? word_tool_find(tool) : -1;
  if (tool && only < 0) return false;
  if (!tool)
    fputs("# Words of other tools\n\nMade by `lockstep help --words`; `lockstep help WORD` answers "
          "one of them.\n",
          out);
  for (int32_t t = 0; t < word_tool_count(); t++) {
    if (only >= 0 && t != only) continue;
    fprintf(out, "%s## %s\n\n", tool ? "" : "\n", word_tools[t].title);
    for (int32_t i = 0; i < word_row_count(); i++)
      if (word_row(i)->tool == t) print_row(c->arena, word_row(i), out);
  }
  return true;
}

bool help_word_list_json(Compile *c, const char *tool, FILE *out) {
  int32_t only = tool ? word_tool_find(tool) : -1;
  WordHits all = {0};
  if (tool && only < 0) return false;
  for (int32_t i = 0; i < word_row_count(); i++) {
    const WordRow *row = word_row(i);
    const char *list = row->names;
    if (only >= 0 && row->tool != only) continue;
    for (const char *name; (name = next_name(c->arena, &list)) != NULL;)
      VEC_PUSH(c->arena, &all.list,
               (WordHit){row, arena_printf(c->arena, "%s%s", row->prefix, name), FIT_SAME, 0});
  }
  fputs("{\"version\": 1", out);
  print_hits_json(c->arena, "words", &all, out);
  fputs("}\n", out);
  return true;
}
