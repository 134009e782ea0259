/* write.c -- the job as a person would write it, with the place of every line; and what was not
 * used. */
#include <stdlib.h>
#include <string.h>

#include "compiler/job/import/import.h"
#include "compiler/job/job_room.h"

static const char *const how_words[] = {"open",       "used",      "derived", "declined",
                                        "impossible", "not-built", "unknown", "unread"};

/* ---- job.lua */

typedef struct Page {
  Arena *arena;
  char *text;
  size_t size, room;
} Page;

static void put(Page *page, const char *text) {
  size_t more = strlen(text);
  if (page->size + more + 1 > page->room) {
    size_t room = (page->size + more + 1) * 2 + 4096;
    page->text = arena_grow(page->arena, page->text, page->size, room);
    page->room = room;
  }
  memcpy(page->text + page->size, text, more + 1);
  page->size += more;
}

/* Writes the text in one line, without control characters. */
static const char *one_line(Arena *arena, const char *text) {
  const char *plain = text_plain(arena, text);
  if (!strchr(plain, '\n')) return plain;
  char *line = arena_copy(arena, plain);
  for (char *p = line; *p; p++)
    if (*p == '\n') *p = ' ';
  return line;
}

static const char *shortened(Arena *arena, const char *text) {
  const char *line = one_line(arena, text);
  return strlen(line) <= 60 ? line : arena_printf(arena, "%.57s...", line);
}

static void put_comment(Page *page, const char *text) {
  put(page, "-- ");
  put(page, one_line(page->arena, text));
  put(page, "\n");
}

static void put_line(Page *page, const char *indent, const char *text, const char *note) {
  put(page, indent);
  put(page, text);
  size_t width = strlen(indent) + strlen(text);
  put(page, arena_printf(page->arena, "%*s-- %s\n", width < 38 ? (int)(38 - width) : 1, "",
                         one_line(page->arena, note)));
}

static bool is_name(const char *key) {
  return *key && strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                     strlen(key);
}

static int32_t rank_of(const JobSetting *setting) {
  int32_t section = strcmp(setting->section, "job") == 0 ? -1 : section_find(setting->section);
  int32_t field = setting->key && section >= 0 ? field_find((SectionId)section, setting->key) : -1;
  return (section + 1) * 1000 + (setting->key ? field >= 0 ? field + 2 : 1 : 0);
}

static int compare_settings(const void *a, const void *b) {
  const JobSetting *first = a, *second = b;
  int32_t apart = rank_of(first) - rank_of(second);
  if (apart != 0) return apart;
  return strcmp(first->key ? first->key : "", second->key ? second->key : "");
}

static void put_key(Page *page, const char *indent, const JobSetting *setting) {
  const char *key = is_name(setting->key)
                        ? setting->key
                        : arena_printf(page->arena, "[%s]", lua_text(page->arena, setting->key));
  put_line(page, indent, arena_printf(page->arena, "%s = %s,", key, setting->value), setting->note);
}

/* Settings [first, end) are of one section. */
static void put_section(Page *page, const JobSetting *settings, int32_t first, int32_t end) {
  const char *section = settings[first].section;
  if (strcmp(section, "job") == 0) {
    for (int32_t i = first; i < end; i++)
      put_key(page, "  ", &settings[i]);
    return;
  }
  const JobSetting *head = settings[first].key ? NULL : &settings[first];
  if (head && end == first + 1) {
    put_line(page, "  ", arena_printf(page->arena, "%s = %s,", section, head->value), head->note);
    return;
  }
  if (head)
    put_line(page, "  ", arena_printf(page->arena, "%s = { %s,", section, head->value), head->note);
  else
    put(page, arena_printf(page->arena, "  %s = {\n", section));
  for (int32_t i = first + (head != NULL); i < end; i++)
    put_key(page, "    ", &settings[i]);
  put(page, "  },\n");
}

static void put_lost(Page *page, Import *im) {
  int32_t count = import_lost(im);
  if (count == 0) return;
  put(page, arena_printf(page->arena, "-- %d key%s training and ha%s no counterpart:\n", count,
                         count == 1 ? " changes" : "s change", count == 1 ? "s" : "ve"));
  for (int32_t i = 0; i < im->leaves.count; i++) {
    const Leaf *leaf = &im->leaves.at[i];
    if (leaf->changes_training)
      put_comment(page, arena_printf(page->arena, "  %s (%s:%d)", leaf->shown, leaf_file(leaf),
                                     leaf->at.line));
  }
  for (int32_t i = 0; i < im->lost.list.count; i++)
    put_comment(page, arena_printf(page->arena, "  %s", im->lost.list.at[i]));
}

static void put_unused(Page *page, Import *im) {
  bool is_begun = false;
  for (int32_t i = 0; i < im->leaves.count; i++) {
    const Leaf *leaf = &im->leaves.at[i];
    if (leaf->how == HOW_USED) continue;
    if (!is_begun) put(page, "\n-- Not used:\n");
    is_begun = true;
    put_comment(page,
                arena_printf(page->arena, "  %s:%d %s = %s: %s, %s", leaf_file(leaf), leaf->at.line,
                             one_line(page->arena, leaf->shown), shortened(page->arena, leaf->text),
                             how_words[leaf->how], leaf->why ? leaf->why : "not used"));
  }
}

const char *import_job(Import *im) {
  Page page = {.arena = im->c->arena};
  const char *titles = "";
  for (int32_t i = 0; i < im->titles.list.count; i++)
    titles = arena_printf(page.arena, "%s%s%s", titles, i ? ", " : "", im->titles.list.at[i]);
  put_comment(&page, arena_printf(page.arena, "imported from %s", titles));
  put_lost(&page, im);
  for (int32_t i = 0; i < im->rates.list.count; i++)
    put_comment(&page, im->rates.list.at[i]);
  for (int32_t i = 0; i < im->open_lines.list.count; i++)
    put_comment(&page, arena_printf(page.arena, "fill in: %s", im->open_lines.list.at[i]));
  put(&page, "return job {\n");
  if (im->settings.count > 1)
    qsort(im->settings.at, (size_t)im->settings.count, sizeof *im->settings.at, compare_settings);
  for (int32_t i = 0; i < im->settings.count;) {
    int32_t end = i + 1;
    while (end < im->settings.count &&
           strcmp(im->settings.at[end].section, im->settings.at[i].section) == 0)
      end++;
    put_section(&page, im->settings.at, i, end);
    i = end;
  }
  put(&page, "}\n");
  put_unused(&page, im);
  return page.text;
}

static void put_wrapped(const char *text, FILE *out) {
  fputs("  ", out);
  print_wrapped(out, text, 2, 4, 80);
}

void import_tell_lost(Import *im, FILE *out) {
  for (int32_t i = 0; i < im->leaves.count; i++) {
    const Leaf *leaf = &im->leaves.at[i];
    if (!leaf->changes_training && leaf->how != HOW_UNKNOWN) continue;
    const char *text =
        arena_printf(im->c->arena, "%s:%d:%d %s = %s: %s", leaf->at.file, leaf->at.line,
                     leaf->at.column, leaf->shown, shortened(im->c->arena, leaf->text), leaf->why);
    put_wrapped(one_line(im->c->arena, text), out);
  }
  for (int32_t i = 0; i < im->lost.list.count; i++)
    put_wrapped(im->lost.list.at[i], out);
}

/* ---- JSON */

static void print_texts(const Texts *texts, FILE *out) {
  fputs("[", out);
  for (int32_t i = 0; i < texts->list.count; i++) {
    if (i > 0) fputs(", ", out);
    print_json_text(texts->list.at[i], out);
  }
  fputs("]", out);
}

void import_json(Import *im, FILE *out) {
  Texts tools = {0};
  for (int32_t i = 0; i < word_tool_count(); i++)
    if (im->has_tool[i]) VEC_PUSH(im->c->arena, &tools.list, word_tools[i].id);
  const char *job = import_job(im);
  fputs("{\"version\": 1, \"tools\": ", out);
  print_texts(&tools, out);
  fputs(", \"job\": ", out);
  print_json_text(job, out);
  fprintf(out, ", \"lost\": %d, \"keys\": [", import_lost(im));
  for (int32_t i = 0; i < im->leaves.count; i++) {
    const Leaf *leaf = &im->leaves.at[i];
    fputs(i ? ",\n {\"file\": " : "\n {\"file\": ", out);
    print_json_text(leaf->at.file, out);
    fprintf(out, ", \"line\": %d, \"key\": ", leaf->at.line);
    print_json_text(leaf->shown, out);
    fputs(", \"value\": ", out);
    print_json_text(leaf->text, out);
    fputs(", \"as\": ", out);
    print_texts(&leaf->as, out);
    fprintf(out, ", \"how\": \"%s\", \"why\": ", how_words[leaf->how]);
    print_json_text(leaf->why ? leaf->why : "", out);
    fprintf(out, ", \"changes_training\": %s}", leaf->changes_training ? "true" : "false");
  }
  fputs("]}\n", out);
}
